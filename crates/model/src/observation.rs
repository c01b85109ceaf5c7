//! What was seen: one [`Trial`](crate::observation::Trial) per run of the workload, with its readings.
//!
//! A reading has a value or a reason why there is none. There is no zero for "unknown".

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::ThpDisable;
use crate::latency::distribution::Distribution;
use crate::quantity::bytes_text;
use crate::reader::Pacing;
use crate::stats::{Sample, median};
use crate::timeline::Timeline;

/// One workload under one policy in one round.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Number of the trial in the order in which trials ran, from 0.
    pub index: u32,
    /// Number of the round, from 0.
    pub round: u32,
    /// Name of the policy.
    pub policy: String,
    /// Whether this trial is the second, unlabelled run of the baseline.
    pub role: Role,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// How the workload ended.
    pub outcome: Outcome,
    /// The end of what the workload wrote to stderr, kept when it failed; of a trial with a
    /// service, what the outcome names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
    /// One entry per metric of the table that this trial was asked for.
    pub readings: BTreeMap<String, Reading>,
    /// The policy as the kernel showed it while the workload ran.
    pub read_back: ReadBack,
    /// What spoilt this trial; a marked trial is reported, never dropped in silence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Whether requests waited for each other, as the source of `--latency` shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The trial second by second, where the workload is a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

impl Trial {
    /// The value of one metric, where it was read as a single number.
    #[must_use]
    pub fn value(&self, metric: &str) -> Option<f64> {
        match self.readings.get(metric) {
            Some(Reading::Value { value }) => Some(*value),
            _ => None,
        }
    }

    /// Whether the workload ended as it should.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self.outcome, Outcome::Exited { code: 0 })
    }
}

/// What a trial stands for in its round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A policy that is tried.
    Arm,
    /// The second run of the baseline: the A/A control.
    Control,
}

/// How the workload ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Outcome {
    /// It exited by itself.
    Exited {
        /// Exit status, 0 to 255.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// Number of the signal.
        signal: i32,
    },
    /// It ran into `--timeout` and its tree was killed.
    TimedOut,
    /// It never started.
    NotStarted {
        /// Why, as the kernel said it.
        error: String,
    },
    /// A preparing or concluding command failed.
    HookFailed {
        /// Which one, and how it ended.
        error: String,
    },
    /// A trial with a service came to nothing.
    ServiceFailed {
        /// Whose fault it was, and whose last words are kept.
        party: Party,
        /// What happened, as a sentence.
        error: String,
    },
}

/// Who takes part in a trial with a service.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// The server.
    Service,
    /// What loads it.
    Load,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit status {code}"),
            Self::Signalled { signal } => write!(f, "killed by signal {signal}"),
            Self::TimedOut => write!(f, "timed out, its process tree was killed"),
            Self::NotStarted { error } => write!(f, "could not be started: {error}"),
            Self::HookFailed { error } | Self::ServiceFailed { error, .. } => {
                write!(f, "{error}")
            }
        }
    }
}

/// One value of one metric in one trial, or the reason why there is none.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Reading {
    /// One number, in the unit of its metric.
    Value {
        /// The number.
        value: f64,
    },
    /// Many numbers of one trial, in the order in which the workload printed them; never empty.
    Values {
        /// The numbers.
        values: Vec<f64>,
    },
    /// So many numbers that they are counted: durations of requests, whose metric is in seconds.
    Histogram {
        /// The counts.
        histogram: Distribution,
    },
    /// Not measured.
    Missing {
        /// Why.
        missing: Missing,
    },
}

impl Reading {
    /// A reading of one number.
    #[must_use]
    pub fn of(value: f64) -> Self {
        Self::Value { value }
    }

    /// The number, or the middle of several.
    ///
    /// # Errors
    /// Why there is none.
    pub fn middle(&self) -> Result<f64, Missing> {
        let middle = match self {
            Self::Value { value } => Some(*value),
            Self::Values { values } => median(values),
            Self::Histogram { histogram } => Sample::Counted(histogram).middle(),
            Self::Missing { missing } => return Err(missing.clone()),
        };
        middle.ok_or(Missing::NotPrinted)
    }

    /// A reading that could not be taken.
    #[must_use]
    pub fn missing(missing: Missing) -> Self {
        Self::Missing { missing }
    }
}

impl From<Result<f64, Missing>> for Reading {
    fn from(result: Result<f64, Missing>) -> Self {
        match result {
            Ok(value) => Self::of(value),
            Err(missing) => Self::missing(missing),
        }
    }
}

