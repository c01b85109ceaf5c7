//! Time in compaction and reclaim, from the points of `trace`.

use hugewise_base::missing::Missing;
use hugewise_observe::progress::{Attempts, MissingPart, ProgressPart};
use hugewise_observe::trace::points::{Point, points};
use hugewise_observe::trace::{MissingPoint, PointTotals};

use super::spent::Spent;
use crate::bpf::Tracer;
use crate::machine::process::numbers_are_global;
use crate::machine::root::Root;

/// The points by name, and the parts that they measure.
const PARTS: [(&str, ProgressPart); 4] = [
    ("direct_compaction", ProgressPart::Compaction),
    ("direct_reclaim", ProgressPart::Reclaim),
    ("cgroup_reclaim", ProgressPart::LimitReclaim),
    ("compaction_attempt", ProgressPart::Attempts),
];

/// The largest order that the kernel allocates for its own use everywhere (`PAGE_ALLOC_COSTLY_ORDER`,
/// include/linux/mmzone.h).
const COSTLY_ORDER: u32 = 3;

/// The traced points of a process tree.
#[derive(Debug)]
pub(super) struct Stalls {
    tracer: Option<Tracer>,
    missing: Vec<MissingPart>,
}

impl Stalls {
    pub(super) fn open(root: &Root, pid: u32) -> Self {
        if !numbers_are_global(root) {
            let why = "PIDs of a container in kernel tracing; run hugewise outside of it";
            return Self::without(&Missing::not_supported(why));
        }
        let named = |point: &Point| PARTS.iter().any(|(name, _)| *name == point.name);
        let points: Vec<Point> = points().into_iter().filter(named).collect();
        match Tracer::start(root, &points, Some(pid)) {
            Ok((tracer, missing)) => Self {
                tracer: Some(tracer),
                missing: missing.iter().filter_map(missing_part).collect(),
            },
            Err(error) => Self::without(&Missing::unreadable(error.to_string())),
        }
    }

    fn without(why: &Missing) -> Self {
        let missing = PARTS.iter().map(|&(_, part)| MissingPart {
            part,
            why: why.clone(),
        });
        Self {
            tracer: None,
            missing: missing.collect(),
        }
    }

    pub(super) fn missing(&self) -> &[MissingPart] {
        &self.missing
    }

    /// Forgets what happened during the attaching.
    pub(super) fn begin(&mut self) {
        self.take(Spent::default());
    }

    /// Adds the stalls since the last call.
    pub(super) fn take(&mut self, mut spent: Spent) -> Spent {
        let Some(tracer) = &mut self.tracer else {
            return spent;
        };
        let Ok(windows) = tracer.window() else {
            return spent;
        };
        for totals in tracer.summaries(&windows) {
            let seconds = totals.all.total_ns as f64 / 1e9;
            match part_of(&totals.name) {
                Some(ProgressPart::Compaction) => spent.compaction = Some(seconds),
                Some(ProgressPart::Reclaim) => spent.reclaim = Some(seconds),
                Some(ProgressPart::LimitReclaim) => spent.limit_reclaim = Some(seconds),
                Some(ProgressPart::Attempts) => spent.attempts = Some(attempts(&totals)),
                Some(ProgressPart::Mappings) | None => {}
            }
        }
        spent
    }
}

fn part_of(name: &str) -> Option<ProgressPart> {
    let found = PARTS.iter().find(|(point, _)| *point == name);
    found.map(|(_, part)| *part)
}

fn missing_part(point: &MissingPoint) -> Option<MissingPart> {
    Some(MissingPart {
        part: part_of(&point.name)?,
        why: point.why.clone(),
    })
}

/// Attempts by order. Orders beyond the known ones are large.
fn attempts(totals: &PointTotals) -> Attempts {
    let is_large = |key: &str| key.parse().map_or(true, |order: u32| order > COSTLY_ORDER);
    let large = totals.parts.iter().filter(|part| is_large(&part.key));
    Attempts {
        all: totals.all.count,
        huge: large.map(|part| part.latencies.count).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_observe::trace::{Latencies, Part as KeyPart};

    #[test]
    fn every_part_is_a_point_of_the_table() {
        let all = points();
        for (name, _) in PARTS {
            assert!(all.iter().any(|point| point.name == name), "{name}");
        }
    }

    #[test]
    fn large_orders_are_those_of_huge_pages() {
        let part = |key: &str, count| KeyPart {
            key: key.to_owned(),
            latencies: Latencies::events(count),
        };
        let totals = PointTotals {
            all: Latencies::events(17),
            parts: vec![part("2", 1), part("3", 2), part("4", 4), part("9", 10)],
            ..PointTotals::default()
        };
        assert_eq!(attempts(&totals), Attempts { all: 17, huge: 14 });
    }
}
