//! What travels with the number of a comparison.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::base::missing::Missing;
use crate::run::stats::Quantile;
use crate::run::trial::{Mark, Outcome};

/// What is not in a comparison, or casts doubt on it. In JSON it is its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Rounds in which a trial failed are left out.
    FailedRounds {
        /// How many.
        rounds: u32,
        /// How the first of them failed.
        first: Outcome,
    },
    /// Failed trials of one of two records are left out.
    FailedTrials {
        /// How many.
        trials: u32,
    },
    /// It was not read at all.
    NotRead(Missing),
    /// Rounds in which it was not read are left out.
    UnreadRounds {
        /// How many.
        rounds: u32,
        /// Why, of the first.
        why: Missing,
    },
    /// Trials are marked, and stay in.
    Marked {
        /// How many.
        trials: u32,
        /// Of how many.
        of: usize,
        /// The first mark.
        first: Mark,
    },
    /// Rounds that were cut off are left out.
    CutOff {
        /// How many.
        rounds: u32,
    },
    /// Two records were made in different circumstances.
    Circumstances {
        /// Each as `field: before → after`.
        differences: Vec<String>,
    },
    /// A percentile needs more requests.
    TooFewRequests {
        /// Which.
        quantile: Quantile,
        /// How many under each policy.
        needed: u64,
        /// The fewest under a policy.
        measured: u64,
    },
    /// The values of the source lie far apart.
    Coarse {
        /// Of which percentile.
        quantile: Quantile,
        /// How far, as a share.
        share: f64,
    },
}

impl Warning {
    /// Returns the warning of records whose circumstances differ in these; none if they are alike.
    pub(super) fn of_circumstances(differences: &[String]) -> Vec<Self> {
        let warning = (!differences.is_empty()).then(|| Self::Circumstances {
            differences: differences.to_vec(),
        });
        warning.into_iter().collect()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailedRounds { rounds, first } => {
                write!(f, "{} left out: a trial failed ({first})", are(*rounds))
            }
            Self::FailedTrials { trials } => write!(f, "{trials} failed trials are left out"),
            Self::NotRead(why) => write!(f, "{why}"),
            Self::UnreadRounds { rounds, why } => write!(f, "{} left out: {why}", are(*rounds)),
            Self::Marked { trials, of, first } => {
                write!(f, "{trials} of {of} trials are marked, the first: {first}")
            }
            Self::CutOff { rounds } => {
                write!(
                    f,
                    "{} left out: cut off before its last trial",
                    are(*rounds)
                )
            }
            Self::Circumstances { differences } => {
                write!(f, "circumstances differ: {}", differences.join("; "))
            }
            Self::TooFewRequests {
                quantile,
                needed,
                measured,
            } => write!(
                f,
                "{} needs {needed} requests under each policy, and {measured} were measured",
                quantile.label()
            ),
            Self::Coarse { quantile, share } => write!(
                f,
                "{} is known to within {:.0} % only: the source's values are that far apart",
                quantile.label(),
                (share * 100.0).ceil()
            ),
        }
    }
}

fn are(rounds: u32) -> String {
    match rounds {
        1 => "1 round is".to_owned(),
        _ => format!("{rounds} rounds are"),
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
