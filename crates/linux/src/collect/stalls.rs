//! Time that the workload's threads spent in the kernel's slow paths, by cause.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hugewise_model::base::missing::Missing;
use hugewise_model::observe::trace::points::{Point, points};
use hugewise_model::run::trial::timeline::LONG_NS;

use crate::bpf::{Long, Sighting, Standing, Tracer};
use crate::error::Result;
use crate::root::Root;

/// Each metric with the point that it sums up, and whether that point is passed so rarely that
/// watching it costs nothing worth mentioning.
const CAUSES: [(&str, &str, Frequency); 8] = [
    (
        "direct_compaction_seconds",
        "direct_compaction",
        Frequency::Rare,
    ),
    ("direct_reclaim_seconds", "direct_reclaim", Frequency::Rare),
    ("cgroup_reclaim_seconds", "cgroup_reclaim", Frequency::Rare),
    ("zeroing_seconds", "zeroing", Frequency::Rare),
    ("split_seconds", "split_mapping", Frequency::Rare),
    ("page_fault_seconds", "fault", Frequency::Often),
    ("copy_on_write_seconds", "copy_on_write", Frequency::Often),
    ("mmap_lock_wait_seconds", "mmap_lock_wait", Frequency::Often),
];

/// How often a point is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frequency {
    /// At most once for a huge page.
    Rare,
    /// With every such page fault, or every change of an address space.
    Often,
}

/// Which stalls are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those that are passed rarely.
    Rare,
    /// All of them, although each that is passed often costs a fraction of a microsecond.
    All,
}

/// The stalls that are watched during an experiment.
#[derive(Debug)]
pub struct Stalls {
    tracer: Tracer,
    /// The points that are traced, in the tracer's order.
    traced: Vec<String>,
    /// What each had come to when it was last asked.
    standings: Vec<Standing>,
    /// Why a point is not traced.
    missing: BTreeMap<String, Missing>,
}

impl Stalls {
    /// Begins to watch. What cannot be watched says why in each trial.
    ///
    /// # Errors
    /// What the kernel shows of itself was not understood.
    pub fn start(root: &Root, wanted: Wanted) -> Result<Self> {
        let names: BTreeSet<&str> = CAUSES
            .iter()
            .filter(|(_, _, often)| wanted == Wanted::All || *often == Frequency::Rare)
            .map(|(_, point, _)| *point)
            .collect();
        let mut chosen: Vec<Point> = points();
        chosen.retain(|point| names.contains(&*point.name));
        // Until a trial begins, only our own tree counts, in which nothing of this happens.
        let own = Some(std::process::id());
        let long = Duration::from_nanos(LONG_NS);
        let (tracer, missing) = Tracer::start_keeping(root, &chosen, own, long)?;
        let traced = tracer.traced();
        Ok(Self {
            traced: traced.into_iter().map(|point| point.name).collect(),
            tracer,
            standings: Vec::new(),
            missing: missing.into_iter().map(|one| (one.name, one.why)).collect(),
        })
    }

    /// A trial begins: from here on the tree below `keeper` counts.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn begin(&mut self, keeper: u32) -> Result<()> {
        self.tracer.watch(keeper)?;
        self.tracer.window().map(drop)
    }

    /// What has come since the last time, of which the first begins a timeline: sums by metric,
    /// and the long ones by themselves.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn tick(&mut self) -> Result<Vec<Tick>> {
        let long = self.tracer.take_long()?;
        let now = self.tracer.standings()?;
        let before = std::mem::replace(&mut self.standings, now);
        let mut ticks = Vec::new();
        for (index, (point, long)) in self.traced.iter().zip(long).enumerate() {
            let known = CAUSES.iter().find(|(_, name, _)| name == point);
            let now = self.standings.get(index).copied().unwrap_or_default();
            let before = before.get(index).copied().unwrap_or(now);
            ticks.extend(known.map(|(metric, _, _)| Tick {
                metric,
                total_ns: now.total_ns.saturating_sub(before.total_ns),
                unkept: now.unkept.saturating_sub(before.unkept),
                long,
            }));
        }
        Ok(ticks)
    }

    /// Why nothing at all is timed, where that is so.
    pub(super) fn nothing(&self) -> Option<Missing> {
        let untraced = self.traced.is_empty();
        let why = || self.missing.values().next().cloned();
        untraced.then(|| why().unwrap_or(Missing::NotAsked))
    }

    /// The trial has ended: seconds of each cause, or why they are not known.
    ///
    /// # Errors
    /// The kernel failed.
    pub(super) fn end(&mut self) -> Result<Seconds> {
        let sightings = self.tracer.window()?;
        let seen: BTreeMap<&str, &Sighting> = self
            .traced
            .iter()
            .map(String::as_str)
            .zip(&sightings)
            .collect();
        let of = |point: &str| match (seen.get(point), self.missing.get(point)) {
            (Some(sighting), _) => seconds(sighting),
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

/// What one cause came to in about a second.
#[derive(Clone, Debug)]
pub(super) struct Tick {
    /// Its metric.
    pub(super) metric: &'static str,
    /// Time in it, of those that ended.
    pub(super) total_ns: u64,
    /// Those that were long.
    pub(super) long: Vec<Long>,
    /// Long ones for which there was no room.
    pub(super) unkept: u64,
}

/// A sum from which something was left out is no sum.
fn seconds(sighting: &Sighting) -> std::result::Result<f64, Missing> {
    let lost = sighting.losses.no_room + sighting.losses.missed;
    if lost > 0 {
        return Err(Missing::Unreadable {
            error: format!("the kernel left out {lost} of them"),
        });
    }
    Ok(sighting.all.total_ns as f64 / 1e9)
}

/// What the stalls of one trial came to, by metric.
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds(BTreeMap<&'static str, std::result::Result<f64, Missing>>);

impl Seconds {
    /// The reading of a metric; `None` where it is not one of stalls.
    pub(super) fn of(&self, metric: &str) -> Option<std::result::Result<f64, Missing>> {
        let (name, _, _) = CAUSES.iter().find(|(name, _, _)| *name == metric)?;
        let reading = self.0.get(name).cloned();
        Some(reading.unwrap_or(Err(Missing::NotAsked)))
    }
}

#[cfg(test)]
mod tests {
    use hugewise_model::base::histogram::durations::Durations;
    use hugewise_model::run::metric;

    use super::*;

    #[test]
    fn every_cause_is_a_metric_and_a_point() {
        for (name, point, _) in CAUSES {
            assert!(metric::find(name).is_some(), "{name}");
            assert!(points().iter().any(|known| known.name == point), "{point}");
        }
    }

    #[test]
    fn a_sum_with_gaps_is_no_reading() {
        let mut sighting = Sighting {
            all: Durations::from_iter([1_500_000_000, 500_000_000]),
            ..Sighting::default()
        };
        assert_eq!(seconds(&sighting), Ok(2.0));
        sighting.losses.reentered = 1;
        assert_eq!(seconds(&sighting), Ok(2.0));
        sighting.losses.missed = 1;
        assert!(matches!(
            seconds(&sighting),
            Err(Missing::Unreadable { .. })
        ));
    }

    #[test]
    fn what_was_not_asked_for_says_so() {
        let nothing = Seconds::default();
        assert_eq!(nothing.of("zeroing_seconds"), Some(Err(Missing::NotAsked)));
        assert_eq!(nothing.of("wall_seconds"), None);
    }
}
