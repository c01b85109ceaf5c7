use serde::{Deserialize, Serialize};

use super::event::{Conditions, Miss};
use crate::observe::faults::Sharing;
use crate::observe::faults::space::Area;

/// The first address that is the kernel's, on every architecture that has huge pages.
pub(super) const UPPER_HALF: u64 = 1 << 63;

/// How a piece of memory stands to huge pages, when a miss fell into it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is in a huge page already.
    Huge,
    /// Anonymous memory in a small page, where a whole huge page would fit: a policy could make
    /// it huge.
    Could,
    /// Anonymous memory in a small page, where no huge page fits: the mapping is too small, or
    /// this is the edge that alignment leaves over.
    Edge,
    /// Shared memory in a small page: its own settings decide (`shmem_enabled`, `huge=`).
    Shared,
    /// A file's small page: its file system decides.
    File,
    /// The kernel's own memory, or a page that it maps for everybody.
    Kernel,
    /// The mapping or the size of the page is not known.
    Unknown,
}

impl Standing {
    /// Every standing, in the order in which they are told.
    pub const ALL: [Self; 7] = [
        Self::Could,
        Self::Huge,
        Self::Edge,
        Self::Shared,
        Self::File,
        Self::Kernel,
        Self::Unknown,
    ];

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Huge => "huge already",
            Self::Could => "small, could be huge",
            Self::Edge => "small, no huge page fits",
            Self::Shared => "small, shared memory",
            Self::File => "small, of a file",
            Self::Kernel => "of the kernel",
            Self::Unknown => "not known",
        }
    }

    /// Its name in JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Huge => "huge",
            Self::Could => "could",
            Self::Edge => "edge",
            Self::Shared => "shared",
            Self::File => "file",
            Self::Kernel => "kernel",
            Self::Unknown => "unknown",
        }
    }

    /// How the memory of a miss stands.
    pub(super) fn of(miss: &Miss, area: Option<&Area>, conditions: &Conditions) -> Self {
        if miss.address >= UPPER_HALF {
            return Self::Kernel;
        }
        let Some(area) = area else {
            return Self::Unknown;
        };
        if matches!(&*area.name, "[vdso]" | "[vvar]" | "[vsyscall]") {
            return Self::Kernel;
        }
        if area.sharing == Sharing::Hugetlb {
            return Self::Huge;
        }
        let (Some(page), Some(pmd)) = (miss.page_bytes, conditions.pmd_bytes) else {
            return Self::without_size(miss, conditions);
        };
        if page >= pmd {
            return Self::Huge;
        }
        let block = miss.address - miss.address % pmd.max(1);
        match area.sharing {
            Sharing::Shared if area.is_shared_memory() => Self::Shared,
            _ if !area.is_anonymous() => Self::File,
            _ if area.covers(block, pmd) => Self::Could,
            _ => Self::Edge,
        }
    }

    /// A machine without huge pages has small ones only; elsewhere nothing is known.
    fn without_size(miss: &Miss, conditions: &Conditions) -> Self {
        match (miss.page_bytes, conditions.pmd_bytes) {
            (Some(_), None) => Self::Edge,
            _ => Self::Unknown,
        }
    }
}
