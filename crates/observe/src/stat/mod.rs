//! A running program or machine, interval by interval.
//!
//! A recording is a [`Header`](crate::stat::Header), then one [`Interval`](crate::stat::Interval)
//! after the other, then a [`StatSummary`](crate::stat::StatSummary): one line of JSON each. A live
//! observation and a replayed recording are drawn by the same functions.
//!
//! *Counts* are hardware events, each with its scope and the time that its counter ran. *Readings*
//! are counted by the kernel, under the names of [`METRICS`](hugewise_experiment::run::metric::METRICS) where those
//! exist. Ratios use counts of one group only: the kernel schedules a group as a whole, so numerator
//! and denominator cover the same time.
//!
//! To add a kind of event, add a line to `kind.rs`. To add a figure, add a line to `derive.rs`,
//! or a row to `reading.rs` and its reading to `linux::observe::stat::kernel`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::Scope;
use hugewise_experiment::run::trial::Reading;

mod coverage;
mod csv;
mod derive;
mod document;
mod fields;
mod live;
mod page;
mod read;
mod reading;
mod summary;
mod walk_share;

pub mod kind;
#[cfg(test)]
mod sample;

pub use coverage::check_coverage;
pub use csv::{csv_heading, csv_rows};
pub use derive::{DERIVED, Derived, derive};
pub use live::{live_heading, live_line};
pub use read::{Recording, parse};
pub use reading::{KernelReading, READINGS, is_reading};
pub use summary::StatSummary;
pub use walk_share::WalkShare;

/// One line of a recording.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first.
    Header(Box<Header>),
    /// One interval.
    Interval(Interval),
    /// The last; a recording that was cut off has none.
    Summary(StatSummary),
}

/// What was observed, where, and by which counters.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Header {
    /// Name and version of the program that wrote it.
    pub program: String,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub arch: String,
    /// The processor, as /proc/cpuinfo names it.
    pub cpu_model: String,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a huge page, in bytes; `None` where there are no transparent ones.
    pub huge_bytes: Option<u64>,
    /// What was observed.
    pub target: Target,
    /// Length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// What the hardware counts, or why it counts nothing.
    pub hardware: Hardware,
    /// The scope of each reading.
    pub scopes: BTreeMap<String, Scope>,
    /// Caveats for the reader.
    pub notes: Vec<String>,
}

/// What is observed.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Target {
    /// A command and everything that it starts.
    Command {
        /// Its words.
        words: Vec<String>,
    },
    /// A process, its threads and all of its descendants.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        comm: String,
    },
    /// A cgroup with everything below it.
    Cgroup {
        /// Its folder.
        path: String,
    },
    /// The whole machine.
    Machine,
}

/// The hardware counters.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Hardware {
    /// They count.
    Counting {
        /// In which processor modes.
        mode: Mode,
        /// The event sources, and the table that each was looked up in.
        pmus: Vec<Pmu>,
        /// How long each group counts before the next one's turn, in nanoseconds.
        turn_ns: u64,
        /// Requested events that cannot be counted.
        refused: Vec<Refused>,
        /// What the page-walk cycles include.
        walk_cycles: WalkCycles,
    },
    /// They do not.
    Missing {
        /// Why.
        missing: Missing,
    },
}

/// What the page-walk cycles include on this machine.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum WalkCycles {
    /// Whole walks: they bound what cheaper walks can save.
    #[default]
    Whole,
    /// Only the guest's tables, because this processor (Skylake) leaves the host's out in a
    /// virtual machine: they bound nothing.
    WithoutNested,
}

impl Hardware {
    /// Why nothing is counted.
    #[must_use]
    pub fn missing(&self) -> Option<&Missing> {
        match self {
            Self::Counting { .. } => None,
            Self::Missing { missing } => Some(missing),
        }
    }
}

/// The processor modes in which events are counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// User mode alone.
    User,
    /// Kernel mode alone.
    Kernel,
    /// User and kernel mode.
    UserAndKernel,
    /// What runs in virtual machines on this host.
    Guest,
}

impl Mode {
    /// Its name for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::User => "user mode only",
            Self::Kernel => "kernel mode only",
            Self::UserAndKernel => "user and kernel mode",
            Self::Guest => "virtual machines on this host",
        }
    }
}

/// An event source.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Pmu {
    /// Its name below `/sys/bus/event_source/devices`.
    pub name: String,
    /// The table of events that holds for it; `None` for a processor that no table knows, of
    /// which only cycles and instructions are counted.
    pub family: Option<String>,
    /// Its groups: the kinds of events that count at the same time.
    pub groups: Vec<Vec<String>>,
}

/// A requested event that cannot be counted.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Refused {
    /// Its kind.
    pub kind: String,
    /// Its name in the processor's table.
    pub event: String,
    /// Why.
    pub missing: Missing,
}

/// What happened between two moments.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Interval {
    /// Its number, from 0.
    pub index: u64,
    /// Its start, in nanoseconds since the start of the observation.
    pub start_ns: u64,
    /// Its end, likewise.
    pub end_ns: u64,
    /// Events of the hardware.
    pub counts: Vec<Count>,
    /// What the kernel counts: growth of counters, and other values at the end.
    pub readings: BTreeMap<String, Reading>,
    /// Ratios of these. They are written for other readers of the file, and computed anew when
    /// it is replayed.
    #[serde(default, skip_deserializing)]
    pub derived: BTreeMap<String, Reading>,
}

impl Interval {
    /// Its length, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// How often one event happened in one group. Kind, source and group are the key; the mode is
/// that of the header.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Count {
    /// What it counts.
    pub kind: String,
    /// The processor's name for the event.
    pub event: String,
    /// The event source.
    pub pmu: String,
    /// Number of the group within the source.
    pub group: u32,
    /// How often.
    #[serde(flatten)]
    pub tally: Tally,
}

/// How often an event happened, or why that is unknown.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Tally {
    /// Counted while the counter ran; not extrapolated.
    Counted {
        /// How often.
        value: u64,
        /// How long the counter was switched on while the target ran, in nanoseconds, summed over
        /// threads or processors.
        enabled_ns: u64,
        /// How long it was on the hardware.
        running_ns: u64,
    },
    /// It was not.
    Missing {
        /// Why.
        missing: Missing,
    },
}

impl Tally {
    /// The sum; missing if one side is missing, unless only its turn did not come.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (
                &Self::Counted {
                    value,
                    enabled_ns,
                    running_ns,
                },
                &Self::Counted {
                    value: v,
                    enabled_ns: e,
                    running_ns: r,
                },
            ) => Self::Counted {
                value: value.saturating_add(v),
                enabled_ns: enabled_ns.saturating_add(e),
                running_ns: running_ns.saturating_add(r),
            },
            (
                Self::Missing {
                    missing: Missing::NotItsTurn,
                },
                known,
            )
            | (
                known,
                Self::Missing {
                    missing: Missing::NotItsTurn,
                },
            ) => known.clone(),
            (Self::Missing { missing }, _) | (_, Self::Missing { missing }) => Self::Missing {
                missing: missing.clone(),
            },
        }
    }
}

/// Adds counts to others of the same key.
pub fn add_counts(sum: &mut Vec<Count>, more: &[Count]) {
    for count in more {
        let same = |known: &&mut Count| {
            known.kind == count.kind && known.pmu == count.pmu && known.group == count.group
        };
        match sum.iter_mut().find(same) {
            Some(known) => known.tally = known.tally.plus(&count.tally),
            None => sum.push(count.clone()),
        }
    }
}
