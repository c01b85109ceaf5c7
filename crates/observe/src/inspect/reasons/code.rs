use std::fmt;

use serde::{Deserialize, Serialize};

use crate::address_space::{Mapping, Space};

use super::row::{Row, State};
use super::{allocation, file, history, khugepaged, mapping, setting, state};

/// Defines the enum of the reasons. The name of a reason is its variant name; its sentence is its documentation.
macro_rules! reasons {
    ($($(#[doc = $sentence:literal])+ $code:ident = $family:ident::$name:ident,)+) => {
        /// A reason why an aligned huge-page range is, or is not, mapped by a PMD. The order is
        /// the order in which reasons are tried.
        #[derive(
            Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash,
        )]
        #[serde(try_from = "String", into = "&'static str")]
        pub enum Code {
            $($(#[doc = $sentence])+ $code,)+
        }

        /// Every reason, with its name, sentence and row.
        static TABLE: &[(Code, &str, &str, &Row)] = &[
            $((Code::$code, stringify!($name), concat!($($sentence),+), &$family::$name),)+
        ];
    };
}

reasons! {
    /// No mapping covers the addresses.
    NotMapped = state::NOT_MAPPED,
    /// This kernel or processor has no transparent huge pages.
    NoThpKernel = state::NO_THP_KERNEL,
    /// A huge page, PMD-mapped.
    AlreadyPmd = state::ALREADY_PMD,
    /// An explicit huge page (hugetlb).
    Hugetlb = state::HUGETLB,
    /// Not in use: never touched, or given back.
    Untouched = state::UNTOUCHED,
    /// Only read so far: the shared huge zero page.
    HugeZero = state::HUGE_ZERO,
    /// Only read so far: small zero pages.
    Zero4K = state::ZERO_4K,
    /// The mapping does not span an aligned range.
    VmaSmall = mapping::VMA_SMALL,
    /// Mappings that differ share the range.
    VmaSplit = mapping::VMA_SPLIT,
    /// Device or kernel memory, which is never huge.
    VmaType = mapping::VMA_TYPE,
    /// The program called madvise(MADV_NOHUGEPAGE).
    MadvNohugepage = mapping::MADV_NOHUGEPAGE,
    /// A thread stack: the kernel keeps it small.
    MapStack = mapping::MAP_STACK,
    /// The process has huge pages switched off (prctl).
    PrctlDisabled = setting::PRCTL_DISABLED,
    /// The process allows huge pages in advised memory only.
    PrctlExceptAdvised = setting::PRCTL_EXCEPT_ADVISED,
    /// THP is `never`.
    PolicyNever = setting::POLICY_NEVER,
    /// THP is `madvise`; this is not advised.
    PolicyMadvise = setting::POLICY_MADVISE,
    /// THP is off by default below 512 MiB of RAM.
    SmallRamDefault = setting::SMALL_RAM_DEFAULT,
    /// The setting for shared memory forbids it.
    ShmemPolicy = setting::SHMEM_POLICY,
    /// Address and file offset differ within a huge page.
    FileMisaligned = file::FILE_MISALIGNED,
    /// The file system has no large folios.
    FileNoLargeFolio = file::FILE_NO_LARGE_FOLIO,
    /// The page cache holds it in small folios.
    FileSmallFolios = file::FILE_SMALL_FOLIOS,
    /// Private copies of file pages stay small.
    FilePrivateCow = file::FILE_PRIVATE_COW,
    /// userfaultfd handles its page faults.
    Uffd = history::UFFD,
    /// Some pages are in swap.
    Swapped = history::SWAPPED,
    /// Small pages came first.
    PteTableExists = history::PTE_TABLE_EXISTS,
    /// A page table was left when it was emptied.
    EmptyPteTable = history::EMPTY_PTE_TABLE,
    /// A huge page whose mapping was split.
    PmdSplit = history::PMD_SPLIT,
    /// Written while shared with a forked process.
    ForkCow = history::FORK_COW,
    /// The range contains guard pages.
    GuardPages = history::GUARD_PAGES,
    /// Pages are pinned for I/O.
    Pinned = khugepaged::PINNED,
    /// KSM merged pages.
    Ksm = history::KSM,
    /// A folio smaller than a huge page came first.
    MthpInstead = history::MTHP_INSTEAD,
    /// No free huge page could be allocated.
    AllocFail = allocation::ALLOC_FAIL,
    /// No huge page was free, and defrag forbade the effort.
    AllocNoEffort = allocation::ALLOC_NO_EFFORT,
    /// The memory cgroup was at its limit.
    MemcgLimit = allocation::MEMCG_LIMIT,
    /// The allowed NUMA nodes had no free huge page.
    NumaBind = allocation::NUMA_BIND,
    /// Split under memory pressure.
    SplitByReclaim = allocation::SPLIT_BY_RECLAIM,
    /// Split because it was mostly zeros.
    SplitUnderused = allocation::SPLIT_UNDERUSED,
    /// khugepaged does not know the process.
    KhpNotRegistered = khugepaged::KHP_NOT_REGISTERED,
    /// khugepaged has not scanned it yet.
    KhpPending = khugepaged::KHP_PENDING,
    /// khugepaged's limits forbid it.
    KhpLimits = khugepaged::KHP_LIMITS,
    /// khugepaged does not run.
    KhpOff = khugepaged::KHP_OFF,
    /// Anonymous memory without write permission.
    ReadonlyAnon = khugepaged::READONLY_ANON,
    /// An atomic instruction read it first (Arm).
    LseReadFirst = history::LSE_READ_FIRST,
    /// Huge here, but small in the hypervisor.
    Host4K = state::HOST_4K,
    /// No known reason fits.
    Unknown = state::UNKNOWN,
}

impl Code {
    /// All reasons, in order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|entry| entry.0)
    }

    /// Returns the name, as printed and typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns the meaning in one sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        TABLE[self as usize].2.trim()
    }

    /// Returns the state of memory with this reason.
    #[must_use]
    pub fn state(self) -> State {
        self.row().state
    }

    /// Returns the fix for a mapping of a process; `None` if there is nothing to fix, or no way to fix it.
    #[must_use]
    pub fn fix(self, space: &Space, mapping: &Mapping) -> Option<String> {
        self.row().fix.of(space, mapping)
    }

    pub(super) fn row(self) -> &'static Row {
        TABLE[self as usize].3
    }

    /// Returns the reason with this name, in upper or lower case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|code| code.name().eq_ignore_ascii_case(name))
    }
}

impl From<Code> for &'static str {
    fn from(code: Code) -> Self {
        code.name()
    }
}

impl TryFrom<String> for Code {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| format!("`{name}` is no reason"))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_are_the_words_of_json() {
        for code in Code::all() {
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.name()));
            assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), code);
            assert_eq!(Code::named(&code.name().to_lowercase()), Some(code));
        }
        assert_eq!(Code::named("HUGE"), None);
    }
}
