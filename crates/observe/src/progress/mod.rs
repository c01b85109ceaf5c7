//! The progress of a process that fills its memory: growth, delays, the time left, and the one setting that ends the
//! delay.
//!
//! Three modules decide: `state` the state of an interval, `forecast` the time left, and `remedy` the setting.

use serde::{Deserialize, Serialize};

use hugewise_base::missing::Missing;

mod document;
mod fill;
mod forecast;
mod remedy;
mod series;
mod state;

pub use document::{csv_head, line, lines_head};
pub use fill::{FillContents, Filled, Piece, filled};
pub use forecast::{Pace, TimeLeft, Unknown, forecast, pace, while_blocks_last};
pub use remedy::{Because, DelaySetting, NextStart, Remedy, remedy};
pub use series::Series;
pub use state::{FillState, state};

/// Name and version of a [`Progress`] as JSON.
pub const FORMAT: &str = "hugewise-progress 1";

/// A share of the time from which something delays a process.
pub const MUCH: f64 = 0.25;

/// Growth below this in an interval is none: the kernel's counters of resident memory lag by some pages per processor.
pub const LEAST_GROWTH: u64 = 1 << 20;

/// The complete result of watching one process fill its memory.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Progress {
    /// [`FORMAT`].
    pub format: String,
    /// The kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// The process. Everything includes its descendants; memory that several processes share counts once for each.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The requested length of an interval, in seconds.
    pub interval_seconds: f64,
    /// The settings at the end.
    pub settings: DelaySettings,
    /// The intervals.
    pub intervals: Vec<ProgressInterval>,
    /// The whole time; state and forecast are those at its end.
    pub total: ProgressInterval,
    /// The parts that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingPart>,
}

/// The settings that control compaction and reclaim in page faults.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct DelaySettings {
    /// `enabled` of transparent_hugepage; empty if this kernel has no huge pages.
    pub enabled: String,
    /// `defrag` of transparent_hugepage; empty if this kernel has no huge pages.
    pub defrag: String,
    /// The smallest memory limit of a cgroup above the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// The memory limit of a cgroup.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Limit {
    /// The directory of the cgroup.
    pub folder: String,
    /// The limit, in bytes.
    pub bytes: u64,
}

/// One interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ProgressInterval {
    /// The start, in seconds since the first reading.
    pub from_seconds: f64,
    /// The end.
    pub to_seconds: f64,
    /// Resident and hugetlb memory at the end, in bytes.
    pub memory_bytes: u64,
    /// Its growth, in bytes.
    pub grown_bytes: i64,
    /// The share of new memory in huge pages; null if none was read again, or nothing grew.
    pub huge_share: Option<f64>,
    /// The work that took the time.
    pub work: Work,
    /// Attempts of direct compaction by the process; null if they could not be traced.
    pub attempts: Option<Attempts>,
    /// Direct compactions of the whole machine.
    pub machine: Compactions,
    /// Free memory of the machine in blocks for huge pages at the end, in bytes; null if it cannot be read.
    pub free_huge_bytes: Option<u64>,
    /// The state.
    pub state: FillState,
    /// The rate since its last change; null with too few readings.
    pub pace: Option<Pace>,
    /// The memory that the process is filling; null if unknown.
    pub target: Option<FillTarget>,
    /// The time to the target.
    pub forecast: TimeLeft,
    /// The setting that ends the delay; null without a delay, or if no setting follows from the readings.
    pub remedy: Option<Remedy>,
}

impl ProgressInterval {
    /// Its length, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to_seconds - self.from_seconds
    }

    /// Returns true if memory grew by more than the kernel's counters can be wrong.
    #[must_use]
    pub fn has_grown(&self) -> bool {
        self.grown_bytes >= LEAST_GROWTH as i64
    }
}

/// Shares of the time of a process, between 0 and 1. The whole is the interval, or the processor time of all threads,
/// the longer of the two. A piece of work counts in the interval in which it ends.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Work {
    /// Direct compaction; null if it could not be traced, like the next two.
    pub compaction: Option<f64>,
    /// Direct reclaim, because the machine has no free memory.
    pub reclaim: Option<f64>,
    /// Reclaim at the memory limit of a cgroup.
    pub limit_reclaim: Option<f64>,
    /// Processor time in its own code.
    pub user: f64,
    /// Processor time in the kernel, compaction and reclaim included.
    pub kernel: f64,
    /// The share of the readings in which the memory had grown, or a thread ran, was ready to run, or waited in the
    /// kernel. It also sees work that has not ended.
    pub active: f64,
}

/// Attempts of direct compaction.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Attempts {
    /// All attempts.
    pub all: u64,
    /// Those for more than 8 pages in a row, which the faults of a program ask for only to get huge pages.
    pub huge: u64,
}

/// Direct compactions of the machine, from `compact_*` of `/proc/vmstat`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Compactions {
    /// Allocations that compacted.
    pub stalls: u64,
    /// Those that got their memory.
    pub succeeded: u64,
    /// Those that did not.
    pub failed: u64,
}

impl Compactions {
    /// Returns the increase since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            stalls: self.stalls.saturating_sub(earlier.stalls),
            succeeded: self.succeeded.saturating_sub(earlier.succeeded),
            failed: self.failed.saturating_sub(earlier.failed),
        }
    }

    /// The share that got their memory; `None` if there were none.
    #[must_use]
    pub fn success(self) -> Option<f64> {
        let ended = self.succeeded + self.failed;
        (ended > 0).then(|| self.succeeded as f64 / ended as f64)
    }
}

/// The memory that the process will have.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct FillTarget {
    /// Its size, in bytes.
    pub bytes: u64,
    /// Its source.
    pub source: TargetSource,
}

impl FillTarget {
    /// Returns the missing memory, in bytes; 0 within a thousandth of the target.
    #[must_use]
    pub fn left(&self, memory_bytes: u64) -> u64 {
        let left = self.bytes.saturating_sub(memory_bytes);
        if left > self.bytes / 1000 { left } else { 0 }
    }
}

/// The source of a target.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TargetSource {
    /// `--target`.
    Asked,
    /// The present memory and the untouched rest of all mappings that grow.
    Mappings,
}

/// A part that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct MissingPart {
    /// The part.
    pub part: ProgressPart,
    /// The reason, with the privilege that would help.
    pub why: Missing,
}

/// A part of the readings that needs a privilege.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum ProgressPart {
    /// The time in compaction.
    Compaction,
    /// The time in reclaim.
    Reclaim,
    /// The time in reclaim at a cgroup's limit.
    LimitReclaim,
    /// The attempts of compaction, by size.
    Attempts,
    /// The share of huge pages, and the mappings that grow.
    Mappings,
}
