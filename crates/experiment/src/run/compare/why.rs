//! Why a policy has no answer.

use serde::{Deserialize, Serialize};

/// Why an arm has no answer.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Why {
    /// As much was huge under both.
    AsMuchHuge {
        /// Bytes that were huge under the baseline and under the arm.
        bytes: [f64; 2],
        /// Minor faults under both.
        faults: [f64; 2],
    },
    /// No page was huge under either.
    NothingHuge {
        /// Minor faults under the baseline and under the arm.
        faults: [f64; 2],
    },
    /// What was read back differs from what was set.
    ReadBackDiffers {
        /// What was set and what was found.
        detail: String,
    },
    /// The program kept huge pages from its own memory.
    ProgramRefuses {
        /// What it did.
        act: String,
    },
    /// Every trial failed.
    EveryTrialFailed {
        /// How the first one failed.
        first: String,
    },
    /// The metric was not measured.
    NotMeasured {
        /// Why.
        reason: String,
    },
    /// Neither direction of the metric is better.
    NoDirection,
    /// The mechanism may explain the loss: its overhead control lost as much.
    ByMechanism {
        /// The overhead control.
        control: String,
    },
    /// The metric leaves out the memory that the arm has in a hugetlb pool.
    PoolLeftOut {
        /// Bytes of the pool in use.
        bytes: f64,
    },
    /// A cell of a bench has the same pages under both.
    SameInCell,
    /// No round was complete.
    NoRound,
    /// The arm was left out before it ran.
    LeftOut {
        /// Why.
        reason: String,
    },
}
