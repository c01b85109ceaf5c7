//! What to set, and how.

use serde::Serialize;

use super::ClaimId;
use crate::run::compare::Preference;

/// The policy to use.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Choice {
    /// The arm; `None` when it is not decided, so that the baseline stays for now.
    pub arm: Option<String>,
    /// The runs that it is for.
    pub scope: ChoiceScope,
    /// What it changes.
    pub mechanism: Mechanism,
    /// The commands that set it, in order. Empty when there is nothing to set.
    pub commands: Vec<Command>,
    /// What no command does.
    pub steps: Vec<ManualStep>,
    /// Settings of the machine that the baseline had too: conditions of the experiment, not its result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Command>,
    /// Claims of what it makes worse.
    pub prices: Vec<ClaimId>,
    /// Policies that were not shown to differ from it.
    pub ties: Vec<Tie>,
    /// Why it is preferred to these.
    pub preference: Option<Preference>,
}

/// The runs that a choice is for.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceScope {
    /// All runs.
    AnyRun,
    /// Runs that follow each other within this many seconds.
    BackToBack(u64),
}

/// What a policy changes.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Nothing.
    Nothing,
    /// The program: its environment, its arguments, a switch of the process.
    Program,
    /// The program, by a library that is loaded into it.
    Preload,
    /// The program, by a tracer that stops it.
    Tracer,
    /// Memory in use, whose pages are switched from outside.
    Switch,
    /// The start of the program, in a way that whole runs choose.
    Start,
    /// Settings of the machine.
    Machine,
}

/// A command line that can be pasted into a shell.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Command {
    /// The line, quoted.
    pub line: String,
    /// Returns true when it needs root.
    pub as_root: bool,
    /// Returns true when it changes the whole machine.
    pub machine_wide: bool,
}

/// A step that no command does.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ManualStep {
    /// A call that the parent makes before exec.
    Call(String),
    /// Limits of a cgroup, as `MemoryMax=1G`.
    CgroupLimits(Vec<String>),
    /// A prefix, as `numactl --membind 0`.
    Prefix(String),
    /// Words among the arguments of the program.
    Arguments(String),
}

/// A policy that was not shown to differ from the chosen one.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Tie {
    /// The policy.
    pub arm: String,
    /// The claim that compares the two.
    pub claim: ClaimId,
}
