//! How processors sample the addresses of memory accesses.

use serde::{Deserialize, Serialize};

/// How the hardware samples addresses.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Facility {
    /// Intel: precise event-based sampling. Each sample is an instruction that retired and
    /// missed the second level.
    Pebs,
    /// AMD: instruction-based sampling of executed operations, most of which miss nothing.
    Ibs,
    /// Arm: the statistical profiling extension, filtered for accesses that walked.
    Spe,
}

impl Facility {
    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Pebs => "PEBS",
            Self::Ibs => "IBS",
            Self::Spe => "SPE",
        }
    }
}
