use serde::{Deserialize, Serialize};

use super::Facility;
use super::summary::FORMAT;
use hugewise_base::missing::Missing;

/// Why misses cannot be sampled, and what would help.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// Name and version of this document.
    pub format: String,
    /// The sampler of this processor family, if known.
    pub means: Option<Facility>,
    /// Why it could not be used.
    pub missing: Missing,
    /// What would help, most likely first.
    pub helps: Vec<String>,
}

impl Absence {
    /// An absence with what would help.
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
