use serde::{Deserialize, Serialize};

use super::Facility;
use super::summary::FORMAT;
use hugewise_base::missing::Missing;

/// The reason why misses cannot be sampled, and what would help.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// Name and version of this document.
    pub format: String,
    /// The sampler of this processor family, if known.
    pub means: Option<Facility>,
    /// The reason why it could not be used.
    pub missing: Missing,
    /// Changes that would help, most likely first.
    pub helps: Vec<String>,
}

impl Absence {
    /// Creates an absence with what would help.
    #[must_use]
    pub fn new(means: Option<Facility>, missing: Missing, helps: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            means,
            missing,
            helps,
        }
    }
}
