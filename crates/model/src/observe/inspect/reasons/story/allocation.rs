//! What came of asking for a huge page, and of keeping one.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const ALLOCATION: &[Row] = &[
    (
        Code::AllocFail,
        "When the range was first used, no free huge page could be had, in spite of the effort \
         that `defrag` asks for.",
        "all",
        "thp_fault_fallback has counted more than thp_fault_fallback_charge, and /proc/buddyinfo \
         has few free blocks of the size. Both are of the whole machine.",
        "MADV_COLLAPSE, which tries hardest. For the machine (root): compact_memory, \
         min_free_kbytes, defrag, defrag_mode (6.15); hugetlb at boot.",
        "vma_thp_gfp_mask in mm/huge_memory.c",
    ),
    (
        Code::AllocNoEffort,
        "When the range was first used, no huge page lay free, and `defrag` let the kernel make \
         no effort for memory that is not advised.",
        "all",
        "As ALLOC_FAIL, with defrag at `madvise` or `never` (or VmFlags without `hg`).",
        "Advise the memory, or defrag=defer or always (root); MADV_COLLAPSE.",
        "vma_thp_gfp_mask in mm/huge_memory.c",
    ),
    (
        Code::MemcgLimit,
        "A huge page was free, but the memory cgroup of the process had no room for it.",
        "all",
        "thp_fault_fallback_charge has counted, and the cgroup is near its limit.",
        "Raise the limit, or use less.",
        "do_huge_pmd_anonymous_page in mm/huge_memory.c",
    ),
    (
        Code::NumaBind,
        "The NUMA policy of the memory allows nodes only that had no free huge page.",
        "all",
        "/proc/PID/numa_maps and the free blocks of each node; on machines with one node never.",
        "Another policy (set_mempolicy, mbind), or compact the node.",
        "mm/mempolicy.c",
    ),
    (
        Code::SplitByReclaim,
        "Under memory pressure the kernel split huge pages, to swap them out or to free their \
         unused parts.",
        "all",
        "thp_split_page has counted (of the whole machine).",
        "More memory.",
        "split_huge_page_to_list_to_order in mm/huge_memory.c",
    ),
    (
        Code::SplitUnderused,
        "Under memory pressure the kernel split a huge page that was mostly zeros.",
        "6.12 and later, where max_ptes_none is below its default",
        "thp_underused_split_page has counted (of the whole machine).",
        "Usually wanted. shrink_underused=0 (root) stops it.",
        "thp_underused in mm/huge_memory.c",
    ),
];
