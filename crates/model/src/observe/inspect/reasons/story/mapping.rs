//! Where there is nothing, or memory that is huge already or never used; then the mapping: its size,
//! its kind, its advice.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const MAPPING: &[Row] = &[
    (
        Code::NotMapped,
        "No mapping covers the addresses. Holes between mappings are not listed; this reason \
         is given only when a range is asked for that nothing maps.",
        "all",
        "/proc/PID/maps has no line for it.",
        "Nothing is to be repaired.",
        "proc_pid_maps(5)",
    ),
    (
        Code::NoThpKernel,
        "Transparent huge pages are not in this kernel: it was built without \
         CONFIG_TRANSPARENT_HUGEPAGE (which PREEMPT_RT excludes), or its processor cannot map \
         them.",
        "all",
        "/sys/kernel/mm/transparent_hugepage does not exist. No right is needed.",
        "Another kernel, or explicit huge pages (hugetlb).",
        "mm/Kconfig; hugepage_init in mm/huge_memory.c",
    ),
    (
        Code::AlreadyPmd,
        "One entry of the second-lowest page table maps the whole range: one TLB entry serves it.",
        "all; told range by range since 6.7",
        "PAGEMAP_SCAN says HUGE and not PFNZERO. Before 6.7: AnonHugePages, ShmemPmdMapped or \
         FilePmdMapped of smaps equal the aligned part of the mapping.",
        "Nothing is to be repaired.",
        "PAGE_IS_HUGE in Documentation/admin-guide/mm/pagemap.rst",
    ),
    (
        Code::Hugetlb,
        "Explicit huge pages from a pool: MAP_HUGETLB, a file of hugetlbfs, or SHM_HUGETLB. \
         They never split, swap or move between sizes.",
        "all",
        "VmFlags has `ht`; KernelPageSize is larger than a base page. They are not in Rss.",
        "Nothing is to be repaired.",
        "Documentation/admin-guide/mm/hugetlbpage.rst",
    ),
    (
        Code::Untouched,
        "No page of the range was ever used, or all were given back. It costs no memory, and \
         the first use decides how it is mapped.",
        "all",
        "PAGEMAP_SCAN, or the page map, has no present and no swapped page there. Proved where \
         the populated ranges account for all page tables of the process (VmPTE); otherwise it \
         may be EMPTY_PTE_TABLE.",
        "Nothing, unless faults at first use hurt: then madvise(MADV_POPULATE_WRITE) (5.14) \
         before that.",
        "madvise(2)",
    ),
    (
        Code::HugeZero,
        "The program only read the range, so the kernel mapped one huge page of zeros that all \
         programs share. It holds no memory and is in no count of smaps. What the first write \
         does depends on the kernel: up to 5.7 and since 6.13 it allocates a huge page; from \
         5.8 to 6.12 it splits the mapping, and the range stays small for good.",
        "3.8 and later; costly from 5.8 to 6.12",
        "PAGEMAP_SCAN says HUGE and PFNZERO (6.7). Before: kpageflags has THP and ZERO_PAGE, \
         with CAP_SYS_ADMIN.",
        "Write before reading, or madvise(MADV_POPULATE_WRITE); or use_zero_page=0 for the \
         machine (root).",
        "do_huge_pmd_wp_page in mm/huge_memory.c; commit 3917c80280c9 (5.8)",
    ),
    (
        Code::Zero4K,
        "The program only read the range while it could not be huge, so each page read is the \
         small shared page of zeros. Their page table keeps a huge page out when they are \
         written later.",
        "all",
        "PAGEMAP_SCAN says PFNZERO and not HUGE.",
        "Write before reading. MADV_COLLAPSE needs at least one page that was written.",
        "do_anonymous_page in mm/memory.c",
    ),
    (
        Code::VmaSmall,
        "A huge page needs the whole aligned range inside one mapping; here the mapping ends \
         before it. This beats every setting: a program that grows its memory in steps below \
         the huge-page size and uses each step at once never gets one, even where it has \
         advised every step. No counter of the kernel tells it.",
        "all",
        "Arithmetic on the addresses in /proc/PID/maps.",
        "Larger or aligned mappings: grow in steps of the huge-page size, top_pad of the \
         allocator, reserve once and use piecewise. Or smaller folios (mTHP, 6.8), which fit.",
        "thp_vma_suitable_order in include/linux/huge_mm.h",
    ),
    (
        Code::VmaSplit,
        "Together with its neighbours the mapping would cover the range, but they could not be \
         merged: permissions, name, policy or advice differ. mprotect, madvise or \
         prctl(PR_SET_VMA) on a part of a range parts mappings so.",
        "all",
        "Neighbouring lines of /proc/PID/maps touch; the difference is in permissions, name or \
         VmFlags.",
        "Make the neighbours equal, or move the border to a huge-page boundary.",
        "vma_merge in mm/vma.c",
    ),
    (
        Code::VmaType,
        "Memory of devices and of the kernel itself has no huge pages of this sort.",
        "all (since 6.12 drivers can map device memory huge by themselves)",
        "VmFlags has io, pf, mm or de; or it is vdso, vvar, vsyscall.",
        "None.",
        "VM_SPECIAL in include/linux/mm.h",
    ),
    (
        Code::MadvNohugepage,
        "madvise(MADV_NOHUGEPAGE) was called on the mapping, by the program, its runtime or its \
         allocator.",
        "all",
        "VmFlags has `nh`.",
        "madvise(MADV_HUGEPAGE) by the program itself; nobody else can take it back. There is no \
         way back to `no advice`.",
        "madvise(2)",
    ),
    (
        Code::MapStack,
        "Thread stacks are mapped with MAP_STACK, which the kernel since 6.8 marks as not to be \
         huge: stacks had grown to a huge page each. The C library can do the same \
         (glibc.pthread.stack_hugetlb=0).",
        "6.8 and later (6.7.y possibly)",
        "VmFlags has `nh`, and the mapping lies above a guard as a stack does. The flag MAP_STACK \
         itself is not to be seen, so MADV_NOHUGEPAGE stays possible.",
        "Intended; nothing is to be repaired.",
        "commit c4608d1bf7c6",
    ),
];
