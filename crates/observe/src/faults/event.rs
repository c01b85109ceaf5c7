//! What is seen while a program runs: one [`Event`] per thing that the kernel told.
//!
//! A recording is a file of them, one JSON document per line. Live and replayed events go
//! through the same [`Analysis`](super::Analysis).

use serde::{Deserialize, Serialize};

use hugewise_base::missing::{Fact, Missing};
use hugewise_experiment::run::trial::Outcome;

/// One thing that the kernel told, or that frames it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The first of a recording: where, what, and how it was watched.
    Begin(Box<Conditions>),
    /// A range of addresses came into being, or changed.
    Map(Map),
    /// A process became another program: all its mappings are gone.
    Exec {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// Its new short name.
        name: String,
    },
    /// Where brk(2) of a process begins: the first such mapping has no name of its own.
    Heap {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// The first address.
        address: u64,
    },
    /// A process or a thread was born.
    Fork {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process; that of the parent for a thread.
        pid: u32,
        /// Process of the parent.
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
    /// The kernel began to handle a fault (`PERF_COUNT_SW_PAGE_FAULTS`).
    Start {
        /// Nanoseconds of the monotonic clock.
        time_ns: u64,
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// The address that was touched.
        address: u64,
    },
    /// A fault was served (`PERF_COUNT_SW_PAGE_FAULTS_MIN` and `_MAJ`).
    End(Box<Served>),
    /// The ring was full: this many events are not here.
    Lost {
        /// How many.
        count: u64,
    },
    /// What an address inside a file is called.
    Symbol {
        /// The file.
        file: String,
        /// Where in the file.
        offset: u64,
        /// Innermost inlined function first.
        frames: Vec<Symbol>,
    },
    /// The last of a recording: counts from other sources.
    Closing(Box<Closing>),
}

impl Served {
    /// How much memory came with it, in bytes, as far as the event tells.
    #[must_use]
    pub fn bytes(&self, page_bytes: u64) -> u64 {
        let mapped = self.page_bytes.unwrap_or(page_bytes);
        mapped.max(self.folio_bytes.unwrap_or(0))
    }
}

impl Event {
    /// When it happened, where it has a time.
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
    /// Version of the program that recorded.
    pub hugewise: String,
    /// The command or the process, as the user named it.
    pub subject: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Kernel release.
    pub kernel: String,
    /// Name of the hypervisor when the machine is virtual.
    pub hypervisor: Option<String>,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a page that a PMD maps, in bytes, where the kernel has them.
    pub pmd_bytes: Option<u64>,
    /// Sizes of anonymous folios between the two, in bytes, that are not switched off.
    pub folio_sizes: Vec<u64>,
    /// Whether faults in kernel mode were seen too.
    pub modes: Modes,
    /// Whether each fault says the size of the page that maps its address (Linux 5.11).
    pub page_size: Known,
    /// Whether each fault says its physical address, which the zero pages lack.
    pub physical: Known,
    /// Whether the huge zero page is told from other huge pages.
    pub huge_zero: Known,
    /// Whether each fault says the size of the folio it made, where there are several sizes.
    pub folios: Known,
    /// Every how many faults were looked at; 1 is all of them.
    pub every: u64,
}

/// In which modes faults were seen.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Modes {
    /// User mode and kernel mode.
    All,
    /// User mode only: a fault in the midst of a system call is not seen.
    User,
}

/// Whether something is known of every fault.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// Of every one.
    Yes,
    /// Of none, and why.
    No(Missing),
}

impl Known {
    /// Whether it is.
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
    /// First address behind it.
    pub end: u64,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// `PROT_READ` (1), `PROT_WRITE` (2), `PROT_EXEC` (4).
    pub protection: u32,
    /// Whether writes are private to the process (`MAP_PRIVATE`).
    pub sharing: Sharing,
    /// What the kernel calls it: a path, `[heap]`, `[stack]`, `//anon`.
    pub name: String,
}

/// Whether a mapping's writes are its own.
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

/// A fault that was served.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// Nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The address that was touched.
    pub address: u64,
    /// Whether it waited for I/O.
    pub weight: Weight,
    /// Size of the page that maps the address since then, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Physical address; `Some(0)` where the page is one of the zero pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<u64>,
    /// Size of the anonymous folio that the page is part of, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folio_bytes: Option<u64>,
    /// Where the program was, innermost first; addresses of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<u64>,
    /// How many faults its call chain stands for: 1 where that of every fault is taken, N where
    /// that of one in N is, 0 where this one's was not.
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

/// Whether a fault waited for I/O.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It did not (`PERF_COUNT_SW_PAGE_FAULTS_MIN`).
    Minor,
    /// It did (`_MAJ`).
    Major,
}

/// A function, as debug information or the symbol table names it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// `file:line`, where debug information tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Symbol {
    /// File and line: an empty file where nothing tells, 0 where only the line is missing.
    pub(super) fn file_and_line(&self) -> (&str, u64) {
        let place = self.place.as_deref().unwrap_or_default();
        let split = place.rsplit_once(':');
        let parsed = split.and_then(|(file, line)| Some((file, line.parse().ok()?)));
        parsed.unwrap_or((place, 0))
    }
}

/// Counts from sources other than the samples, and how it ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// How long the program was watched, in nanoseconds.
    pub wall_ns: u64,
    /// How the command ended; `None` for a process that was there before, or when interrupted.
    pub outcome: Option<Outcome>,
    /// Processes that the command left running when it ended; they were ended.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outlived: u32,
    /// The values of the perf counters.
    pub counted: Counted,
    /// What the kernel's own accounting says (`ru_minflt`, `ru_majflt`, or `/proc/PID/stat`).
    #[serde(with = "hugewise_base::missing::fact")]
    pub accounted: Fact<Accounted>,
    /// Processor time in kernel mode of the command, in nanoseconds.
    #[serde(with = "hugewise_base::missing::fact")]
    pub system_ns: Fact<u64>,
    /// Processor time that watching took in this program, in nanoseconds.
    pub own_cpu_ns: u64,
}

/// The values of the perf counters at the end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Faults begun.
    pub starts: u64,
    /// Served without I/O.
    pub minor: u64,
    /// Served with I/O.
    pub major: u64,
    /// Samples that found the ring full (`PERF_FORMAT_LOST`, Linux 6.0).
    pub lost: Option<u64>,
}

impl Counted {
    /// Faults served.
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
