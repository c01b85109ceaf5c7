//! What to run next.

use serde::Serialize;

use super::{ClaimId, Command};

/// One next step.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Next {
    /// What it is for.
    pub step: NextStep,
    /// About how many minutes it takes.
    pub minutes: Option<u64>,
    /// The command; `None` when there is none to give.
    pub command: Option<Command>,
}

impl Next {
    /// Returns true for the command by which the experiment goes on.
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
    /// Runs after idle decide for whom a policy is.
    AfterIdle {
        /// The policy.
        arm: String,
    },
    /// More starts of the servers tell whether an effect holds beyond the processes that were measured.
    MoreStarts {
        /// The claim over starts.
        claim: ClaimId,
        /// Starts in all.
        starts: u32,
    },
    /// The experiment goes on where a signal ended it.
    Continue,
    /// Policies that were not tried, and what they need.
    TryPolicies {
        /// Their names.
        policies: Vec<String>,
        /// Returns true when nobody can set them here.
        impossible: bool,
    },
    /// A policy that may reach pages which no other one reached.
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
    /// The same malloc with small pages tells its huge pages from the rest.
    PagesAlone {
        /// The policy.
        arm: String,
    },
    /// The same on other host memory, when the effect depends on what ran before.
    OtherMemory {
        /// Idle seconds before each run; zero for back-to-back runs.
        idle_seconds: u64,
    },
    /// Judge by the usual run, when rare slow runs do not matter.
    JudgeTypical,
    /// The report in full.
    Verbose,
}

/// Why a policy may reach pages which no other one reached.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PageReach {
    /// All policies had as many huge pages; small pages are the contrast.
    SmallPages,
    /// Memory in use can be made huge while the program runs.
    Collapse,
    /// The machine's setting reaches all memory; a tracer reaches large mappings only.
    System,
    /// The allocator can ask for huge pages.
    Allocator,
    /// The program has a setting of its own.
    OwnSetting,
    /// The program switches huge pages off, and a setting leaves them on.
    LeavesOn,
}
