//! Policies that are dropped while an experiment runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A policy that is not run any more.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// The first round without it.
    pub round: u32,
    /// Name of the policy.
    pub policy: String,
    /// Why.
    pub why: RemovalReason,
}

/// Why a policy is dropped.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// Nothing that it sets can act on this program, as a sentence says.
    CannotAct(String),
    /// It has its answer.
    Decided,
    /// The rounds that are left would not decide it, if they go on as the others did.
    OutOfReach,
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            RemovalReason::CannotAct(why) => write!(f, "{} cannot act: {why}", self.policy),
            RemovalReason::Decided => write!(f, "{} is decided", self.policy),
            RemovalReason::OutOfReach => {
                write!(f, "{}: the rounds left would not decide it", self.policy)
            }
        }
    }
}
