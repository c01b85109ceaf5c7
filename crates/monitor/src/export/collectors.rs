//! All metric families, and the state of their collectors.

use super::Extras;
use super::exposition::{Family, Kind};
use super::extra_families::extra_families;
use super::families::{family, series, totals};
use hugewise_observe::machine::{Collected, MachineSample};

/// All families of a sample and its extras.
#[must_use]
pub fn families(sample: &MachineSample, extras: &Extras) -> Vec<Family> {
    let mut all = totals(sample);
    all.extend(extra_families(extras));
    all.extend(collectors(&states(sample, extras)));
    all
}

/// The state of a collector: its name, whether it succeeded, and its duration in seconds.
type State = (&'static str, bool, f64);

fn states(sample: &MachineSample, extras: &Extras) -> Vec<State> {
    fn state<T>(name: &'static str, part: &Collected<T>) -> State {
        (name, part.value.is_ok(), part.seconds)
    }
    let mut states = vec![
        state("settings", &sample.settings),
        state("sizes", &sample.sizes),
        state("vmstat", &sample.events),
        state("meminfo", &sample.memory),
        state("khugepaged", &sample.khugepaged),
        state("buddyinfo", &sample.zones),
        state("hugetlb", &sample.pools),
        state("pressure", &sample.pressure),
    ];
    states.extend(extras.cgroups.iter().map(|it| state("cgroups", it)));
    states.extend(extras.groups.iter().map(|it| state("groups", it)));
    states.extend(extras.durations.iter().map(|it| state("durations", it)));
    states.extend(extras.fleet.iter().map(|it| state("fleet", it)));
    let experiments = extras.experiments.iter();
    states.extend(experiments.map(|it| state("experiments", it)));
    states
}

fn collectors(states: &[State]) -> [Family; 2] {
    let all = |value: fn(&State) -> f64| {
        let series_of =
            |state: &State| series(vec![("collector", state.0.to_owned())], value(state));
        states.iter().map(series_of).collect()
    };
    [
        family(
            "collector_success",
            Kind::Gauge,
            "1 if a collector could read its files; if 0, its series are absent.",
            all(|state| f64::from(u8::from(state.1))),
        ),
        family(
            "collector_duration_seconds",
            Kind::Gauge,
            "Time that a collector took.",
            all(|state| state.2),
        ),
    ]
}

/// Marks that no sample finished in time, so the values are old or missing.
pub fn mark_overdue(families: &mut Vec<Family>) {
    let overdue = series(vec![("collector", "sample".to_owned())], 0.0);
    let [success, _] = collectors(&[]);
    match families.iter_mut().find(|it| it.name == success.name) {
        Some(known) => known.series.push(overdue),
        None => families.push(Family {
            series: vec![overdue],
            ..success
        }),
    }
}
