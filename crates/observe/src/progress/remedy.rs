//! The one setting that ends a delay. Each follows from the readings: the work that takes the time, the allocations
//! that cause it, and the present settings.
//!
//! Page faults of huge pages compact as `defrag` says (`vma_thp_gfp_mask`, mm/huge_memory.c): all faults
//! with `always`, faults in advised memory with `madvise` and `defer+madvise`, no faults with `defer` and `never`. The value is read
//! at each fault, so a change works at the next fault.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{DelaySettings, MUCH, ProgressInterval};

/// A setting, and the reason for it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Remedy {
    /// The setting.
    pub setting: DelaySetting,
    /// The evidence.
    pub because: Because,
    /// Another way at the next start, which leaves the settings of the machine as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_start: Option<NextStart>,
}

/// A setting that ends a delay.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "set")]
pub enum DelaySetting {
    /// Write `value` to `defrag` of transparent_hugepage, which now has `present`. Faults that would compact take small
    /// pages.
    Defrag {
        /// The present value.
        present: String,
        /// The new value.
        value: String,
    },
    /// Raise the memory limit of the cgroup.
    Limit {
        /// Its directory.
        folder: String,
        /// The present limit, in bytes.
        present: u64,
        /// The memory that the process will have, in bytes; null if unknown. The limit must exceed it.
        needed: Option<u64>,
    },
    /// No setting helps: the machine has too little free memory.
    FreeMemory,
}

/// The evidence for a setting.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "evidence")]
pub enum Because {
    /// The faults of huge pages compact or reclaim.
    HugeFaults {
        /// The share of the time in compaction and reclaim.
        share: f64,
        /// The share of the attempts that want more than 8 pages in a row.
        huge_attempts: f64,
        /// The share of the machine's compactions that succeed; null if there were none.
        success: Option<f64>,
    },
    /// A cgroup has reached its limit.
    AtLimit {
        /// The share of the time in reclaim at the limit.
        share: f64,
    },
    /// The machine has no free memory.
    MachineFull {
        /// The share of the time in reclaim.
        share: f64,
    },
}

/// Another way at the next start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NextStart {
    /// Compact all memory once before the start. Compaction succeeds here, so huge pages stay possible.
    CompactFirst,
    /// Start with small pages: `hugewise exec --policy thp=never`.
    SmallPages,
}

/// Returns the setting that ends the delay of an interval; `None` if there is none, or if none follows. `is_advised` is
/// true if the memory being filled is advised to be huge, and `None` if this is unknown.
#[must_use]
pub fn remedy(
    interval: &ProgressInterval,
    settings: &DelaySettings,
    is_advised: Option<bool>,
) -> Option<Remedy> {
    let work = &interval.work;
    let at_limit = work.limit_reclaim.unwrap_or(0.0);
    let machine = work.compaction.unwrap_or(0.0) + work.reclaim.unwrap_or(0.0);
    if at_limit >= MUCH && at_limit >= machine {
        return limit(interval, settings, at_limit);
    }
    if machine < MUCH {
        return None;
    }
    let huge_attempts = interval.attempts.and_then(|attempts| {
        (attempts.all > 0).then(|| attempts.huge as f64 / attempts.all as f64)
    });
    if let Some(huge_attempts) = huge_attempts.filter(|share| *share >= 0.5) {
        let value = defrag(&settings.defrag, is_advised)?;
        let success = interval.machine.success();
        return Some(Remedy {
            setting: DelaySetting::Defrag {
                present: settings.defrag.clone(),
                value: value.to_owned(),
            },
            because: Because::HugeFaults {
                share: machine.min(1.0),
                huge_attempts,
                success,
            },
            next_start: Some(match success {
                Some(share) if share >= 0.5 => NextStart::CompactFirst,
                _ => NextStart::SmallPages,
            }),
        });
    }
    let share = work.reclaim.filter(|share| *share >= MUCH)?;
    Some(Remedy {
        setting: DelaySetting::FreeMemory,
        because: Because::MachineFull { share },
        next_start: None,
    })
}

fn limit(interval: &ProgressInterval, settings: &DelaySettings, share: f64) -> Option<Remedy> {
    let limit = settings.limit.as_ref()?;
    Some(Remedy {
        setting: DelaySetting::Limit {
            folder: limit.folder.clone(),
            present: limit.bytes,
            needed: interval.target.map(|target| target.bytes),
        },
        because: Because::AtLimit { share },
        next_start: None,
    })
}

