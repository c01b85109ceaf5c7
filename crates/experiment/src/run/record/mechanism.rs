//! Policies that are put in force by another means while an experiment runs.

use serde::{Deserialize, Serialize};

use crate::run::policy::realise::Realisation;
use crate::run::trial::Clash;

/// A policy whose first means excludes the program.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ChangeOfMeans {
    /// The first round with the other means.
    pub round: u32,
    /// Name of the policy.
    pub policy: String,
    /// Why the first means breaks the program.
    pub clash: Clash,
    /// The other means.
    pub realisation: Realisation,
}
