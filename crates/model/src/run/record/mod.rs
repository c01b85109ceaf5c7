//! What is kept: one line of JSON per event, appended and flushed as it happens.
//!
//! A record is the header, then a line per trial, then the end. Reports are functions of a
//! record; a record that was cut off by a crash or a full disk is still a record of the trials
//! that it holds. FORMAT.md describes every field.

use std::collections::{BTreeMap, BTreeSet};

mod cold;
mod read;
mod removal;
mod write;

pub use cold::COLD_REST;
pub use read::parse;
pub use removal::{Removal, RemovalReason};
pub use write::to_line;

use serde::{Deserialize, Serialize};

use crate::base::host::Host;
use crate::run::plan::Plan;
use crate::run::policy::realise::Realisation;
use crate::run::trial::{Role, Trial};

/// One experiment, whole or as far as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was going to be done, and where.
    pub header: Header,
    /// The trials of the rounds, which are compared.
    pub trials: Vec<Trial>,
    /// The trials of [`Role::Cold`], which are in no comparison.
    pub cold: Vec<Trial>,
    /// Policies that were dropped. One that cannot act is no longer in the plan; its trials stay.
    pub removals: Vec<Removal>,
    /// How it ended; `None` when the record was cut off.
    pub end: Option<End>,
    /// What a reader should know about the state of the file, for example that its last line
    /// was torn.
    pub warnings: Vec<String>,
}

impl Record {
    /// A record that holds nothing but its header.
    #[must_use]
    pub fn begin(header: Header) -> Self {
        Self {
            header,
            trials: Vec::new(),
            cold: Vec::new(),
            removals: Vec::new(),
            end: None,
            warnings: Vec::new(),
        }
    }

    /// Whether a policy still runs in a round.
    #[must_use]
    pub fn is_run(&self, policy: &str, round: u32) -> bool {
        let dropped = |removal: &Removal| removal.policy == policy && removal.round <= round;
        !self.removals.iter().any(dropped)
    }

    /// How many trials a whole round has, the control among them.
    #[must_use]
    pub fn slots(&self, round: u32) -> usize {
        let plan = &self.header.plan;
        let policies = plan.policies.iter();
        let run = policies.filter(|policy| self.is_run(&policy.name, round));
        run.count() + usize::from(plan.policies.len() > 1)
    }

    /// The number of the round after all that were begun.
    #[must_use]
    pub fn next_round(&self) -> u32 {
        let rounds = self.trials.iter().map(|trial| trial.round + 1);
        rounds.max().unwrap_or(0)
    }

    /// How many rounds were begun.
    #[must_use]
    pub fn rounds_run(&self) -> u32 {
        let rounds: BTreeSet<u32> = self.trials.iter().map(|trial| trial.round).collect();
        u32::try_from(rounds.len()).unwrap_or(u32::MAX)
    }

    /// Adds a trial where it belongs by its role.
    pub fn push(&mut self, trial: Trial) {
        match trial.role {
            Role::Arm | Role::Control => self.trials.push(trial),
            Role::Cold => self.cold.push(trial),
        }
    }

    /// Drops a policy.
    pub fn remove(&mut self, removal: Removal) {
        match removal.why {
            // What cannot act is no part of the comparison.
            RemovalReason::CannotAct(_) => {
                let policies = &mut self.header.plan.policies;
                policies.retain(|policy| policy.name != removal.policy);
            }
            RemovalReason::Decided | RemovalReason::OutOfReach => {}
        }
        self.removals.push(removal);
    }

    /// How many marks of each kind its trials carry.
    #[must_use]
    pub fn count_marks(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for mark in self.trials.iter().flat_map(|trial| &trial.marks) {
            *kinds.entry(mark.kind()).or_default() += 1;
        }
        kinds
    }
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name and version of the program that wrote it.
    pub program: String,
    /// The command line that made it.
    pub made_by: Vec<String>,
    /// When it was begun, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// The machine.
    pub host: Host,
    /// The experiment.
    pub plan: Plan,
    /// How each policy was reached, by its name.
    pub realisations: BTreeMap<String, Realisation>,
}

/// The last line.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Why no further round was run.
    pub reason: StopReason,
    /// When, in milliseconds since 1970 (UTC).
    pub ended_unix_ms: u64,
    /// Settings that could not be put back, or that somebody else had changed meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

/// Why an experiment ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every policy has its verdict.
    Decided,
    /// Every policy has its verdict, or none within reach.
    OutOfReach,
    /// The interval is as narrow as was asked for.
    Precise,
    /// `--max-rounds`.
    MaxRounds,
    /// `--max-time`.
    MaxTime,
    /// A signal.
    Interrupted,
    /// The workload failed in every trial of the first rounds.
    WorkloadFails,
    /// The metric of the verdict was measured in no trial of the first rounds.
    VerdictUnmeasured,
    /// A single policy, measured as often as was asked for.
    Measured,
}

/// A line of the file. The header begins with its format, others with `line`; reading is in
/// [`parse`].
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "line")]
#[expect(clippy::large_enum_variant, reason = "one of each is alive at a time")]
pub enum Line {
    /// The first.
    Header(Header),
    /// One per trial.
    Trial(Trial),
    /// One per policy that is dropped.
    Drop(Removal),
    /// The last.
    End(End),
}