/// Why something was not measured. Each reason knows the least grant that would help.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Missing {
    /// The kernel refused; `grant` is the least privilege that would help.
    NotPermitted {
        /// What to grant, for example `root` or `CAP_SYS_ADMIN`.
        grant: String,
    },
    /// This kernel or machine does not have it.
    NotSupported {
        /// What is absent, for example `/proc/pagemap ioctl PAGEMAP_SCAN (Linux 6.7)`.
        what: String,
    },
    /// There are no hardware counters here.
    NoHardware,
    /// The counter was opened and never ran: others hold the hardware's counters.
    NeverScheduled,
    /// There are fewer counters than events: this one's turn came in other rounds, or never.
    NotItsTurn,
    /// The workload ended before it could be read.
    TooShort,
    /// The kernel said something that could not be understood.
    Unreadable {
        /// Path, line and field.
        error: String,
    },
    /// The value is not larger than what the measuring itself leaves there.
    BelowFloor {
        /// The floor, in bytes: sizes alone have one.
        floor: u64,
    },
    /// The workload printed nothing that matches.
    NotPrinted,
    /// It happened, and is known to nobody for the time that was observed.
    NotCounted {
        /// What stands in the way.
        obstacle: String,
    },
    /// The user switched it off, or the experiment did not need it.
    NotAsked,
    /// The trial failed, so that its readings mean nothing.
    TrialFailed,
    /// The experiment ended before the first trial of the policy did. Reports alone say it: in a
    /// record there is no trial that could.
    NotRun,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { grant } => write!(f, "not permitted; needs {grant}"),
            Self::NotSupported { what } => write!(f, "not on this machine: {what}"),
            Self::NoHardware => write!(f, "this machine has no hardware counters"),
            Self::NeverScheduled => write!(f, "other programs held the hardware's counters"),
            Self::NotItsTurn => write!(f, "its turn at the few counters did not come"),
            Self::TooShort => write!(f, "the workload ended before it could be read"),
            Self::Unreadable { error } => write!(f, "unreadable: {error}"),
            Self::BelowFloor { floor } => {
                let floor = bytes_text(*floor);
                write!(f, "not larger than what measuring itself takes ({floor})")
            }
            Self::NotPrinted => write!(f, "the workload printed nothing that matches"),
            Self::NotCounted { obstacle } => write!(f, "not counted: {obstacle}"),
            Self::NotAsked => write!(f, "not asked for"),
            Self::TrialFailed => write!(f, "the trial failed"),
            Self::NotRun => write!(f, "no trial of it was run"),
        }
    }
}

/// The policy as the kernel showed it while the workload ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The THP files that any policy of the experiment writes, as read while the workload ran:
    /// path relative to the root of the machine, and the value in force.
    pub files: BTreeMap<String, String>,
    /// `PR_GET_THP_DISABLE` in the workload's process just before it became the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp_disable: Option<ThpDisable>,
    /// Allocator library that the workload had mapped, when the policy asked for one:
    /// `Some(path)` when found, an empty string when it was looked for and not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// What runtimes said of their settings when they were asked before the trial, by key
    /// (`java.UseLargePages`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtimes: BTreeMap<String, String>,
}

/// What spoilt a trial.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case", tag = "hazard")]
pub enum Mark {
    /// A setting was changed by somebody else while the trial ran.
    SettingDrifted {
        /// The file, relative to the root of the machine.
        path: String,
        /// What it should have said.
        expected: String,
        /// What it said.
        found: String,
    },
    /// Other programs used more than a tenth of the machine's processors.
    OtherLoad {
        /// Share of the processors' time, in thousandths.
        permille: u32,
    },
    /// The hypervisor took more than 1 % of the machine's time away.
    Steal {
        /// Share of the processors' time, in thousandths.
        permille: u32,
    },
    /// Few free huge blocks were left at the beginning of the trial.
    Fragmented {
        /// Free blocks of at least the huge-page size, in huge pages.
        free_huge_pages: u64,
    },
    /// Pages came from disk in this trial: its page cache was cold.
    ColdCache {
        /// Major faults.
        major_faults: u64,
    },
    /// Memory was swapped in or out while the trial ran.
    Swapped {
        /// Pages in and out.
        pages: u64,
    },
    /// The policy did not take: what was read back is not what was asked for.
    NotApplied {
        /// What was asked for and what was found.
        detail: String,
    },
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SettingDrifted {
                path,
                expected,
                found,
            } => {
                write!(
                    f,
                    "{path} was changed by somebody else: {expected} became {found}"
                )
            }
            Self::OtherLoad { permille } => {
                write!(
                    f,
                    "other programs used {:.1} % of the machine",
                    f64::from(*permille) / 10.0
                )
            }
            Self::Steal { permille } => {
                write!(
                    f,
                    "the hypervisor took {:.1} % of the time",
                    f64::from(*permille) / 10.0
                )
            }
            Self::Fragmented { free_huge_pages } => {
                write!(
                    f,
                    "only {free_huge_pages} huge pages were free at the start"
                )
            }
            Self::ColdCache { major_faults } => {
                write!(f, "{major_faults} pages came from disk")
            }
            Self::Swapped { pages } => write!(f, "{pages} pages were swapped"),
            Self::NotApplied { detail } => write!(f, "the policy did not take: {detail}"),
        }
    }
}
