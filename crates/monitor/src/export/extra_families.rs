//! The families of optional data: cgroups, groups of processes, durations, experiments.

use std::cmp::Reverse;

use hugewise_base::counter::Counter;

use super::exposition::{Family, Kind, Series, Value};
use super::families::{family, of, series};
use super::{
    Cgroup, Effect, Experiment, Extras, FleetArm, Knowledge, MOST_CGROUPS, MOST_EXPERIMENTS,
    MOST_GROUPS, PointDurations, ProcessGroup, ProcessGroups,
};

/// The number of reasons of a group with separate series, those of the most memory; the rest are `other`.
const MOST_REASONS: usize = 6;
/// The number of policies of an experiment with series.
const MOST_POLICIES: usize = 8;
/// The smallest bound of a histogram, in nanoseconds: about a microsecond.
const LEAST_NS: u64 = 1024;
/// The number of bounds of a histogram; the last is 4.3 s. Each is four times the one before, and is also a bound of
/// the kernel-side buckets.
const BOUNDS: u32 = 12;
/// The label for values that are combined, or too many for separate series.
const OTHER: &str = "other";

pub(super) fn extra_families(extras: &Extras) -> Vec<Family> {
    let cgroups = extras
        .cgroups
        .iter()
        .flat_map(|it| of(it, |it| cgroups(it)));
    let groups = extras.groups.iter().flat_map(|it| of(it, groups));
    let durations = extras.durations.iter();
    let durations = durations.flat_map(|it| of(it, |it| vec![durations_of(it)]));
    let fleet = extras.fleet.iter();
    let fleet = fleet.flat_map(|it| of(it, |it| vec![fleet_arm(it)]));
    let records = extras.experiments.iter();
    let records = records.flat_map(|it| of(it, |it| experiments(it)));
    cgroups
        .chain(groups)
        .chain(durations)
        .chain(records)
        .chain(fleet)
        .collect()
}

const FLEET_ARM: &str =
    "The arm that this host has in an experiment over many hosts. Join other series with it.";

fn fleet_arm(it: &FleetArm) -> Family {
    let stage = it.stage.map_or(String::new(), |stage| stage.to_string());
    let labels = vec![
        ("experiment", it.experiment.clone()),
        ("unit", it.unit.clone()),
        ("arm", it.arm.clone()),
        ("stratum", it.stratum.clone()),
        ("stage", stage),
    ];
    let all = vec![series(labels, 1.0)];
    family("fleet_arm", Kind::Info, FLEET_ARM, all)
}

const CGROUP_MEMORY: &str =
    "Anonymous memory of a cgroup with those below it, and the part that PMDs map.";
const CGROUP_EVENTS: &str = "Huge pages that a cgroup got, from faults and from khugepaged.";

fn cgroups(all: &[Cgroup]) -> Vec<Family> {
    let (own, rest) = all.split_at(all.len().min(MOST_CGROUPS));
    let mut groups = own.to_vec();
    groups.extend(
        rest.iter()
            .cloned()
            .reduce(|one, other| sum(one, &other))
            .map(|rest| Cgroup {
                path: OTHER.to_owned(),
                ..rest
            }),
    );
    let bytes = groups.iter().flat_map(|it| {
        let kinds = [
            ("anon", Some(it.anon_bytes)),
            ("anon_huge", it.anon_huge_bytes),
        ];
        of_cgroup(it, "kind", kinds)
    });
    let events = groups.iter().flat_map(|it| {
        let kinds = [
            (Counter::ThpFaultAlloc.field(), it.huge_faults),
            (Counter::ThpCollapseAlloc.field(), it.collapses),
        ];
        of_cgroup(it, "event", kinds)
    });
    vec![
        family(
            "cgroup_memory_bytes",
            Kind::Gauge,
            CGROUP_MEMORY,
            bytes.collect(),
        ),
        family(
            "cgroup_events",
            Kind::Counter,
            CGROUP_EVENTS,
            events.collect(),
        ),
    ]
}

fn of_cgroup<const N: usize>(
    group: &Cgroup,
    label: &'static str,
    values: [(&str, Option<u64>); N],
) -> Vec<Series> {
    let there = values
        .into_iter()
        .filter_map(|(word, value)| Some((word, value?)));
    let one = |(word, value): (&str, u64)| {
        let labels = vec![("cgroup", group.path.clone()), (label, word.to_owned())];
        series(labels, value as f64)
    };
    there.map(one).collect()
}

/// The sum of both.
fn sum(one: Cgroup, other: &Cgroup) -> Cgroup {
    let both = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    Cgroup {
        path: one.path,
        anon_bytes: one.anon_bytes.saturating_add(other.anon_bytes),
        anon_huge_bytes: both(one.anon_huge_bytes, other.anon_huge_bytes),
        huge_faults: both(one.huge_faults, other.huge_faults),
        collapses: both(one.collapses, other.collapses),
    }
}

const PROCESSES: &str = "Processes of a group, by what is known of their page tables.";
const HUGE: &str = "Huge memory of those processes of a group whose page tables were read.";
const COULD_BE_HUGE: &str = "Small memory of these, eligible for huge pages.";
const SMALL: &str = "Small memory of these by its reason: hugewise inspect --explain REASON.";
const COST: &str =
    "Processor time that reading page tables for groups took: at most a hundredth of a processor.";

