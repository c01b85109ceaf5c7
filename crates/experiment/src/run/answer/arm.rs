//! Facts about one policy: its mechanism, and its trials.

use serde::Serialize;

use super::Mechanism;
use crate::run::cause::facts::{MadeHuge, MechanismFacts, Pool};
use crate::run::record::RemovalReason;

/// One policy of the experiment.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Its part in the experiment.
    pub role: ArmRole,
    /// The scope of its changes.
    pub mechanism: Mechanism,
    /// The active mode of transparent huge pages, such as `madvise`.
    pub mode: String,
    /// True if it differs from the baseline only in pages.
    pub pages_only: bool,
    /// Successful trials, and all trials.
    pub trials: [u32; 2],
    /// Its huge pages compared with those of the baseline.
    pub pages: Pages,
    /// Was it applied?
    pub applied: Applied,
    /// Starts that took the setting and all starts, for a setting that glibc takes by chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<[u64; 2]>,
    /// Memory that a tracer made huge while the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_huge: Option<MadeHuge>,
    /// Code that a tracer put into huge pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_code: Option<MadeHuge>,
    /// Its hugetlb pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Its tracer or preloaded library, and the cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub means: Option<MechanismFacts>,
    /// Why it was dropped, and after how many rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<(u32, RemovalReason)>,
}

/// The part of an arm in the experiment.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ArmRole {
    /// The policy that the others are compared with.
    Baseline,
    /// A policy under judgement.
    Policy,
    /// A mechanism without its huge pages: shows the cost of the mechanism.
    OverheadControl,
    /// A malloc with small pages: isolates the effect of its huge pages.
    SmallPages,
}

/// Huge pages of an arm compared with those of the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Pages {
    /// Bytes in huge pages in a typical trial; `None` if not read.
    pub huge_bytes: Option<f64>,
    /// Additional bytes over the baseline; zero if the pages count as equal, `None` if unknown.
    pub more_bytes: Option<f64>,
}

/// Was an arm applied?
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// Read back as set in this many trials.
    ReadBack(u32),
    /// None of its settings can be read back.
    Unknown,
    /// Not applied in so many of all trials.
    Not {
        /// Trials in which it was not applied.
        trials: u32,
        /// All its trials.
        of: u32,
        /// The first difference.
        detail: String,
    },
}
