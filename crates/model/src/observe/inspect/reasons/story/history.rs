//! What happened to the range: which pages came first, what was done to them since.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const HISTORY: &[Row] = &[
    (
        Code::Uffd,
        "userfaultfd watches the mapping: faults go to a program, which fills in small pages; \
         holes are not collapsed.",
        "all",
        "VmFlags has um, uw or ui.",
        "Unregister the range when it is filled; then it can be collapsed.",
        "userfaultfd_armed in include/linux/userfaultfd_k.h",
    ),
    (
        Code::Swapped,
        "Pages of the range are in swap. They come back one by one, as small pages.",
        "all",
        "PAGEMAP_SCAN says SWAPPED; Swap in smaps.",
        "More memory. MADV_COLLAPSE reads them back; khugepaged does for at most max_ptes_swap.",
        "do_swap_page in mm/memory.c",
    ),
    (
        Code::PteTableExists,
        "A small page was there before the range could be huge, and with it a page table; from \
         then on every fault fills that table. It happens when memory grows and is used step by \
         step, when advice comes after the first use, with MAP_POPULATE before madvise, or when \
         the setting was changed while the program ran.",
        "all",
        "Present pages, not mapped by a PMD, each its own folio (kpageflags, CAP_SYS_ADMIN), in \
         a range that could be huge today.",
        "MADV_COLLAPSE. For good: map, advise, then use.",
        "__handle_mm_fault in mm/memory.c: a huge page is tried only where pmd_none()",
    ),
    (
        Code::EmptyPteTable,
        "The range was emptied in pieces (MADV_DONTNEED below the huge-page size, MADV_FREE), and \
         its page table stayed: what is used again is small again.",
        "all; a DONTNEED of the whole range frees the table since 6.14 on x86, 7.0 elsewhere",
        "While it is empty, only that the process has more page tables (VmPTE) than its \
         populated ranges need; afterwards sparse small pages in a range that could be huge.",
        "Let the allocator give memory back in whole huge pages; MADV_COLLAPSE.",
        "CONFIG_PT_RECLAIM in mm/Kconfig",
    ),
    (
        Code::PmdSplit,
        "It was a huge page, and still is one in memory, but its mapping was split into small \
         entries: by mprotect, munmap, mremap, mlock or MADV_DONTNEED, MADV_FREE, MADV_COLD of a \
         part, or by write protection through userfaultfd.",
        "all",
        "kpageflags shows one huge folio behind all pages, in order, and PAGEMAP_SCAN does not \
         say HUGE (CAP_SYS_ADMIN). Without that right: thp_split_pmd has counted.",
        "MADV_COLLAPSE (copies it once more). For good: no such calls below the huge-page size.",
        "__split_huge_pmd in mm/huge_memory.c",
    ),
    (
        Code::ForkCow,
        "The range was written while parent and child shared it after a fork. Since 5.8 such a \
         write splits the huge page and copies one small page.",
        "5.8 and later; before, the whole huge page was copied",
        "Pages of a huge folio mixed with single pages, and pages that others map too \
         (CAP_SYS_ADMIN).",
        "MADV_COLLAPSE after the child has ended; MADV_DONTFORK; vfork or posix_spawn instead of \
         fork.",
        "do_huge_pmd_wp_page in mm/huge_memory.c",
    ),
    (
        Code::GuardPages,
        "madvise(MADV_GUARD_INSTALL) put guard pages into the range: they are entries of a page \
         table, and a PMD cannot hold them.",
        "6.13 and later; seen since 6.15",
        "PAGEMAP_SCAN says GUARD.",
        "Put the guard at a huge-page boundary outside the range.",
        "mm/madvise.c",
    ),
    (
        Code::Pinned,
        "Somebody holds references to the pages, for direct I/O, io_uring, RDMA or vmsplice: \
         they cannot be moved into a huge page.",
        "all",
        "Only by trying: MADV_COLLAPSE fails with EAGAIN, and the trace event says \
         not_suitable_page_count.",
        "Try again when the I/O is done, or register buffers after they are huge.",
        "hpage_collapse_scan_pmd in mm/khugepaged.c",
    ),
    (
        Code::Ksm,
        "KSM merged pages of the range with equal pages elsewhere.",
        "all",
        "VmFlags has `mg` and smaps counts KSM (6.6), or kpageflags (CAP_SYS_ADMIN).",
        "madvise(MADV_UNMERGEABLE) by the program.",
        "Documentation/admin-guide/mm/ksm.rst",
    ),
    (
        Code::MthpInstead,
        "Folios larger than a page and smaller than a huge page fill the range: a size below \
         the PMD was enabled and came first.",
        "6.8 and later",
        "kpageflags shows folios of fewer pages (CAP_SYS_ADMIN). Without that right: such a size \
         is enabled.",
        "Enough of the gain may be had already. MADV_COLLAPSE; or enable the PMD size.",
        "alloc_anon_folio in mm/memory.c",
    ),
];
