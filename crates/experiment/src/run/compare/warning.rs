//! Warnings about the number of a comparison.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::base::missing::Missing;
use crate::run::stats::Quantile;
use crate::run::trial::{Mark, Outcome};

/// Something left out of a comparison, or a doubt about it. In JSON it is its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Rounds in which a trial failed are left out.
    FailedRounds {
        /// How many.
        rounds: u32,
        /// The failure of the first one.
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
        /// The reason for the first one.
        why: Missing,
    },
    /// Some trials are marked, but stay in.
    Marked {
        /// How many.
        trials: u32,
        /// The total.
        of: usize,
        /// The first mark.
        first: Mark,
    },
    /// Incomplete rounds are left out.
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
    /// The values of the source are coarse.
    Coarse {
        /// Of which percentile.
        quantile: Quantile,
        /// The distance between them, as a share.
        share: f64,
    },
}

impl Warning {
    /// Returns the warning for records with these differences in their circumstances; none if there are no differences.
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
                "{} is known to within {:.0} % only, the resolution of the source",
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
