//! The events of a running program, one [`Event`] per kernel record.
//!
//! A recording is a file of events, one JSON document per line. Live and replayed events go through the same
//! [`Analysis`](super::Analysis).

use serde::{Deserialize, Serialize};

use hugewise_base::missing::{Fact, Missing};
use hugewise_experiment::run::trial::Outcome;

/// One record from the kernel, or the first or last record of a recording.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The first event of a recording: the machine, the subject, and how it was watched.
    Begin(Box<Conditions>),
    /// A range of addresses was mapped, or changed.
    Map(Map),
    /// A process executed another program, so all its mappings are gone.
    Exec {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// Its new short name.
        name: String,
    },
    /// The start of the brk(2) heap of a process. The first such mapping has no name.
    Heap {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// The start address.
        address: u64,
    },
    /// A process or a thread was created.
    Fork {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process ID; for a thread, that of its process.
        pid: u32,
        /// Process ID of the parent.
        parent: u32,
        /// Thread.
        tid: u32,
    },
    /// A thread ended.
    Exit {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
    },
    /// The kernel started to handle a fault (`PERF_COUNT_SW_PAGE_FAULTS`).
    Start {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// The faulting address.
        address: u64,
    },
    /// A fault was served (`PERF_COUNT_SW_PAGE_FAULTS_MIN` and `_MAJ`).
    End(Box<Served>),
    /// Events lost because the ring buffer was full.
    Lost {
        /// The number of lost events.
        count: u64,
    },
    /// The name of an address in a file.
    Symbol {
        /// The file.
        file: String,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Innermost inlined function first.
        frames: Vec<Symbol>,
    },
    /// The last event of a recording: counts from other sources.
    Closing(Box<Closing>),
}

impl Served {
    /// The memory that the event added, in bytes, as far as it shows.
    #[must_use]
    pub fn bytes(&self, page_bytes: u64) -> u64 {
        let mapped = self.page_bytes.unwrap_or(page_bytes);
        mapped.max(self.folio_bytes.unwrap_or(0))
    }
}

impl Event {
    /// The time of the event, if it has one.
    #[must_use]
    pub fn time_ns(&self) -> Option<u64> {
        match self {
            Self::Map(map) => Some(map.time_ns),
            Self::Exec { time_ns, .. }
            | Self::Heap { time_ns, .. }
            | Self::Fork { time_ns, .. }
            | Self::Exit { time_ns, .. }
            | Self::Start { time_ns, .. } => Some(*time_ns),
            Self::End(served) => Some(served.time_ns),
            Self::Begin(_) | Self::Lost { .. } | Self::Symbol { .. } | Self::Closing(_) => None,
        }
    }
}

/// How a program was watched, and on what machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Version of the recording program.
    pub hugewise: String,
    /// The command or the process, as the user named it.
    pub subject: String,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Kernel release.
    pub kernel: String,
    /// Name of the hypervisor when the machine is virtual.
    pub hypervisor: Option<String>,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a page mapped by a PMD, in bytes, if the kernel supports such pages.
    pub pmd_bytes: Option<u64>,
    /// Sizes of the enabled anonymous folios between these two, in bytes.
    pub folio_sizes: Vec<u64>,
    /// The processor modes in which faults were seen.
    pub modes: Modes,
    /// Yes if each fault reports the size of the page that maps its address (Linux 5.11).
    pub page_size: Known,
    /// Yes if each fault reports its physical address. Zero pages do not have one.
    pub physical: Known,
    /// Yes if the huge zero page can be distinguished from other huge pages.
    pub huge_zero: Known,
    /// Yes if each fault reports the size of its folio. Matters only if several sizes are enabled.
    pub folios: Known,
    /// The sampling period: one in this many faults is recorded; 1 records all faults.
    pub every: u64,
}

/// The processor modes in which faults are seen.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Modes {
    /// User mode and kernel mode.
    All,
    /// User mode only: faults inside system calls are not seen.
    User,
}

