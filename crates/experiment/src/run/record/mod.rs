//! The record: one line of JSON per event, appended and flushed as it happens.
//!
//! A record is the header, then a line per trial, then the end. Reports are functions of a record. If a crash or a full
//! disk cut it off, it is still a valid record of its trials. docs/reference/format-record.md describes every field.

use std::collections::{BTreeMap, BTreeSet};

mod cold;
mod continuation;
mod inside;
mod mechanism;
mod program;
mod read;
mod redact;
mod removal;
mod write;

pub use cold::{COLD_REST, FIRST_WAIT, IdleRun};
pub use continuation::Continuation;
pub use inside::{Inside, live_realisations};
pub use mechanism::ChangeOfMeans;
pub use read::parse;
pub use redact::{Private, Removed, redact};
pub use removal::{Removal, RemovalReason, by_our_means};
pub use write::to_line;

use serde::{Deserialize, Serialize};

use crate::base::host::Host;
use crate::base::verification::Verification;
use crate::run::plan::Plan;
use crate::run::plan::arguments::{among, in_line};
use crate::run::policy::realise::Realisation;
use crate::run::trial::{Role, Trial};

/// One experiment, complete or partial.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The plan, and the machine.
    pub header: Header,
    /// The trials of the rounds, for comparison.
    pub trials: Vec<Trial>,
    /// The trials of [`Role::Cold`], which take part in no comparison.
    pub cold: Vec<Trial>,
    /// Dropped policies. One that cannot act is no longer in the plan; its trials stay.
    pub removals: Vec<Removal>,
    /// Policies that changed their mechanism. The header has the last one of each.
    pub changes_of_means: Vec<ChangeOfMeans>,
    /// Rounds added later. The bounds of the plan are those of the last continuation.
    pub continuations: Vec<Continuation>,
    /// The experiment inside the servers, if their pages were switched under load: its trials are periods.
    pub inside: Option<Box<Self>>,
    /// How it ended; `None` if the record was cut off.
    pub end: Option<End>,
    /// Notes on the state of the file, for example that its last line was torn.
    pub warnings: Vec<String>,
}

impl Record {
    /// Returns the maximum over trials of the memory in the largest process that could become huge, in bytes: whole
    /// aligned huge pages of its mappings. `None` if no trial read it.
    #[must_use]
    pub fn room_bytes(&self) -> Option<u64> {
        let trees = self
            .trials
            .iter()
            .filter_map(|it| it.read_back.tree.as_ref());
        let advice = trees.filter_map(|tree| tree.largest.advice);
        advice.filter_map(|advice| advice.room_bytes).max()
    }

    /// Returns true if no huge page fits into the program: neither into its resident memory, nor into its mappings. A
    /// program that touches little of a large mapping has room for many.
    #[must_use]
    pub fn holds_no_huge_page(&self, peak_bytes: f64, huge_page_bytes: u64) -> bool {
        let has_room = self.room_bytes().is_none_or(|room| room >= huge_page_bytes);
        peak_bytes < huge_page_bytes as f64 && !has_room
    }

    /// A record with only a header.
    #[must_use]
    pub fn begin(header: Header) -> Self {
        Self {
            header,
            trials: Vec::new(),
            cold: Vec::new(),
            removals: Vec::new(),
            changes_of_means: Vec::new(),
            continuations: Vec::new(),
            inside: None,
            end: None,
            warnings: Vec::new(),
        }
    }

    /// Returns true if a policy still runs in a round.
    #[must_use]
    pub fn is_run(&self, policy: &str, round: u32) -> bool {
        self.removals_at(round).all(|it| it.policy != policy)
    }

    /// The removals effective in a round. A continuation restarts the question about every policy that can act.
    pub fn removals_at(&self, round: u32) -> impl Iterator<Item = &Removal> {
        let lifted = move |it: &Removal| {
            let later = |next: &Continuation| (it.round..=round).contains(&next.round);
            it.why.is_about_time() && self.continuations.iter().any(later)
        };
        let removals = self.removals.iter();
        removals.filter(move |it| it.round <= round && !lifted(it))
    }

    /// Number of [compared rounds](Self::whole_rounds).
    #[must_use]
    pub fn compared_rounds(&self) -> u32 {
        u32::try_from(self.whole_rounds().len()).unwrap_or(u32::MAX)
    }

    /// The whole rounds in which both a policy and the baseline ran; for a single policy, its own rounds. The control
    /// may have a few more. An incomplete round takes part in no comparison.
    #[must_use]
    pub fn whole_rounds(&self) -> BTreeSet<u32> {
        let plan = &self.header.plan;
        let is_single = plan.policies.len() < 2;
        let mut rounds: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for trial in &self.trials {
            let (trials, is_compared) = rounds.entry(trial.round).or_default();
            *trials += usize::from(plan.policies.iter().any(|it| it.name == trial.policy));
            *is_compared |= is_single || trial.policy != plan.baseline;
        }
        let is_whole = |round: u32, trials: usize| trials >= self.fewest_trials(round);
        let compared = rounds.into_iter();
        let compared = compared.filter(|(round, (trials, it))| *it && is_whole(*round, *trials));
        compared.map(|(round, _)| round).collect()
    }