fn groups(all: &ProcessGroups) -> Vec<Family> {
    let groups = &all.groups[..all.groups.len().min(MOST_GROUPS)];
    let label = |group: &ProcessGroup| vec![("group", group.name.clone())];
    let gauge = |name: &str, help: &str, value: fn(&ProcessGroup) -> u64| {
        let series = groups.iter().map(|it| series(label(it), value(it) as f64));
        family(name, Kind::Gauge, help, series.collect())
    };
    let reasons = groups.iter().flat_map(small).collect();
    let cost = vec![series(Vec::new(), all.cpu_ns as f64 / 1e9)];
    vec![
        family(
            "group_processes",
            Kind::Gauge,
            PROCESSES,
            groups.iter().flat_map(processes).collect(),
        ),
        gauge(
            "group_resident_bytes",
            "Resident memory of a group.",
            |it| it.resident_bytes,
        ),
        gauge("group_huge_bytes", HUGE, |it| it.huge_bytes),
        gauge("group_could_be_huge_bytes", COULD_BE_HUGE, |it| {
            it.could_be_huge_bytes
        }),
        family("group_small_bytes", Kind::Gauge, SMALL, reasons),
        family("inspect_cpu_seconds", Kind::Counter, COST, cost),
    ]
}

fn processes(group: &ProcessGroup) -> [Series; 4] {
    Knowledge::ALL.map(|(known, word)| {
        let labels = vec![("group", group.name.clone()), ("pages", word.to_owned())];
        let count = group.processes.get(&known).copied().unwrap_or(0);
        series(labels, count as f64)
    })
}

fn small(group: &ProcessGroup) -> Vec<Series> {
    let mut reasons: Vec<(&str, u64)> = group
        .small_bytes
        .iter()
        .map(|(code, &bytes)| (code.name(), bytes))
        .collect();
    reasons.sort_by_key(|reason| Reverse(reason.1));
    let rest = reasons.split_off(reasons.len().min(MOST_REASONS));
    let rest: u64 = rest.iter().map(|reason| reason.1).sum();
    reasons.extend((rest > 0).then_some((OTHER, rest)));
    let one = |(reason, bytes): (&str, u64)| {
        let labels = vec![("group", group.name.clone()), ("reason", reason.to_owned())];
        series(labels, bytes as f64)
    };
    reasons.into_iter().map(one).collect()
}

fn durations_of(points: &[PointDurations]) -> Family {
    let one = |it: &PointDurations| Series {
        labels: vec![("point", it.point.clone())],
        value: histogram(it),
    };
    family(
        "stall_seconds",
        Kind::Histogram,
        "How long the kernel took at a point, as hugewise trace names it, since the exporter began.",
        points.iter().map(one).collect(),
    )
}

fn histogram(it: &PointDurations) -> Value {
    let histogram = &it.durations.histogram;
    let bounds = (0..BOUNDS).map(|power| LEAST_NS << (2 * power));
    let buckets = bounds.map(|bound| {
        let below = histogram.buckets().filter(|it| it.floor_ns < bound);
        (bound as f64 / 1e9, below.map(|it| it.count).sum())
    });
    Value::Histogram {
        buckets: buckets.collect(),
        count: histogram.count(),
        sum: it.durations.total_ns as f64 / 1e9,
    }
}

const ABOUT: &str = "A recorded experiment; best is empty if no policy was shown to be better.";
const EFFECT: &str = "The metric of an experiment under a policy, divided by that under the baseline; low and high \
                      are the ends of its 95 % interval.";

fn experiments(all: &[Experiment]) -> Vec<Family> {
    let newest = &all[..all.len().min(MOST_EXPERIMENTS)];
    let began = newest.iter().map(|it| {
        let labels = vec![("experiment", it.name.clone())];
        series(labels, it.created_unix_ms as f64 / 1e3)
    });
    let name = "experiment_began_timestamp_seconds";
    vec![
        family(
            "experiment",
            Kind::Info,
            ABOUT,
            newest.iter().map(about).collect(),
        ),
        family(
            name,
            Kind::Gauge,
            "When an experiment began.",
            began.collect(),
        ),
        family(
            "experiment_effect_ratio",
            Kind::Gauge,
            EFFECT,
            newest.iter().flat_map(effects).collect(),
        ),
    ]
}

fn about(it: &Experiment) -> Series {
    let labels = vec![
        ("experiment", it.name.clone()),
        ("program", it.program.clone()),
        ("kernel", it.kernel.clone()),
        ("baseline", it.baseline.clone()),
        ("metric", it.metric.clone()),
        ("best", it.best.clone().unwrap_or_default()),
    ];
    series(labels, 1.0)
}

fn effects(experiment: &Experiment) -> Vec<Series> {
    let policies = experiment.effects.iter().take(MOST_POLICIES);
    let one = |it: &Effect| {
        let ends = it
            .interval
            .map(|(low, high)| [("low", low), ("high", high)]);
        let bounds = [("mid", it.ratio)]
            .into_iter()
            .chain(ends.into_iter().flatten());
        let labels = |bound: &str| {
            vec![
                ("experiment", experiment.name.clone()),
                ("policy", it.policy.clone()),
                ("bound", bound.to_owned()),
            ]
        };
        bounds
            .map(|(bound, value)| series(labels(bound), value))
            .collect::<Vec<_>>()
    };
    policies.flat_map(one).collect()
}

#[cfg(test)]
mod tests;