/// The availability of a value for every fault.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// Known for every fault.
    Yes,
    /// Known for no fault, with the reason.
    No(Missing),
}

impl Known {
    /// Returns true if it is known.
    #[must_use]
    pub fn is_yes(&self) -> bool {
        *self == Self::Yes
    }
}

/// A range of addresses.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// Nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// First address after the range.
    pub end: u64,
    /// Offset of the start in the file, in bytes.
    pub offset: u64,
    /// `PROT_READ` (1), `PROT_WRITE` (2), `PROT_EXEC` (4).
    pub protection: u32,
    /// Private (`MAP_PRIVATE`) or shared.
    pub sharing: Sharing,
    /// The kernel's name: a path, `[heap]`, `[stack]`, `//anon`.
    pub name: String,
}

/// How a mapping shares its writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// `MAP_PRIVATE`.
    Private,
    /// `MAP_SHARED`.
    Shared,
    /// hugetlb pages, private or shared.
    Hugetlb,
}

/// A served fault.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// Nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The faulting address.
    pub address: u64,
    /// Major if the fault waited for I/O.
    pub weight: Weight,
    /// Size of the page that maps the address after the fault, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Physical address; `Some(0)` for a zero page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<u64>,
    /// Size of the anonymous folio that contains the page, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folio_bytes: Option<u64>,
    /// The call chain in the program, innermost first, as addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<u64>,
    /// The number of faults that the call chain represents: 1 if every chain is sampled, N if one in N is, 0 if this
    /// fault's chain was not sampled.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub stands_for: u64,
}

fn one() -> u64 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_one(number: &u64) -> bool {
    *number == 1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_none(number: &u32) -> bool {
    *number == 0
}

/// Fault weight: minor, or major if it waited for I/O.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// No I/O (`PERF_COUNT_SW_PAGE_FAULTS_MIN`).
    Minor,
    /// Waited for I/O (`_MAJ`).
    Major,
}

/// A function, as debug information or the symbol table names it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// `file:line`, from debug information if available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Symbol {
    /// File and line: an empty file if both are unknown, line 0 if only the line is.
    pub(super) fn file_and_line(&self) -> (&str, u64) {
        let place = self.place.as_deref().unwrap_or_default();
        let split = place.rsplit_once(':');
        let parsed = split.and_then(|(file, line)| Some((file, line.parse().ok()?)));
        parsed.unwrap_or((place, 0))
    }
}

/// Counts from sources other than the samples, and the outcome.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// How long the program was watched, in nanoseconds.
    pub wall_ns: u64,
    /// How the command ended; `None` for a process that already ran, or if interrupted.
    pub outcome: Option<Outcome>,
    /// Processes that the command left running. They were terminated.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outlived: u32,
    /// The final values of the perf counters.
    pub counted: Counted,
    /// Faults by the accounting of the kernel (`ru_minflt`, `ru_majflt`, or `/proc/PID/stat`).
    #[serde(with = "hugewise_base::missing::fact")]
    pub accounted: Fact<Accounted>,
    /// CPU time of the command in kernel mode, in nanoseconds.
    #[serde(with = "hugewise_base::missing::fact")]
    pub system_ns: Fact<u64>,
    /// CPU time of this program for watching, in nanoseconds.
    pub own_cpu_ns: u64,
}

/// The values of the perf counters at the end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Faults started.
    pub starts: u64,
    /// Faults served without I/O.
    pub minor: u64,
    /// Faults served with I/O.
    pub major: u64,
    /// Samples lost because the ring buffer was full (`PERF_FORMAT_LOST`, Linux 6.0).
    pub lost: Option<u64>,
}

impl Counted {
    /// Returns the number of served faults.
    #[must_use]
    pub fn served(self) -> u64 {
        self.minor + self.major
    }
}

/// Faults by the kernel's own accounting.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Accounted {
    /// Without I/O.
    pub minor: u64,
    /// With I/O.
    pub major: u64,
}
