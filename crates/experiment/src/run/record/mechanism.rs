//! Policies that change their mechanism while an experiment runs.

use serde::{Deserialize, Serialize};

use crate::run::policy::realise::Realisation;
use crate::run::trial::Clash;

/// A policy whose first mechanism is incompatible with the program.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ChangeOfMeans {
    /// The first round with the other mechanism.
    pub round: u32,
    /// Name of the policy.
    pub policy: String,
    /// Why the first mechanism breaks the program.
    pub clash: Clash,
    /// The other mechanism.
    pub realisation: Realisation,
}