    /// The fewest trials of a comparable round: one of each running policy, and the control. A round planned with more
    /// is compared with those that ran: the missing ones do not depend on the policy.
    #[must_use]
    pub fn fewest_trials(&self, round: u32) -> usize {
        let plan = &self.header.plan;
        let policies = plan.policies.iter();
        let run = policies.filter(|policy| self.is_run(&policy.name, round));
        run.count() + plan.controls().len()
    }

    /// Number of trials in a whole round, including the control.
    #[must_use]
    pub fn slots(&self, round: u32) -> usize {
        let plan = &self.header.plan;
        plan.slots(round, |policy| self.is_run(policy, round)).len()
    }

    /// The number of the round after all started ones.
    #[must_use]
    pub fn next_round(&self) -> u32 {
        let rounds = self.trials.iter().map(|trial| trial.round + 1);
        rounds.max().unwrap_or(0)
    }

    /// Number of started rounds.
    #[must_use]
    pub fn rounds_run(&self) -> u32 {
        let rounds: BTreeSet<u32> = self.trials.iter().map(|trial| trial.round).collect();
        u32::try_from(rounds.len()).unwrap_or(u32::MAX)
    }

    /// Adds a trial to the list for its role.
    pub fn push(&mut self, trial: Trial) {
        match trial.role {
            Role::Arm | Role::Control => self.trials.push(trial),
            Role::Cold => self.cold.push(trial),
        }
    }

    /// Adds a continuation.
    pub fn resume(&mut self, continuation: Continuation) {
        self.end = None;
        self.header.plan.bounds = continuation.bounds;
        self.continuations.push(continuation);
    }

    /// Drops a policy.
    pub fn remove(&mut self, removal: Removal) {
        // A policy that cannot act or run takes no part in the comparison.
        if !removal.why.is_about_time() {
            let policies = &mut self.header.plan.policies;
            policies.retain(|policy| policy.name != removal.policy);
        }
        self.removals.push(removal);
    }

    /// Switches a policy to another mechanism.
    pub fn change_means(&mut self, change: ChangeOfMeans) {
        let realisations = &mut self.header.realisations;
        realisations.insert(change.policy.clone(), change.realisation.clone());
        self.changes_of_means.push(change);
    }

    /// Number of marks of each kind on its trials.
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
    /// When it was started, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// The machine.
    pub host: Host,
    /// The experiment.
    pub plan: Plan,
    /// How each policy was reached, by its name.
    pub realisations: BTreeMap<String, Realisation>,
    /// The process that had changed settings and held them during the experiment, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_held_by: Option<String>,
    /// Bytes of the program's stdin, if each trial read all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_bytes: Option<u64>,
    /// Which TLB events are verified on this processor, if some are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

impl Header {
    /// Returns true if some policy, including a dropped one, puts arguments into the command. `{args}` is then a
    /// placeholder under all policies.
    #[must_use]
    pub fn fills_arguments(&self) -> bool {
        let mut realisations = self.realisations.values();
        realisations.any(|it| !it.arguments.is_empty())
    }

    /// The command under a policy with these arguments; a shell line stays one.
    #[must_use]
    pub fn command_with(&self, arguments: &[String]) -> Vec<String> {
        let command = &self.plan.command;
        match (self.fills_arguments(), self.plan.shell) {
            (false, _) => command.clone(),
            (true, false) => among(command, arguments),
            (true, true) => {
                let lines = command.iter();
                let filled = lines.map(|line| in_line(line, arguments).ok());
                let filled: Option<Vec<String>> = filled.collect();
                filled.unwrap_or_else(|| command.clone())
            }
        }
    }
}

/// The last line, or the last before rounds were added.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Why no further round was run.
    pub reason: StopReason,
    /// When, in milliseconds since 1970 (UTC).
    pub ended_unix_ms: u64,
    /// Settings that could not be restored, or that others had changed in the meantime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
}

/// Why an experiment ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every policy has its verdict.
    Decided,
    /// Every policy has its verdict, or has none within reach.
    OutOfReach,
    /// The program is smaller than any huge page that the policies could give it, and there are no other policies.
    TooSmall,
    /// The interval is as narrow as requested.
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
    /// A single policy, measured as often as requested.
    Measured,
    /// The running process with switched memory ended.
    ProcessEnded,
    /// A condition of `--guard` became true.
    Guarded,
    /// Free memory ran short, so no more was made huge.
    MemoryShort,
}

/// The start of a record's first line.
const BEGIN: &[u8] = b"{\"format\":";

/// Splits the bytes of concatenated files into records, as for a page of two records.
#[must_use]
pub fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match records.last_mut() {
            Some(record) if !line.starts_with(BEGIN) => record.extend(line),
            _ => records.push(line.to_vec()),
        }
    }
    records
}

/// A line of the file. The header begins with its format, others with `line`.
///
/// [`parse`] reads it.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "line")]
#[expect(clippy::large_enum_variant, reason = "one of each is alive at a time")]
pub enum Line {
    /// The first.
    Header(Header),
    /// One per trial.
    Trial(Trial),
    /// One per dropped policy.
    Drop(Removal),
    /// One per policy that changes its mechanism.
    Means(ChangeOfMeans),
    /// Rounds are added.
    Continue(Continuation),
    /// The experiment inside the servers begins.
    Inside(Inside),
    /// One per period of that experiment.
    Period(Trial),
    /// The last.
    End(End),
}
