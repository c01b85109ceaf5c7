//! The activity of a process in an interval, in one word.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{MUCH, ProgressInterval};

/// The share of processor time or of active readings from which a process without growth works.
const WORKS: f64 = 0.05;

/// The activity of a process in an interval.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FillState {
    /// Its memory grows.
    Growing,
    /// The kernel moves pages for it, for a quarter of its time or more.
    Compacting,
    /// The kernel frees pages for it, for a quarter of its time or more.
    Reclaiming,
    /// A thread runs, is ready to run, or waits in the kernel, but its memory does not grow.
    Working,
    /// No growth, and no work in the kernel or in its own code.
    #[default]
    Stuck,
    /// It has all its memory, or it has ended.
    Finished,
}

impl FillState {
    /// Its name in all outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Returns the state of an interval. If compaction cannot be traced, it is inferred: the machine compacts, and the
/// process spends a quarter of its time in the kernel.
#[must_use]
pub fn state(interval: &ProgressInterval) -> FillState {
    let work = &interval.work;
    let compaction = work.compaction.unwrap_or(match interval.machine.stalls {
        0 => 0.0,
        _ => work.kernel,
    });
    let reclaim = work.reclaim.unwrap_or(0.0) + work.limit_reclaim.unwrap_or(0.0);
    let target = interval.target.as_ref();
    if target.is_some_and(|target| target.left(interval.memory_bytes) == 0) {
        FillState::Finished
    } else if compaction >= MUCH && compaction >= reclaim {
        FillState::Compacting
    } else if reclaim >= MUCH {
        FillState::Reclaiming
    } else if interval.has_grown() {
        FillState::Growing
    } else if work.active.max(work.user + work.kernel) >= WORKS {
        FillState::Working
    } else {
        FillState::Stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Compactions, FillTarget, TargetSource, Work};

    fn of(work: Work, grown_bytes: i64) -> ProgressInterval {
        ProgressInterval {
            work,
            grown_bytes,
            memory_bytes: 8 << 30,
            ..ProgressInterval::default()
        }
    }

    fn traced(compaction: f64, reclaim: f64) -> Work {
        Work {
            compaction: Some(compaction),
            reclaim: Some(reclaim),
            limit_reclaim: Some(0.0),
            user: 0.0,
            kernel: compaction + reclaim,
            active: 0.0,
        }
    }

    #[test]
    fn the_word_follows_from_time_and_growth() {
        let quiet = traced(0.0, 0.0);
        let busy = Work { user: 0.9, ..quiet };
        let ready = Work {
            active: 0.5,
            ..quiet
        };
        for (work, grown, expected) in [
            (traced(0.96, 0.01), 4 << 20, FillState::Compacting),
            (traced(0.3, 0.5), 4 << 20, FillState::Reclaiming),
            (traced(0.1, 0.1), 4 << 20, FillState::Growing),
            (busy, 64 << 10, FillState::Working),
            (ready, 0, FillState::Working),
            (quiet, 64 << 10, FillState::Stuck),
            (quiet, -(4 << 20), FillState::Stuck),
        ] {
            assert_eq!(state(&of(work, grown)), expected, "{work:?} {grown}");
        }
    }

    #[test]
    fn without_tracing_compaction_is_inferred_from_the_machine() {
        let work = Work {
            kernel: 0.8,
            ..Work::default()
        };
        let mut interval = of(work, 2 << 20);
        assert_eq!(state(&interval), FillState::Growing);
        interval.machine = Compactions {
            stalls: 9,
            ..Compactions::default()
        };
        assert_eq!(state(&interval), FillState::Compacting);
    }

    #[test]
    fn the_target_ends_it() {
        let mut interval = of(traced(0.9, 0.0), 2 << 20);
        interval.target = Some(FillTarget {
            bytes: (8 << 30) + (4 << 20),
            source: TargetSource::Asked,
        });
        assert_eq!(state(&interval), FillState::Finished);
        interval.memory_bytes -= 16 << 20;
        assert_eq!(state(&interval), FillState::Compacting);
    }
}
