//! How processors sample the addresses of memory accesses.

use serde::{Deserialize, Serialize};

/// The hardware facility that samples addresses.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Facility {
    /// Intel: precise event-based sampling. Each sample is a retired instruction that missed the second-level TLB.
    Pebs,
    /// AMD: instruction-based sampling of executed operations, most of them without a miss.
    Ibs,
    /// Arm: the statistical profiling extension, filtered for accesses with a page walk.
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
