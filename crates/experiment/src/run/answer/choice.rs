//! The settings to choose, and how to apply them.

use serde::Serialize;

use super::ClaimId;
use crate::run::compare::Preference;

/// The policy to use.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Choice {
    /// The arm; `None` if it is undecided, so that the baseline stays for now.
    pub arm: Option<String>,
    /// The runs for which it is chosen.
    pub scope: ChoiceScope,
    /// The scope of its changes.
    pub mechanism: Mechanism,
    /// The commands that set it, in order. Empty if there is nothing to set.
    pub commands: Vec<Command>,
    /// Steps without a command.
    pub steps: Vec<ManualStep>,
    /// System-wide settings that the baseline also used: conditions of the experiment, not its result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Command>,
    /// Claims about metrics that it makes worse.
    pub prices: Vec<ClaimId>,
    /// Policies not shown to differ from it.
    pub ties: Vec<Tie>,
    /// Why it is preferred to these.
    pub preference: Option<Preference>,
}

/// The runs for which a choice is made.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceScope {
    /// All runs.
    AnyRun,
    /// Runs that follow each other within this many seconds.
    BackToBack(u64),
}

/// The scope of a policy's changes.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Nothing.
    Nothing,
    /// The program: its environment, its arguments, a switch of the process.
    Program,
    /// The program, by a library loaded into it.
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
    /// True if it needs root.
    pub as_root: bool,
    /// True if it changes the whole machine.
    pub machine_wide: bool,
}

/// A step without a command.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ManualStep {
    /// A call that the parent makes before exec.
    Call(String),
    /// Limits of a cgroup, as `MemoryMax=1G`.
    CgroupLimits(Vec<String>),
    /// A prefix, as `numactl --membind 0`.
    Prefix(String),
    /// A command that root runs, for all programs: `mount -o remount,huge=always /dev/shm`.
    Mount(String),
    /// Words to add to the arguments of the program.
    Arguments(String),
}

/// A policy not shown to differ from the chosen one.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Tie {
    /// The policy.
    pub arm: String,
    /// The claim that compares the two.
    pub claim: ClaimId,
}
