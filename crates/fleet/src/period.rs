//! One period of a unit: its readings of the machine, and what they prove.

use std::collections::BTreeMap;

use super::guardrail::Seen;
use super::{Proof, Sums};
use hugewise_base::counter::{Counter, File};
use hugewise_experiment::run::metric::Better::{self, Lower, Neither};
use hugewise_experiment::run::policy::Thp;
use hugewise_observe::machine::MachineSample;

/// The counters that a period reports as rates.
fn rates() -> impl Iterator<Item = (Counter, &'static str)> {
    Counter::of_fleets().filter(|(counter, _)| counter.is_in_vmstat())
}

/// The amounts of memory that a period reports as means.
fn amounts() -> impl Iterator<Item = (Counter, &'static str)> {
    Counter::of_fleets().filter(|(counter, _)| counter.row().file == File::Meminfo)
}

const REFUSED: &str = "refused_huge_faults_per_second";
/// The metric of OOM kills.
pub const OOM_KILLS: &str = "oom_kills_per_second";
/// The shares of time in which some tasks, and all tasks, waited for memory.
const WAITING: [&str; 2] = ["memory_waiting_some_ratio", "memory_waiting_full_ratio"];
/// The metric of a latency printed by a command.
pub const LATENCY: &str = "p99_seconds";

/// Metrics that must not get worse, whatever the verdict is. An increase is harm.
pub const GUARDRAILS: [&str; 3] = [OOM_KILLS, WAITING[1], REFUSED];

/// The good direction of a metric, by its name; neither for unknown names.
#[must_use]
pub fn better(metric: &str) -> Better {
    if metric == LATENCY || WAITING.contains(&metric) {
        return Lower;
    }
    let known = Counter::of_fleets().find(|(_, name)| *name == metric);
    known.map_or(Neither, |(counter, _)| counter.row().better)
}

/// The readings within a period.
#[derive(Clone, Debug)]
pub struct Meter {
    first: MachineSample,
    last: MachineSample,
    amounts: BTreeMap<&'static str, Sums>,
    looks: u64,
    in_force: u64,
}

/// The result of reading back the settings of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// They have the written values.
    Yes,
    /// Another value was found.
    No,
    /// They could not be read.
    Unread,
}

/// One reading within a period.
#[derive(Clone, Debug)]
pub struct Look {
    /// The machine.
    pub sample: MachineSample,
    /// Seconds since the previous reading.
    pub seconds: f64,
    /// The settings.
    pub held: Held,
    /// The latency in seconds, if a command prints one.
    pub p99: Option<f64>,
}

impl Meter {
    /// Begins a period.
    #[must_use]
    pub fn begin(sample: MachineSample) -> Self {
        Self {
            last: sample.clone(),
            first: sample,
            amounts: BTreeMap::new(),
            looks: 0,
            in_force: 0,
        }
    }

    /// Adds a reading, and returns the values for the guardrails.
    pub fn add(&mut self, look: Look) -> Seen {
        self.looks += 1;
        self.in_force += u64::from(look.held == Held::Yes);
        for (counter, metric) in amounts() {
            let memory = look.sample.memory.value.as_ref().ok();
            if let Some(bytes) = memory.and_then(|memory| counter.total(memory)) {
                self.amounts.entry(metric).or_default().add(bytes as f64);
            }
        }
        if let Some(p99) = look.p99 {
            self.amounts.entry(LATENCY).or_default().add(p99);
        }
        let waited = waited(&self.last, &look.sample).map(|(_, full)| full);
        let seen = Seen {
            oom_kills: self.grown(&look.sample, Counter::OomKill),
            psi_full: waited.map(|seconds| 100.0 * seconds / look.seconds.max(1e-3)),
            faults: self
                .grown(&look.sample, Counter::ThpFaultAlloc)
                .zip(self.grown(&look.sample, Counter::ThpFaultFallback)),
            p99: look.p99,
        };
        self.last = look.sample;
        seen
    }

    /// The share of readings with active settings.
    #[must_use]
    pub fn exposure(&self) -> f64 {
        self.in_force as f64 / self.looks.max(1) as f64
    }

    /// The metrics of a period of this length. Unreadable values have no metric.
    #[must_use]
    pub fn metrics(&self, seconds: f64) -> Vec<(&'static str, Sums)> {
        let rates = rates().filter_map(|(counter, metric)| {
            let grown = self.grown(&self.last, counter)?;
            Some((metric, Sums::one(grown as f64 / seconds)))
        });
        let waited = waited(&self.first, &self.last).map(|(some, full)| {
            [
                (WAITING[0], Sums::one(some / seconds)),
                (WAITING[1], Sums::one(full / seconds)),
            ]
        });
        let amounts = self.amounts.iter().map(|(metric, sums)| (*metric, *sums));
        rates
            .chain(waited.into_iter().flatten())
            .chain(amounts)
            .collect()
    }

    /// Returns the proof of the period for an arm with the mode `thp`, from the last read-back of its settings.
    ///
    /// Under `never`, no fault maps a huge page. Under `always` there are huge pages, unless no program requests
    /// memory. For other settings only the read-back counts.
    #[must_use]
    pub fn proof(&self, thp: Option<Thp>, held: Held) -> Proof {
        match held {
            Held::Unread => return Proof::Unknown,
            Held::No => return Proof::Missed,
            Held::Yes => {}
        }
        let faults = self.grown(&self.last, Counter::ThpFaultAlloc);
        let huge = self.last.memory.value.as_ref().ok();
        let huge = huge.and_then(|memory| Counter::AnonHugeBytes.total(memory));
        let follows = match thp {
            Some(Thp::Never) => faults.map(|faults| faults == 0),
            Some(Thp::Always) => faults.zip(huge).map(|(faults, huge)| faults + huge > 0),
            _ => Some(true),
        };
        follows.map_or(Proof::Unknown, |follows| match follows {
            true => Proof::Proved,
            false => Proof::Missed,
        })
    }

