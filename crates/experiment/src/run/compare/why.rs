//! Why a policy has no answer.

use serde::{Deserialize, Serialize};

/// Why an arm has no answer.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Why {
    /// The same amount was huge under both.
    AsMuchHuge {
        /// Huge bytes under the baseline and under the arm.
        bytes: [f64; 2],
        /// Minor faults under both.
        faults: [f64; 2],
    },
    /// No page was huge under either.
    NothingHuge {
        /// Minor faults under the baseline and under the arm.
        faults: [f64; 2],
    },
    /// The value read back differs from the value set.
    ReadBackDiffers {
        /// The value set and the value found.
        detail: String,
    },
    /// The program kept huge pages from its memory.
    ProgramRefuses {
        /// The program's action.
        act: String,
    },
    /// Every trial failed.
    EveryTrialFailed {
        /// The failure of the first one.
        first: String,
    },
    /// The metric was not measured.
    NotMeasured {
        /// Why.
        reason: String,
    },
    /// The metric has no better direction.
    NoDirection,
    /// The mechanism may explain the loss: its overhead control lost as much.
    ByMechanism {
        /// The overhead control.
        control: String,
    },
    /// The metric excludes the memory that the arm has in a hugetlb pool.
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
