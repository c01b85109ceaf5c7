//! Observation of a running program or machine, interval by interval.
//!
//! A recording is one line of JSON each for a [`Header`](crate::stat::Header), every
//! [`Interval`](crate::stat::Interval), and a [`StatSummary`](crate::stat::StatSummary). The same functions render a
//! live observation and a replayed recording.
//!
//! *Counts* are hardware events, each with its scope and the running time of its counter. *Readings* come from kernel
//! counters, under the names of [`METRICS`](hugewise_experiment::run::metric::METRICS) if those exist. Ratios use
//! counts of one group only: the kernel schedules a group as a whole, so numerator and denominator cover the same time.
//!
//! To add a kind of event, add a line to `kind.rs`. To add a figure, add a line to `derive.rs`,
//! or a row to `reading.rs` and its reading to `linux::observe::stat::kernel`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::missing::Missing;
use hugewise_base::verification::{Standing, Verification};
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
    /// The first line.
    Header(Box<Header>),
    /// One interval.
    Interval(Interval),
    /// The last line; absent in a truncated recording.
    Summary(StatSummary),
}

/// The observed target, the machine, and the counters.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Header {
    /// Name and version of the program that wrote it.
    pub program: String,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub arch: String,
    /// The processor name in /proc/cpuinfo.
    pub cpu_model: String,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Size of a huge page, in bytes; `None` without transparent huge pages.
    pub huge_bytes: Option<u64>,
    /// The observed target.
    pub target: Target,
    /// Length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// The hardware counters, or why there are none.
    pub hardware: Hardware,
    /// The scope of each reading.
    pub scopes: BTreeMap<String, Scope>,
    /// Caveats for the reader.
    pub notes: Vec<String>,
}

/// The observed target.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Target {
    /// A command and all its descendants.
    Command {
        /// Its arguments.
        words: Vec<String>,
    },
    /// A process with its threads and descendants.
    Process {
        /// The PID.
        pid: u32,
        /// Its name.
        comm: String,
    },
    /// A cgroup with all its descendants.
    Cgroup {
        /// Its directory.
        path: String,
    },
    /// The whole machine.
    Machine,
}

/// The hardware counters.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Hardware {
    /// They are counting.
    Counting {
        /// The processor modes.
        mode: Mode,
        /// The event sources, and the table that each was looked up in.
        pmus: Vec<Pmu>,
        /// How long each group counts before the next group, in nanoseconds.
        turn_ns: u64,
        /// Requested events that cannot be counted.
        refused: Vec<Refused>,
        /// The scope of the page-walk cycles.
        walk_cycles: WalkCycles,
        /// Which TLB events are verified on this processor. A recording without it is of unverified events.
        #[serde(default)]
        verification: Verification,
    },
    /// They are not available.
    Missing {
        /// The reason.
        missing: Missing,
    },
}

/// The scope of the page-walk cycles on this machine.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum WalkCycles {
    /// Whole walks: an upper bound of the savings from cheaper walks.
    #[default]
    Whole,
    /// Only guest page tables. In a virtual machine this processor (Skylake) excludes the host's tables, so the count
    /// is no bound.
    WithoutNested,
}

impl Hardware {
    /// Returns why nothing is counted.
    #[must_use]
    pub fn missing(&self) -> Option<&Missing> {
        match self {
            Self::Counting { .. } => None,
            Self::Missing { missing } => Some(missing),
        }
    }

    /// The kinds of events that are counted.
    fn kinds(&self) -> impl Iterator<Item = &str> {
        let pmus = match self {
            Self::Counting { pmus, .. } => &pmus[..],
            Self::Missing { .. } => &[],
        };
        let groups = pmus.iter().flat_map(|pmu| &pmu.groups);
        groups.flatten().map(String::as_str)
    }

    /// The warning about TLB events that are not verified: a sentence without its full stop.
    #[must_use]
    pub fn unverified(&self) -> Option<String> {
        let Self::Counting { verification, .. } = self else {
            return None;
        };
        let general = [kind::CYCLES, kind::INSTRUCTIONS];
        verification.warning(self.kinds().filter(|kind| !general.contains(kind)))
    }

    /// The worst result of the verification among the counted kinds for which `is_used` returns true; `None` if there
    /// are none.
    #[must_use]
    pub fn standing(&self, is_used: impl Fn(&str) -> bool) -> Option<Standing> {
        let Self::Counting { verification, .. } = self else {
            return None;
        };
        let used = self.kinds().filter(|kind| is_used(kind));
        used.map(|kind| verification.of(kind)).max()
    }
}

/// The processor modes in which events are counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only user mode.
    User,
    /// Only kernel mode.
    Kernel,
    /// User and kernel mode.
    UserAndKernel,
    /// Virtual machines on this host.
    Guest,
}

impl Mode {
    /// The mode in words.
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
    /// The event table for the processor; `None` if no table covers it. Then only cycles and instructions are counted.
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

/// The events between two points in time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Interval {
    /// Its index, from 0.
    pub index: u64,
    /// Its start, in nanoseconds since the start of the observation.
    pub start_ns: u64,
    /// Its end, likewise.
    pub end_ns: u64,
    /// Hardware events.
    pub counts: Vec<Count>,
    /// Values from the kernel: the increase of counters, and the final state of other values.
    pub readings: BTreeMap<String, Reading>,
    /// Ratios of these values. They are written for other readers of the file, and recomputed at replay.
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

/// The count of one event in one group. Kind, source and group are the key; the mode is in the header.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Count {
    /// The kind of event.
    pub kind: String,
    /// The processor's name for the event.
    pub event: String,
    /// The event source.
    pub pmu: String,
    /// Number of the group within the source.
    pub group: u32,
    /// The count.
    #[serde(flatten)]
    pub tally: Tally,
}

/// The count of an event, or why it is unknown.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Tally {
    /// Counted while the counter ran; not extrapolated.
    Counted {
        /// The number of events.
        value: u64,
        /// How long the counter was enabled while the target ran, in nanoseconds, summed over threads or processors.
        enabled_ns: u64,
        /// How long it was on the hardware, in nanoseconds.
        running_ns: u64,
    },
    /// Not counted.
    Missing {
        /// The reason.
        missing: Missing,
    },
}

impl Tally {
    /// Returns the sum. It is missing if one side is missing, unless the group only had no counting time.
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

/// Adds counts to those with the same key.
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