    /// The increase of a counter since the beginning. `None` if the counter decreased, because it was then reset.
    fn grown(&self, now: &MachineSample, counter: Counter) -> Option<u64> {
        total(now, counter)?.checked_sub(total(&self.first, counter)?)
    }
}

fn total(sample: &MachineSample, counter: Counter) -> Option<u64> {
    counter.total(sample.events.value.as_ref().ok()?)
}

/// Seconds in which some tasks and all tasks waited for memory between two samples.
fn waited(before: &MachineSample, after: &MachineSample) -> Option<(f64, f64)> {
    let (before, after) = (
        before.pressure.value.as_ref(),
        after.pressure.value.as_ref(),
    );
    let (before, after) = (before.ok()?, after.ok()?);
    let seconds = |after: u64, before: u64| Some(after.checked_sub(before)? as f64 / 1e6);
    Some((
        seconds(after.some_us, before.some_us)?,
        seconds(after.full_us, before.full_us)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::missing::Missing;
    use hugewise_observe::machine::{Collected, Pressure};

    fn absent<T>() -> Collected<T> {
        Collected {
            value: Err(Missing::unreadable("not in this test".to_owned())),
            seconds: 0.0,
        }
    }

    fn there<T>(value: T) -> Collected<T> {
        Collected {
            value: Ok(value),
            seconds: 0.0,
        }
    }

    fn sample(events: &[(&str, u64)], huge: u64, full_us: u64) -> MachineSample {
        let named = |(name, value): &(&str, u64)| ((*name).to_owned(), *value);
        MachineSample {
            settings: absent(),
            sizes: absent(),
            events: there(events.iter().map(named).collect()),
            memory: there([("AnonHugePages".to_owned(), huge)].into()),
            khugepaged: absent(),
            zones: absent(),
            pools: absent(),
            pressure: there(Pressure {
                some_us: full_us,
                full_us,
            }),
        }
    }

    fn look(sample: MachineSample, held: Held) -> Look {
        Look {
            sample,
            seconds: 10.0,
            held,
            p99: None,
        }
    }

    #[test]
    fn a_period_has_rates_of_counters_and_means_of_amounts() {
        let zones = |normal, dma| [("allocstall_normal", normal), ("allocstall_dma", dma)];
        let mut meter = Meter::begin(sample(&zones(10, 5), 0, 0));
        meter.add(look(sample(&zones(10, 6), 4, 0), Held::Yes));
        let seen = meter.add(look(sample(&zones(20, 9), 8, 5_000_000), Held::No));
        assert_eq!(seen.psi_full, Some(50.0));
        assert_eq!(seen.oom_kills, None);
        assert_eq!(meter.exposure(), 0.5);
        let metrics: BTreeMap<_, _> = meter.metrics(20.0).into_iter().collect();
        assert_eq!(metrics["reclaim_stalls_per_second"].mean, 0.7);
        assert_eq!(metrics["memory_waiting_full_ratio"].mean, 0.25);
        let huge = metrics["anon_huge_bytes"];
        assert_eq!((huge.n, huge.mean, huge.m2), (2, 6.0, 8.0));
        assert!(!metrics.contains_key("collapses_per_second"));
    }

    /// A period has every counter of the table with a fleet metric.
    #[test]
    fn a_period_has_every_counter_of_fleets() {
        let all = |file: fn(&Counter) -> bool, value| -> BTreeMap<String, u64> {
            let counters = Counter::all().filter(file);
            let fields = counters.flat_map(|counter| counter.row().fields);
            fields.map(|field| ((*field).to_owned(), value)).collect()
        };
        let sample = |value| MachineSample {
            events: there(all(|it| it.is_in_vmstat(), value)),
            memory: there(all(|it| it.row().file == File::Meminfo, value)),
            ..sample(&[], 0, 0)
        };
        let mut meter = Meter::begin(sample(1));
        meter.add(look(sample(3), Held::Yes));
        let metrics: BTreeMap<_, _> = meter.metrics(1.0).into_iter().collect();
        for (counter, metric) in Counter::of_fleets() {
            let fields = counter.row().fields.len() as f64;
            let wanted = if counter.is_in_vmstat() {
                2.0 * fields
            } else {
                3.0
            };
            assert_eq!(metrics[metric].mean, wanted, "{metric}");
        }
    }

    #[test]
    fn a_proof_needs_memory_that_follows() {
        let faults = |count| [("thp_fault_alloc", count)];
        for (after, huge, thp, held, proof) in [
            (7, 0, Some(Thp::Never), Held::Yes, Proof::Proved),
            (8, 0, Some(Thp::Never), Held::Yes, Proof::Missed),
            (7, 0, Some(Thp::Always), Held::Yes, Proof::Missed),
            (7, 9, Some(Thp::Always), Held::Yes, Proof::Proved),
            (9, 0, None, Held::Yes, Proof::Proved),
            (7, 0, Some(Thp::Never), Held::No, Proof::Missed),
            (7, 0, None, Held::Unread, Proof::Unknown),
        ] {
            let mut meter = Meter::begin(sample(&faults(7), huge, 0));
            meter.add(look(sample(&faults(after), huge, 0), held));
            assert_eq!(meter.proof(thp, held), proof, "{after} {thp:?} {held:?}");
        }
        let mut unread = Meter::begin(sample(&[], 0, 0));
        unread.add(look(sample(&[], 0, 0), Held::Yes));
        assert_eq!(unread.proof(Some(Thp::Never), Held::Yes), Proof::Unknown);
    }
}
