//! Measures how long the workload's threads were stalled in the kernel, by cause.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::trial::timeline::LONG_NS;
use hugewise_observe::trace::points::{Point, points};

use crate::bpf::{LongStall, PointWindow, Totals, Tracer};
use crate::machine::error::Result;
use crate::machine::root::Root;

/// Each metric with the trace point that it sums up, and whether that point is rare enough to be watched at a
/// negligible cost.
const CAUSES: [(MetricId, &str, Frequency); 8] = [
    (
        MetricId::DirectCompactionSeconds,
        "direct_compaction",
        Frequency::Rare,
    ),
    (
        MetricId::DirectReclaimSeconds,
        "direct_reclaim",
        Frequency::Rare,
    ),
    (
        MetricId::CgroupReclaimSeconds,
        "cgroup_reclaim",
        Frequency::Rare,
    ),
    (MetricId::ZeroingSeconds, "zeroing", Frequency::Rare),
    (MetricId::SplitSeconds, "split_mapping", Frequency::Rare),
    (MetricId::PageFaultSeconds, "fault", Frequency::Often),
    (
        MetricId::CopyOnWriteSeconds,
        "copy_on_write",
        Frequency::Often,
    ),
    (
        MetricId::MmapLockWaitSeconds,
        "mmap_lock_wait",
        Frequency::Often,
    ),
];

/// The frequency of a trace point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frequency {
    /// At most once per huge page.
    Rare,
    /// At every such page fault, or every change of an address space.
    Often,
}

/// Selects the stalls to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallScope {
    /// Only the rare ones.
    Rare,
    /// All of them, although each frequent one costs a fraction of a microsecond.
    All,
}

/// The stalls watched during an experiment.
#[derive(Debug)]
pub struct Stalls {
    tracer: Tracer,
    /// The traced points, in the tracer's order.
    traced: Vec<String>,
    /// Their totals at the last reading.
    totals: Vec<Totals>,
    /// Why a point is not traced.
    missing: BTreeMap<String, Missing>,
}

impl Stalls {
    /// Starts watching. Each trial reports why a point cannot be watched.
    ///
    /// # Errors
    /// The kernel's types could not be parsed.
    pub fn start(root: &Root, wanted: StallScope) -> Result<Self> {
        let names: BTreeSet<&str> = CAUSES
            .iter()
            .filter(|(_, _, often)| wanted == StallScope::All || *often == Frequency::Rare)
            .map(|(_, point, _)| *point)
            .collect();
        let mut chosen: Vec<Point> = points();
        chosen.retain(|point| names.contains(&*point.name));
        // Until a trial begins, only the tree of this process counts, which causes none of these events.
        let own = Some(std::process::id());
        let long = Duration::from_nanos(LONG_NS);
        let (tracer, missing) = Tracer::start_with_long_stalls(root, &chosen, own, long)?;
        let traced = tracer.traced();
        Ok(Self {
            traced: traced.into_iter().map(|point| point.name).collect(),
            tracer,
            totals: Vec::new(),
            missing: missing.into_iter().map(|one| (one.name, one.why)).collect(),
        })
    }

    /// Begins a trial: from now on the tree below `keeper` counts.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn begin(&mut self, keeper: u32) -> Result<()> {
        self.tracer.watch(keeper)?;
        self.tracer.window().map(drop)
    }

    /// Returns the stalls since the last call: sums by metric, and the individual long ones; the first call starts a
    /// timeline.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn tick(&mut self) -> Result<Vec<Tick>> {
        let long = self.tracer.take_long_stalls()?;
        let now = self.tracer.totals()?;
        let before = std::mem::replace(&mut self.totals, now);
        let mut ticks = Vec::new();
        for (index, (point, long)) in self.traced.iter().zip(long).enumerate() {
            let known = CAUSES.iter().find(|(_, name, _)| name == point);
            let now = self.totals.get(index).copied().unwrap_or_default();
            let before = before.get(index).copied().unwrap_or(now);
            ticks.extend(known.map(|(metric, _, _)| Tick {
                metric: *metric,
                total_ns: now.total_ns.saturating_sub(before.total_ns),
                dropped: now.dropped.saturating_sub(before.dropped),
                long,
            }));
        }
        Ok(ticks)
    }

    /// Returns the reason if nothing at all is timed.
    pub(super) fn nothing(&self) -> Option<Missing> {
        let untraced = self.traced.is_empty();
        let why = || self.missing.values().next().cloned();
        untraced.then(|| why().unwrap_or(Missing::NotAsked))
    }

    /// Ends a trial; returns the seconds of each cause, or why they are unknown.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn end(&mut self) -> Result<Seconds> {
        let windows = self.tracer.window()?;
        let seen: BTreeMap<&str, &PointWindow> = self
            .traced
            .iter()
            .map(String::as_str)
            .zip(&windows)
            .collect();
        let of = |point: &str| match (seen.get(point), self.missing.get(point)) {
            (Some(window), _) => seconds(window),
            (None, Some(missing)) => Err(missing.clone()),
            (None, None) => Err(Missing::NotAsked),
        };
        let readings = CAUSES.iter();
        Ok(Seconds(
            readings
                .map(|(metric, point, _)| (*metric, of(point)))
                .collect(),
        ))
    }
}

/// Stalls of one cause in about a second.
#[derive(Clone, Debug)]
pub(super) struct Tick {
    /// Its metric.
    pub(super) metric: MetricId,
    /// The total time of the stalls that ended.
    pub(super) total_ns: u64,
    /// The long stalls.
    pub(super) long: Vec<LongStall>,
    /// The number of long stalls lost because the queue was full.
    pub(super) dropped: u64,
}

/// An incomplete sum is not reported.
fn seconds(window: &PointWindow) -> std::result::Result<f64, Missing> {
    let lost = window.losses.no_room + window.losses.missed;
    if lost > 0 {
        return Err(Missing::Unreadable {
            error: format!("the kernel left out {lost} of them"),
        });
    }
    Ok(window.all.total_ns as f64 / 1e9)
}

/// Stalls of one trial, by metric.
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds(BTreeMap<MetricId, std::result::Result<f64, Missing>>);

impl Seconds {
    /// Returns the reading of a metric; a missing value if nothing was traced for it.
    pub(super) fn of(&self, metric: MetricId) -> std::result::Result<f64, Missing> {
        let reading = self.0.get(&metric).cloned();
        reading.unwrap_or(Err(Missing::NotAsked))
    }
}

#[cfg(test)]
mod tests {
    use hugewise_base::histogram::durations::Durations;

    use super::*;

    #[test]
    fn every_cause_is_a_point() {
        for (_, point, _) in CAUSES {
            assert!(points().iter().any(|known| known.name == point), "{point}");
        }
    }

    #[test]
    fn a_sum_with_gaps_is_no_reading() {
        let mut window = PointWindow {
            all: Durations::from_iter([1_500_000_000, 500_000_000]),
            ..PointWindow::default()
        };
        assert_eq!(seconds(&window), Ok(2.0));
        window.losses.reentered = 1;
        assert_eq!(seconds(&window), Ok(2.0));
        window.losses.missed = 1;
        assert!(matches!(seconds(&window), Err(Missing::Unreadable { .. })));
    }

    #[test]
    fn what_was_not_asked_for_says_so() {
        let nothing = Seconds::default();
        assert_eq!(nothing.of(MetricId::ZeroingSeconds), Err(Missing::NotAsked));
    }
}
