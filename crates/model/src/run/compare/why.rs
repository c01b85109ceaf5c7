//! Why a policy has no answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::units::Unit;
use crate::text::number::{quantity, whole};

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
    /// No round was complete.
    NoRound,
    /// The arm was left out before it ran.
    LeftOut {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |value: f64| quantity(&Unit::Bytes, value);
        match self {
            Self::AsMuchHuge {
                bytes: [there, here],
                faults,
            } => write!(
                f,
                "as much was huge under both ({} and {}); {} against {} minor faults",
                bytes(*here),
                bytes(*there),
                whole(faults[1]),
                whole(faults[0])
            ),
            Self::NothingHuge { faults } => write!(
                f,
                "no page was huge under either; {} against {} minor faults",
                whole(faults[1]),
                whole(faults[0])
            ),
            Self::ReadBackDiffers { detail } => write!(f, "the policy was not in force: {detail}"),
            Self::ProgramRefuses { act } => f.write_str(act),
            Self::EveryTrialFailed { first } => write!(f, "every trial failed, the first: {first}"),
            Self::NotMeasured { reason } | Self::LeftOut { reason } => f.write_str(reason),
            Self::NoDirection => f.write_str("the metric has no better direction; choose another"),
            Self::ByMechanism { control } => {
                write!(
                    f,
                    "what the mechanism alone costs ({control}) hides what huge pages do"
                )
            }
            Self::NoRound => f.write_str("no complete round"),
        }
    }
}
