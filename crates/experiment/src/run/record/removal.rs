//! Policies dropped while an experiment runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run::policy::Policy;
use crate::run::trial::Clash;

/// A policy that no longer runs.
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

impl Removal {
    /// Returns true for an overhead control, which is dropped with its policy: users do not request it.
    #[must_use]
    pub fn is_of_an_overhead_control(&self) -> bool {
        let policy = self.policy.parse::<Policy>();
        policy.is_ok_and(|it| it.is_set_as_an_overhead_control())
    }

    /// Returns true if another policy is equally informative.
    #[must_use]
    pub fn tells_no_more(&self) -> bool {
        matches!(self.why, RemovalReason::TellsNoMore(_))
    }
}

/// Why a policy is dropped.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// None of its settings can act on this program, explained in a sentence.
    CannotAct(String),
    /// The command fails under it, but not under the baseline, explained in a sentence.
    Fails(String),
    /// The command fails because of the policy's mechanism, explained in a sentence; unrelated to huge pages.
    OurMeans {
        /// The failure.
        how: String,
        /// The conflict.
        clash: Clash,
    },
    /// Another policy is equally informative about huge pages and costs less, explained in a sentence.
    TellsNoMore(String),
    /// It asks for huge pages through malloc, and made none in its rounds.
    NoHugePage,
    /// It has its answer.
    Decided,
    /// The remaining rounds would not decide it, if they continue like the others.
    OutOfReach,
}

impl RemovalReason {
    /// Returns true if it is only not worth more time: its measurements count.
    #[must_use]
    pub fn is_about_time(&self) -> bool {
        match self {
            Self::NoHugePage | Self::Decided | Self::OutOfReach => true,
            Self::CannotAct(_) | Self::Fails(_) | Self::OurMeans { .. } | Self::TellsNoMore(_) => {
                false
            }
        }
    }
}

/// Returns the reason in words.
#[must_use]
pub fn by_our_means(how: &str, clash: Clash) -> String {
    format!("the mechanism, not huge pages, breaks the command ({how}): {clash}")
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            RemovalReason::CannotAct(why) => write!(f, "{} cannot act: {why}", self.policy),
            RemovalReason::Fails(how) => {
                write!(f, "the command fails under {}: {how}", self.policy)
            }
            RemovalReason::OurMeans { how, clash } => {
                write!(f, "{}: {}", self.policy, by_our_means(how, *clash))
            }
            RemovalReason::TellsNoMore(why) => write!(f, "{}: {why}", self.policy),
            RemovalReason::NoHugePage => write!(f, "{} made no page huge", self.policy),
            RemovalReason::Decided => write!(f, "{} had enough rounds", self.policy),
            RemovalReason::OutOfReach => {
                write!(f, "{}: the rounds left would not decide it", self.policy)
            }
        }
    }
}
