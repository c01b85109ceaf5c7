//! What is known of one policy: its mechanism, and facts of its trials.

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
    /// What it changes.
    pub mechanism: Mechanism,
    /// The mode of transparent huge pages in force, such as `madvise`.
    pub mode: String,
    /// Returns true when it differs from the baseline in pages alone.
    pub pages_only: bool,
    /// Trials that ended well, and all trials.
    pub trials: [u32; 2],
    /// Its huge pages beside those of the baseline.
    pub pages: Pages,
    /// Whether it was in force.
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
    /// Its tracer or preloaded library, and what that costs.
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
    /// What the others are compared with.
    Baseline,
    /// A policy that is judged.
    Policy,
    /// A mechanism without its huge pages: shows what the mechanism costs.
    OverheadControl,
    /// A malloc with small pages: shows what its huge pages do alone.
    SmallPages,
}

/// Huge pages of an arm beside those of the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Pages {
    /// Bytes in huge pages in a typical trial; `None` when not read.
    pub huge_bytes: Option<f64>,
    /// Bytes more than under the baseline; zero when alike, `None` when unknown.
    pub more_bytes: Option<f64>,
}

/// Whether an arm was in force.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// Read back as set in this many trials.
    ReadBack(u32),
    /// Nothing that it sets can be read back.
    Unknown,
    /// Not in force in so many of all trials.
    Not {
        /// Trials in which it was not in force.
        trials: u32,
        /// All its trials.
        of: u32,
        /// The first difference.
        detail: String,
    },
}
