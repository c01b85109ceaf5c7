use strum::IntoStaticStr;

use super::event::{Conditions, Miss};
use hugewise_observe::faults::Sharing;
use hugewise_observe::faults::space::Area;

/// The first kernel address, on every architecture with huge pages.
pub(super) const UPPER_HALF: u64 = 1 << 63;

/// The eligibility of the memory of a miss for huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Eligibility {
    /// In a huge page.
    Huge,
    /// Anonymous memory in a small page at a position that fits a huge page: a policy can make it huge.
    #[strum(serialize = "could")]
    Eligible,
    /// Anonymous memory in a small page that does not fit a huge page: the mapping is too small, or this is its
    /// unaligned edge.
    Edge,
    /// Shared memory in a small page: its separate settings decide (`shmem_enabled`, `huge=`).
    Shared,
    /// A small page of a file: the file system decides.
    File,
    /// Kernel memory, or a page mapped by the kernel into every process.
    Kernel,
    /// The mapping or the page size is unknown.
    Unknown,
}

impl Eligibility {
    /// All, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Eligible,
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
            Self::Huge => "huge",
            Self::Eligible => "small, eligible",
            Self::Edge => "small, no huge page fits",
            Self::Shared => "small, shared memory",
            Self::File => "small, file",
            Self::Kernel => "kernel",
            Self::Unknown => "unknown",
        }
    }

    /// Its name in JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the eligibility of the memory of a miss.
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
            _ if area.covers(block, pmd) => Self::Eligible,
            _ => Self::Edge,
        }
    }

    /// On a machine without huge pages every page is small; otherwise the size is unknown.
    fn without_size(miss: &Miss, conditions: &Conditions) -> Self {
        match (miss.page_bytes, conditions.pmd_bytes) {
            (Some(_), None) => Self::Edge,
            _ => Self::Unknown,
        }
    }
}