/// The value of `defrag` with which the faults of this memory do not compact, and that changes as little as possible for
/// other programs. `None` if they do not compact under the present value: then something else does.
fn defrag(present: &str, is_advised: Option<bool>) -> Option<&'static str> {
    match (present, is_advised) {
        // Advised memory of other programs keeps what it has.
        ("always", Some(false)) => Some("defer+madvise"),
        ("always", _) => Some("defer"),
        ("madvise" | "defer+madvise", Some(true) | None) => Some("defer"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Attempts, Compactions, FillTarget, Limit, TargetSource, Work};

    fn compacting(huge: u64, failed: u64) -> ProgressInterval {
        ProgressInterval {
            work: Work {
                compaction: Some(0.96),
                reclaim: Some(0.02),
                limit_reclaim: Some(0.0),
                ..Work::default()
            },
            attempts: Some(Attempts { all: 100, huge }),
            machine: Compactions {
                stalls: 100,
                succeeded: 100 - failed,
                failed,
            },
            ..ProgressInterval::default()
        }
    }

    fn settings(defrag: &str) -> DelaySettings {
        DelaySettings {
            enabled: "madvise".to_owned(),
            defrag: defrag.to_owned(),
            limit: None,
        }
    }

    fn value(
        interval: &ProgressInterval,
        present: &str,
        is_advised: Option<bool>,
    ) -> Option<String> {
        match remedy(interval, &settings(present), is_advised)?.setting {
            DelaySetting::Defrag { value, .. } => Some(value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_value_of_defrag_follows_from_the_present_one_and_the_advice() {
        let interval = compacting(100, 90);
        for (present, is_advised, expected) in [
            ("always", Some(true), Some("defer")),
            ("always", Some(false), Some("defer+madvise")),
            ("madvise", Some(true), Some("defer")),
            ("defer+madvise", Some(true), Some("defer")),
            ("madvise", None, Some("defer")),
            ("madvise", Some(false), None),
            ("defer", Some(true), None),
            ("never", Some(true), None),
        ] {
            let found = value(&interval, present, is_advised);
            assert_eq!(found.as_deref(), expected, "{present} {is_advised:?}");
        }
    }

    #[test]
    fn compaction_that_succeeds_can_be_done_before_the_next_start() {
        let next = |failed| {
            let found = remedy(&compacting(100, failed), &settings("madvise"), Some(true));
            found.expect("a setting").next_start
        };
        assert_eq!(next(90), Some(NextStart::SmallPages));
        assert_eq!(next(10), Some(NextStart::CompactFirst));
    }

    #[test]
    fn compaction_for_small_blocks_has_no_setting() {
        let found = remedy(&compacting(10, 90), &settings("madvise"), Some(true));
        assert_eq!(found, None);
    }

    #[test]
    fn a_little_compaction_needs_none() {
        let mut interval = compacting(100, 90);
        interval.work.compaction = Some(0.2);
        assert_eq!(value(&interval, "madvise", Some(true)), None);
        interval.work.compaction = None;
        assert_eq!(value(&interval, "always", Some(true)), None);
    }

    #[test]
    fn reclaim_names_the_limit_or_the_machine() {
        let mut interval = compacting(0, 0);
        interval.target = Some(FillTarget {
            bytes: 9 << 30,
            source: TargetSource::Asked,
        });
        interval.work = Work {
            compaction: Some(0.0),
            reclaim: Some(0.0),
            limit_reclaim: Some(0.8),
            ..Work::default()
        };
        let limited = DelaySettings {
            limit: Some(Limit {
                folder: "sys/fs/cgroup/a".to_owned(),
                bytes: 4 << 30,
            }),
            ..settings("madvise")
        };
        let found = remedy(&interval, &limited, None).expect("a setting");
        let DelaySetting::Limit { needed, .. } = found.setting else {
            panic!("{found:?}");
        };
        assert_eq!(needed, Some(9 << 30));
        interval.work.reclaim = interval.work.limit_reclaim.replace(0.0);
        let found = remedy(&interval, &limited, None).expect("a reason");
        assert_eq!(found.setting, DelaySetting::FreeMemory);
    }
}
