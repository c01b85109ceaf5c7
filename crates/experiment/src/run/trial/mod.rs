//! The observations: one [`Trial`](crate::run::trial::Trial) per run of the workload, with its readings.
//!
//! A reading has a value or the reason for its absence. Zero never means "unknown".
//!
//! To add a program with a setting that switches huge pages off, add a row to `self_disabled_thp.rs`; for a variable,
//! add one to `off_switch.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

mod first_touch;
mod huge_memory;
mod mapped_site;
mod mark;
mod off_switch;
mod process_tree;
mod read_back;
mod reading;
pub mod readings;
mod requests;
mod self_disabled_thp;
pub mod timeline;
mod tracing;

pub use first_touch::{FirstTouch, TouchPrice};
pub use huge_memory::{A_GOOD_PART, huge_memory};
pub use mapped_site::{Frame, MappedSite, SiteMemory};
pub use mark::Mark;
pub(crate) use off_switch::is_off;
pub use off_switch::{OFF_VARIABLES, off_remedy};
pub use process_tree::{Advice, Process, ProcessTree};
pub use read_back::{CachedFiles, MemoryLimits, ReadBack, TrialCgroup};
pub use reading::Reading;
pub use readings::Readings;
pub use requests::{Pacing, RequestInterval, Timed, Times};
pub use self_disabled_thp::{OwnAct, remedy};
pub use tracing::{Clash, Collapsing, Tracing};

use timeline::Timeline;

/// One workload under one policy in one round.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Number of the trial in execution order, from 0.
    pub index: u32,
    /// Number of the round, from 0.
    pub round: u32,
    /// Name of the policy.
    pub policy: String,
    /// The role; marks the second, unlabelled run of the baseline.
    pub role: Role,
    /// Number of the start of its server, from 0, if several trials load one server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u32>,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// How the workload ended.
    pub outcome: Outcome,
    /// True if an exit status other than 0 counts as success (`--ignore-failure`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failure_ignored: bool,
    /// Number of processes that were still running when the command ended, and were killed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outlived: u32,
    /// The end of the workload's stderr, kept if it failed; for a trial with a service, that of the party in the
    /// outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
    /// One entry per requested metric of the table.
    pub readings: Readings,
    /// The policy as shown by the kernel while the workload ran.
    pub read_back: ReadBack,
    /// Disturbances of this trial; a marked trial is always reported, never silently dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Did requests wait for each other? From the source of `--latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The trial second by second, if the workload is a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// The memory touched before it, if free memory was warmed or the trial began after a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_touch: Option<FirstTouch>,
}

impl Trial {
    /// The value of one metric, if it was read as a single number.
    #[must_use]
    pub fn value(&self, metric: impl AsRef<str>) -> Option<f64> {
        match self.readings.get(metric.as_ref()) {
            Some(Reading::Value { value }) => Some(*value),
            _ => None,
        }
    }

    /// Returns true if the workload ended successfully.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        match self.outcome {
            Outcome::Exited { code } => code == 0 || self.failure_ignored,
            _ => false,
        }
    }

    /// Returns true if its policy was observed not to be applied.
    #[must_use]
    pub fn lacked_its_policy(&self) -> bool {
        let mut marks = self.marks.iter();
        marks.any(|mark| matches!(mark, Mark::NotApplied { .. }))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// The role of a trial in its round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A policy under test.
    Arm,
    /// The second run of the baseline: the A/A control.
    Control,
    /// A run after a pause, on memory that the hypervisor has taken back. It takes part in no comparison.
    Cold,
}

/// How the workload ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Outcome {
    /// It exited on its own.
    Exited {
        /// Exit status, 0 to 255.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// Number of the signal.
        signal: i32,
    },
    /// It exceeded `--timeout` and its tree was killed.
    TimedOut,
    /// It never started.
    NotStarted {
        /// The kernel's error.
        error: String,
    },
    /// A command before or after the trial failed.
    HookFailed {
        /// The command, and how it ended.
        error: String,
    },
    /// A trial with a service failed.
    ServiceFailed {
        /// The party at fault, whose last output is kept.
        party: Party,
        /// The failure, as a sentence.
        error: String,
    },
    /// More requests failed than were answered, according to the source of `--latency`, or none was answered.
    RequestsFailed {
        /// How many failed.
        failed: u64,
        /// How many were sent; 0 if the source does not report it.
        sent: u64,
    },
}

impl Outcome {
    /// Returns true if a system-call filter (seccomp) killed it.
    #[must_use]
    pub fn is_by_a_filter(&self) -> bool {
        const SIGSYS: i32 = 31;
        *self == Self::Signalled { signal: SIGSYS }
    }
}

/// The parties of a trial with a service.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// The server.
    Service,
    /// The load generator.
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
            Self::RequestsFailed { failed: 0, .. } => write!(f, "no request was answered"),
            Self::RequestsFailed { failed, sent } => {
                write!(f, "{failed} of {sent} requests failed")
            }
        }
    }
}
