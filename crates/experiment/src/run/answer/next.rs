//! The next command to run.

use serde::Serialize;

use super::{ClaimId, Command};

/// One next step.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Next {
    /// Its purpose.
    pub step: NextStep,
    /// Its approximate duration in minutes.
    pub minutes: Option<u64>,
    /// The command; `None` if there is none.
    pub command: Option<Command>,
}

impl Next {
    /// Returns true for the command that continues the experiment.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(
            self.step,
            NextStep::Decide { .. } | NextStep::MoreStarts { .. } | NextStep::Continue
        )
    }
}

/// The purpose of a next step.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum NextStep {
    /// More rounds decide an open claim, if the effect stays near its estimate.
    Decide {
        /// The claim.
        claim: ClaimId,
    },
    /// Deciding would take more than an hour here.
    TooLong {
        /// The claim.
        claim: ClaimId,
    },
    /// Runs after idle decide for which users a policy is good.
    AfterIdle {
        /// The policy.
        arm: String,
    },
    /// More starts of the servers show whether an effect generalises beyond the measured processes.
    MoreStarts {
        /// The claim over starts.
        claim: ClaimId,
        /// Total number of starts.
        starts: u32,
    },
    /// The experiment continues after a signal ended it.
    Continue,
    /// Policies that were not tried, and their requirements.
    TryPolicies {
        /// Their names.
        policies: Vec<String>,
        /// True if they cannot be set here at all.
        impossible: bool,
    },
    /// A policy that may affect pages that no other one did.
    TryPolicy {
        /// The policy.
        policy: String,
        /// Why it may.
        because: PageReach,
    },
    /// The same policy without its tracer or library.
    WithoutMechanism {
        /// The policy.
        arm: String,
    },
    /// The same malloc with small pages isolates the effect of its huge pages.
    PagesAlone {
        /// The policy.
        arm: String,
    },
    /// The same on other host memory, if the effect depends on what ran before.
    OtherMemory {
        /// Idle seconds before each run; zero for back-to-back runs.
        idle_seconds: u64,
    },
    /// Judge by the typical run, if rare slow runs do not matter.
    JudgeTypical,
    /// The full report.
    Verbose,
}

/// Why a policy may affect pages that no other one did.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PageReach {
    /// All policies had equally many huge pages; small pages are the contrast.
    SmallPages,
    /// Memory in use can be made huge while the program runs.
    Collapse,
    /// The machine's setting reaches all memory; a tracer reaches large mappings only.
    System,
    /// The allocator can ask for huge pages.
    Allocator,
    /// The program has a setting for it.
    OwnSetting,
    /// The program disables huge pages, and a setting keeps them enabled.
    LeavesOn,
}
