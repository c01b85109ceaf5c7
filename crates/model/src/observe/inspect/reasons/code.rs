use std::fmt;

use serde::{Deserialize, Serialize};

/// A reason why an aligned huge-page range is, or is not, mapped by a PMD. The order is the
/// order in which reasons are asked.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A hole in the address space.
    #[serde(rename = "NOT_MAPPED")]
    NotMapped,
    /// This kernel, or its processor, has no transparent huge pages.
    #[serde(rename = "NO_THP_KERNEL")]
    NoThpKernel,
    /// A huge page, mapped by a PMD.
    #[serde(rename = "ALREADY_PMD")]
    AlreadyPmd,
    /// An explicit huge page.
    #[serde(rename = "HUGETLB")]
    Hugetlb,
    /// Empty: never used, or given back.
    #[serde(rename = "UNTOUCHED")]
    Untouched,
    /// Only read so far: the shared huge zero page.
    #[serde(rename = "HUGE_ZERO")]
    HugeZero,
    /// Only read so far: small zero pages.
    #[serde(rename = "ZERO_4K")]
    Zero4K,
    /// The mapping does not cover the whole range.
    #[serde(rename = "VMA_SMALL")]
    VmaSmall,
    /// Neighbouring mappings would cover the range together, but differ.
    #[serde(rename = "VMA_SPLIT")]
    VmaSplit,
    /// Memory of a kind that is never huge: devices, kernel pages.
    #[serde(rename = "VMA_TYPE")]
    VmaType,
    /// The program asked for small pages.
    #[serde(rename = "MADV_NOHUGEPAGE")]
    MadvNohugepage,
    /// A thread's stack: the kernel keeps it small.
    #[serde(rename = "MAP_STACK")]
    MapStack,
    /// The process, or one it descends from, switched huge pages off.
    #[serde(rename = "PRCTL_DISABLED")]
    PrctlDisabled,
    /// The process takes huge pages for advised memory only.
    #[serde(rename = "PRCTL_EXCEPT_ADVISED")]
    PrctlExceptAdvised,
    /// The machine is set to `never`.
    #[serde(rename = "POLICY_NEVER")]
    PolicyNever,
    /// The machine is set to `madvise`, and nobody advised this memory.
    #[serde(rename = "POLICY_MADVISE")]
    PolicyMadvise,
    /// With so little memory a machine starts with huge pages off.
    #[serde(rename = "SMALL_RAM_DEFAULT")]
    SmallRamDefault,
    /// Shared memory is set to small pages.
    #[serde(rename = "SHMEM_POLICY")]
    ShmemPolicy,
    /// Address and file offset do not line up on a huge page.
    #[serde(rename = "FILE_MISALIGNED")]
    FileMisaligned,
    /// The file system keeps no large folios.
    #[serde(rename = "FILE_NO_LARGE_FOLIO")]
    FileNoLargeFolio,
    /// The page cache holds the file in small folios.
    #[serde(rename = "FILE_SMALL_FOLIOS")]
    FileSmallFolios,
    /// A private copy of a file's page was written.
    #[serde(rename = "FILE_PRIVATE_COW")]
    FilePrivateCow,
    /// userfaultfd watches the memory.
    #[serde(rename = "UFFD")]
    Uffd,
    /// Pages are in swap.
    #[serde(rename = "SWAPPED")]
    Swapped,
    /// A small page was there before the range could be huge.
    #[serde(rename = "PTE_TABLE_EXISTS")]
    PteTableExists,
    /// The range was emptied in pieces and its page table stayed.
    #[serde(rename = "EMPTY_PTE_TABLE")]
    EmptyPteTable,
    /// A huge page whose mapping was split.
    #[serde(rename = "PMD_SPLIT")]
    PmdSplit,
    /// Written while it was shared over a fork.
    #[serde(rename = "FORK_COW")]
    ForkCow,
    /// Guard pages lie in the range.
    #[serde(rename = "GUARD_PAGES")]
    GuardPages,
    /// Pages are pinned for I/O.
    #[serde(rename = "PINNED")]
    Pinned,
    /// KSM merged pages.
    #[serde(rename = "KSM")]
    Ksm,
    /// A smaller folio came first.
    #[serde(rename = "MTHP_INSTEAD")]
    MthpInstead,
    /// No free huge page could be had.
    #[serde(rename = "ALLOC_FAIL")]
    AllocFail,
    /// No free huge page lay ready, and the kernel was told to make no effort.
    #[serde(rename = "ALLOC_NO_EFFORT")]
    AllocNoEffort,
    /// The memory cgroup's limit refused it.
    #[serde(rename = "MEMCG_LIMIT")]
    MemcgLimit,
    /// The NUMA policy left no node with a free huge page.
    #[serde(rename = "NUMA_BIND")]
    NumaBind,
    /// Split under memory pressure.
    #[serde(rename = "SPLIT_BY_RECLAIM")]
    SplitByReclaim,
    /// Split because it was mostly zero.
    #[serde(rename = "SPLIT_UNDERUSED")]
    SplitUnderused,
    /// khugepaged does not know of the process.
    #[serde(rename = "KHP_NOT_REGISTERED")]
    KhpNotRegistered,
    /// khugepaged has not come by yet.
    #[serde(rename = "KHP_PENDING")]
    KhpPending,
    /// khugepaged's limits refuse it.
    #[serde(rename = "KHP_LIMITS")]
    KhpLimits,
    /// khugepaged does not run.
    #[serde(rename = "KHP_OFF")]
    KhpOff,
    /// Anonymous memory that cannot be written.
    #[serde(rename = "READONLY_ANON")]
    ReadonlyAnon,
    /// An atomic instruction touched it first, which Arm processors report as a read.
    #[serde(rename = "LSE_READ_FIRST")]
    LseReadFirst,
    /// Huge here, small in the hypervisor.
    #[serde(rename = "HOST_4K")]
    Host4K,
    /// None of the others.
    #[serde(rename = "UNKNOWN")]
    Unknown,
}

