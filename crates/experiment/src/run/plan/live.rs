//! An experiment inside a running process: its memory is switched between huge and small pages.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run::policy::{Policy, Settings, Thp};

/// The switchback of a running process. Its trials are periods, its policies are [`HUGE`] and [`SMALL`].
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The processes whose memory is switched; empty if the program is started for the experiment, again whenever it
    /// ends.
    pub pids: Vec<u32>,
    /// The cgroup that contains them, if `--cgroup` names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// The count of work.
    pub work: Work,
    /// The source of latencies, as `--latency` takes it, if one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// How long work is counted in a period.
    pub period_seconds: f64,
    /// The wait between a switch and the count.
    pub settle_seconds: f64,
    /// Bytes of a block: a huge page.
    pub huge_page_bytes: u64,
    /// Switched blocks.
    pub blocks: u64,
    /// Blocks among them that were already huge before the experiment.
    pub found_huge: u64,
    /// Blocks left out to save time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Blocks that `live` cannot switch, by reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// The longest hold of the address space that `--max-stall` allows.
    pub max_stall_seconds: f64,
}

impl Live {
    /// Returns true if the program is started for the experiment, so that its processes differ from start to start.
    #[must_use]
    pub fn starts_the_program(&self) -> bool {
        self.pids.is_empty()
    }
}

/// The count of work.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The source, as `--work` takes it.
    pub source: String,
    /// The unit of the count, in the plural: `commands`.
    pub unit: String,
}

/// Blocks that `live` cannot switch for one reason.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The reason.
    pub why: Skip,
    /// Number of blocks.
    pub blocks: u64,
}

/// The reason why `live` cannot switch a block.
#[derive(
    Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// Some of its pages are not in memory: a huge page would add them.
    NotPresent,
    /// Some of its pages are the shared zero page: since Linux 6.12 a split restores pages of zeros.
    ZeroFilled,
    /// Another process maps some of its pages, as after a fork.
    Shared,
    /// It is memory of a file, or shared memory.
    NotAnonymous,
    /// It is locked in memory.
    Locked,
    /// It is hugetlb memory.
    Hugetlb,
    /// Userfaultfd monitors it.
    Userfaultfd,
    /// The program advised the kernel against huge pages there.
    AdvisedAgainst,
    /// It belongs to a device or to the kernel.
    Special,
    /// It cannot be written, so a huge page may be refused.
    ReadOnly,
    /// The kernel refused to make it huge.
    CollapseRefused,
    /// The kernel did not split it.
    NotSplit,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotPresent => "pages not in memory",
            Self::ZeroFilled => "pages of zeros, given back by a split",
            Self::Shared => "pages shared with another process",
            Self::NotAnonymous => "file or shared memory",
            Self::Locked => "locked",
            Self::Hugetlb => "hugetlb",
            Self::Userfaultfd => "watched by userfaultfd",
            Self::AdvisedAgainst => "advised against huge pages",
            Self::Special => "of a device or the kernel",
            Self::ReadOnly => "read-only",
            Self::CollapseRefused => "collapse refused",
            Self::NotSplit => "not split",
        })
    }
}

/// The name of the policy under which all switched blocks are small; it is the baseline.
pub const SMALL: &str = "small";
/// The name of the policy under which they are huge.
pub const HUGE: &str = "huge";

/// Returns the two policies of a switchback, the baseline first. Their settings describe the pages of the blocks.
#[must_use]
pub fn live_policies() -> [Policy; 2] {
    [(SMALL, Thp::Never), (HUGE, Thp::Always)].map(|(name, thp)| Policy {
        name: name.to_owned(),
        settings: Settings {
            thp: Some(thp),
            ..Settings::default()
        },
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
