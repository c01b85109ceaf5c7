//! The state of a machine at one moment.

use serde::{Deserialize, Serialize};

use crate::export::Cgroup;
use hugewise_observe::machine::MachineSample;

/// The data common to all samples of a watch.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Header {
    /// Name and version of the program.
    pub program: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// `uname -r`.
    pub kernel: String,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a huge page, in bytes; `None` where there are no transparent ones.
    pub huge_bytes: Option<u64>,
    /// Time between two samples, in nanoseconds.
    pub interval_ns: u64,
}

/// The machine and its processes at one moment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Sample {
    /// When, in nanoseconds since the watch began.
    pub at_ns: u64,
    /// Processor time that this program has used since the watch began, in nanoseconds.
    pub cpu_ns: u64,
    /// Settings, counters and free memory.
    pub machine: MachineSample,
    /// The processes that have memory.
    pub processes: Processes,
    /// The cgroups, parents before children; empty unless they are looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Cgroup>,
}

/// All processes, as they were at one moment: that of the sample, or an earlier one where reading
/// them takes long.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Processes {
    /// When they were listed, in nanoseconds since the watch began.
    pub at_ns: u64,
    /// In no order.
    pub list: Vec<Process>,
}

/// A process.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in clock ticks since boot; with the PID this identifies one process.
    pub started_ticks: u64,
    /// Its name (`comm`).
    pub name: String,
    /// Resident memory without hugetlb, in bytes.
    pub resident_bytes: u64,
    /// Page faults since it began, all its threads.
    pub faults: u64,
    /// How much of its memory is huge.
    pub huge: HugeMemory,
}

/// How much memory of a process is huge; only a walk of its page tables shows that.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum HugeMemory {
    /// Bytes mapped by PMDs, including hugetlb, and when they were counted.
    Bytes {
        /// Anonymous memory, in bytes.
        anon: u64,
        /// Shared memory and files, in bytes.
        shared: u64,
        /// hugetlb, in bytes.
        hugetlb: u64,
        /// When, in nanoseconds since the watch began.
        at_ns: u64,
    },
    /// Its turn has not come.
    Waiting,
    /// So large that it is read only while it is selected.
    Large,
    /// The kernel refuses.
    NotPermitted,
}

impl HugeMemory {
    /// All memory mapped by PMDs, in bytes, if known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match *self {
            Self::Bytes {
                anon,
                shared,
                hugetlb,
                ..
            } => Some(anon.saturating_add(shared).saturating_add(hugetlb)),
            _ => None,
        }
    }
}

impl Process {
    /// Identifies the process, and no later one with the same PID.
    #[must_use]
    pub fn identity(&self) -> (u32, u64) {
        (self.pid, self.started_ticks)
    }

    /// The huge share of its memory, if known. hugetlb is not part of resident memory, so it is added.
    #[must_use]
    pub fn huge_share(&self) -> Option<f64> {
        let HugeMemory::Bytes { hugetlb, .. } = self.huge else {
            return None;
        };
        let all = self.resident_bytes.saturating_add(hugetlb);
        let huge = self.huge.bytes()?;
        (all > 0).then(|| (huge as f64 / all as f64).min(1.0))
    }
}