impl Code {
    /// All reasons, in order, with the name and one sentence of each.
    #[rustfmt::skip]
    const TABLE: [(Self, &'static str, &'static str); 46] = [
        (Self::NotMapped, "NOT_MAPPED", "A hole in the address space."),
        (Self::NoThpKernel, "NO_THP_KERNEL",
            "This kernel, or its processor, has no transparent huge pages."),
        (Self::AlreadyPmd, "ALREADY_PMD", "A huge page, mapped by a PMD."),
        (Self::Hugetlb, "HUGETLB", "An explicit huge page."),
        (Self::Untouched, "UNTOUCHED", "Empty: never used, or given back."),
        (Self::HugeZero, "HUGE_ZERO", "Only read so far: the shared huge zero page."),
        (Self::Zero4K, "ZERO_4K", "Only read so far: small zero pages."),
        (Self::VmaSmall, "VMA_SMALL", "The mapping does not cover the whole range."),
        (Self::VmaSplit, "VMA_SPLIT",
            "Neighbouring mappings would cover the range together, but differ."),
        (Self::VmaType, "VMA_TYPE", "Memory of a kind that is never huge: devices, kernel pages."),
        (Self::MadvNohugepage, "MADV_NOHUGEPAGE", "The program asked for small pages."),
        (Self::MapStack, "MAP_STACK", "A thread's stack: the kernel keeps it small."),
        (Self::PrctlDisabled, "PRCTL_DISABLED",
            "The process, or one it descends from, switched huge pages off."),
        (Self::PrctlExceptAdvised, "PRCTL_EXCEPT_ADVISED",
            "The process takes huge pages for advised memory only."),
        (Self::PolicyNever, "POLICY_NEVER", "The machine is set to `never`."),
        (Self::PolicyMadvise, "POLICY_MADVISE",
            "The machine is set to `madvise`, and nobody advised this memory."),
        (Self::SmallRamDefault, "SMALL_RAM_DEFAULT",
            "With so little memory a machine starts with huge pages off."),
        (Self::ShmemPolicy, "SHMEM_POLICY", "Shared memory is set to small pages."),
        (Self::FileMisaligned, "FILE_MISALIGNED",
            "Address and file offset do not line up on a huge page."),
        (Self::FileNoLargeFolio, "FILE_NO_LARGE_FOLIO", "The file system keeps no large folios."),
        (Self::FileSmallFolios, "FILE_SMALL_FOLIOS",
            "The page cache holds the file in small folios."),
        (Self::FilePrivateCow, "FILE_PRIVATE_COW", "A private copy of a file's page was written."),
        (Self::Uffd, "UFFD", "userfaultfd watches the memory."),
        (Self::Swapped, "SWAPPED", "Pages are in swap."),
        (Self::PteTableExists, "PTE_TABLE_EXISTS",
            "A small page was there before the range could be huge."),
        (Self::EmptyPteTable, "EMPTY_PTE_TABLE",
            "The range was emptied in pieces and its page table stayed."),
        (Self::PmdSplit, "PMD_SPLIT", "A huge page whose mapping was split."),
        (Self::ForkCow, "FORK_COW", "Written while it was shared over a fork."),
        (Self::GuardPages, "GUARD_PAGES", "Guard pages lie in the range."),
        (Self::Pinned, "PINNED", "Pages are pinned for I/O."),
        (Self::Ksm, "KSM", "KSM merged pages."),
        (Self::MthpInstead, "MTHP_INSTEAD", "A smaller folio came first."),
        (Self::AllocFail, "ALLOC_FAIL", "No free huge page could be had."),
        (Self::AllocNoEffort, "ALLOC_NO_EFFORT",
            "No free huge page lay ready, and the kernel was told to make no effort."),
        (Self::MemcgLimit, "MEMCG_LIMIT", "The memory cgroup's limit refused it."),
        (Self::NumaBind, "NUMA_BIND", "The NUMA policy left no node with a free huge page."),
        (Self::SplitByReclaim, "SPLIT_BY_RECLAIM", "Split under memory pressure."),
        (Self::SplitUnderused, "SPLIT_UNDERUSED", "Split because it was mostly zero."),
        (Self::KhpNotRegistered, "KHP_NOT_REGISTERED", "khugepaged does not know of the process."),
        (Self::KhpPending, "KHP_PENDING", "khugepaged has not come by yet."),
        (Self::KhpLimits, "KHP_LIMITS", "khugepaged's limits refuse it."),
        (Self::KhpOff, "KHP_OFF", "khugepaged does not run."),
        (Self::ReadonlyAnon, "READONLY_ANON", "Anonymous memory that cannot be written."),
        (Self::LseReadFirst, "LSE_READ_FIRST",
            "An atomic instruction touched it first, which Arm processors report as a read."),
        (Self::Host4K, "HOST_4K", "Huge here, small in the hypervisor."),
        (Self::Unknown, "UNKNOWN", "None of the others."),
    ];

    /// All reasons, in order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        Self::TABLE.iter().map(|row| row.0)
    }

    /// Its name, as it is printed and typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// One sentence that says what it is.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    /// The reason of this name, in capitals or not.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::TABLE
            .iter()
            .find(|row| row.1.eq_ignore_ascii_case(name))
            .map(|row| row.0)
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
    fn the_table_is_in_order_and_names_agree_with_the_wire() {
        for (place, code) in Code::all().enumerate() {
            assert_eq!(code as usize, place);
            let wire = serde_json::to_string(&code).unwrap();
            assert_eq!(wire, format!("\"{}\"", code.name()));
            assert_eq!(Code::named(&code.name().to_lowercase()), Some(code));
        }
        assert_eq!(Code::all().len(), 46);
        assert_eq!(Code::named("HUGE"), None);
    }
}
