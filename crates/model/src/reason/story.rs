//! What a reader wants to know of a reason: what it is, where it applies, how it is seen, what
//! repairs it, and where that is written down.

use std::fmt::Write;

use super::Code;
use crate::report::lines::wrapped;

/// The whole story of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// What happens in the kernel.
    pub what: &'static str,
    /// Since or until which kernel. For orientation: back-ports move it, so no reason is ever
    /// decided by it.
    pub kernels: &'static str,
    /// How it is told from user space, and with which right.
    pub seen: &'static str,
    /// What repairs it.
    pub repair: &'static str,
    /// Where it is written down.
    pub source: &'static str,
}

impl Code {
    /// Its story.
    #[must_use]
    pub fn story(self) -> Story {
        let (_, what, kernels, seen, repair, source) = STORIES[self as usize];
        Story {
            what,
            kernels,
            seen,
            repair,
            source,
        }
    }

    /// Its story as text of at most `width` columns.
    #[must_use]
    pub fn explained(self, width: usize) -> String {
        let story = self.story();
        let head = format!("{self}: {}", self.sentence());
        let mut text = wrapped(&head, width, 2).join("\n") + "\n";
        for (title, body) in [
            ("What it is", story.what),
            ("Kernels", story.kernels),
            ("How it is seen", story.seen),
            ("What repairs it", story.repair),
            ("Source", story.source),
        ] {
            let _ = writeln!(text, "\n{title}");
            for line in wrapped(body, width.saturating_sub(2), 0) {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }
}

type Row = (
    Code,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// One row for each reason, in their order: what, kernels, seen, repair, source.
const STORIES: [Row; 46] = [
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
         merged: permissions, file, name, policy or advice differ. mprotect, madvise or \
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
    (
        Code::PrctlDisabled,
        "prctl(PR_SET_THP_DISABLE, 1) was called in this process or one it descends from: fork \
         and exec hand it on. Huge pages that were there before stay.",
        "3.15 and later",
        "THP_enabled in /proc/PID/status is 0.",
        "Start the program without it: the parent, or the service manager, has set it.",
        "PR_SET_THP_DISABLE in prctl(2)",
    ),
    (
        Code::PrctlExceptAdvised,
        "prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED) lets only advised memory be \
         huge. It is inherited over fork and exec.",
        "6.18 and later",
        "Not in /proc: THP_enabled stays 1. It is inferred where the machine is set to `always`, \
         the mapping is large enough, and yet THPeligible is 0.",
        "madvise(MADV_HUGEPAGE), or MADV_COLLAPSE, which is let through.",
        "proc_pid_status in fs/proc/array.c",
    ),
    (
        Code::PolicyNever,
        "The setting for this size is `never`: hugepages-<size>kB/enabled, or `enabled` where \
         that says `inherit`. MADV_COLLAPSE is let through.",
        "all; the files per size since 6.8",
        "Both files below /sys/kernel/mm/transparent_hugepage. No right is needed.",
        "Set them to `madvise` or `always` (root), or collapse the range.",
        "thp_vma_allowable_orders in include/linux/huge_mm.h",
    ),
    (
        Code::PolicyMadvise,
        "The setting for this size is `madvise`: only memory that the program asks for with \
         madvise(MADV_HUGEPAGE) becomes huge, and nobody asked for this.",
        "all",
        "The two settings, and VmFlags without `hg`.",
        "Let the program advise: an option or tunable of its allocator or runtime \
         (glibc.malloc.hugetlb=1, -XX:+UseTransparentHugePages, thp:always of jemalloc); or \
         collapse the range; or `always` for the machine (root).",
        "Documentation/admin-guide/mm/transhuge.rst",
    ),
    (
        Code::SmallRamDefault,
        "A machine with less than 512 MiB of memory starts with all settings of transparent huge \
         pages off.",
        "all",
        "MemTotal is below 512 MiB, and enabled, defrag, use_zero_page and khugepaged/defrag are \
         all off.",
        "Set `enabled` (root), if the memory allows.",
        "hugepage_init in mm/huge_memory.c",
    ),
    (
        Code::ShmemPolicy,
        "Shared memory has its own setting: shmem_enabled for memory without a file (shared \
         anonymous, memfd, System V), the mount option huge= for a mounted tmpfs such as \
         /dev/shm. By default both are `never`.",
        "4.8 and later; per size since 6.11",
        "shmem_enabled below /sys/kernel/mm/transparent_hugepage, huge= in /proc/PID/mountinfo.",
        "shmem_enabled=advise and madvise, or mount -o remount,huge=advise (root); MADV_COLLAPSE \
         works whatever is set (6.1).",
        "shmem_allowable_huge_orders in mm/shmem.c",
    ),
    (
        Code::FileMisaligned,
        "A huge page of a file begins at a multiple of its size in the file, and must begin at \
         one in memory too. Address and offset of this mapping do not agree.",
        "all",
        "(start - offset) is no multiple of the huge-page size.",
        "Map at an address that agrees with the offset; for programs, link with \
         -z max-page-size.",
        "thp_vma_suitable_order in include/linux/huge_mm.h",
    ),
    (
        Code::FileNoLargeFolio,
        "The file system keeps its page cache in single pages only, so there is nothing a PMD \
         could map.",
        "until the file system learns it: xfs 5.18, ext4 6.16, btrfs 7.3, and others",
        "No folio of more than one page in any mapping of that file system (kpageflags, \
         CAP_SYS_ADMIN). Without that right it is one of two.",
        "Another file system, CONFIG_READ_ONLY_THP_FOR_FS (5.4 to 7.1), or a copy in anonymous \
         memory.",
        "mapping_set_large_folios in include/linux/pagemap.h",
    ),
    (
        Code::FileSmallFolios,
        "The page cache holds this part of the file in folios smaller than a huge page: they \
         were read in so. For shared memory: it was written before it could be huge.",
        "all",
        "PAGEMAP_SCAN says FILE and not HUGE; kpageflags shows the folios (CAP_SYS_ADMIN).",
        "Evict the file (fsync, posix_fadvise(DONTNEED)), then read it through a mapping with \
         madvise(MADV_HUGEPAGE) (5.18); no right but reading is needed. For shared memory: \
         MADV_COLLAPSE.",
        "do_sync_mmap_readahead in mm/filemap.c",
    ),
    (
        Code::FilePrivateCow,
        "A page of a private mapping of a file was written: it is a copy now, and copies in file \
         mappings are small.",
        "all",
        "PAGEMAP_SCAN: present pages without FILE in a mapping of a file; Anonymous in smaps.",
        "None, except to keep written data away from what is only read.",
        "do_cow_fault in mm/memory.c",
    ),
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
    (
        Code::KhpNotRegistered,
        "khugepaged looks only at processes that took a huge-page fault or called \
         MADV_HUGEPAGE since huge pages were on. This one may have done neither.",
        "all",
        "No `hg` and no huge page in the process.",
        "madvise(MADV_HUGEPAGE) on anything eligible, or MADV_COLLAPSE.",
        "__khugepaged_enter in mm/khugepaged.c",
    ),
    (
        Code::KhpPending,
        "The range fulfils what khugepaged asks for, but it has not come by: by default it \
         handles 16 MiB every 10 seconds for the whole machine.",
        "all",
        "Counts within the limits of khugepaged; the rate from pages_to_scan and \
         scan_sleep_millisecs.",
        "MADV_COLLAPSE now; or a faster khugepaged (root).",
        "mm/khugepaged.c",
    ),
    (
        Code::KhpLimits,
        "khugepaged leaves a range alone with more empty, swapped or shared pages than \
         max_ptes_none, max_ptes_swap and max_ptes_shared, or without a page used lately.",
        "all; counters since 5.17",
        "The counts of the range against the three files.",
        "Raise the limits (root), at the price of memory; MADV_COLLAPSE ignores them.",
        "hpage_collapse_scan_pmd in mm/khugepaged.c",
    ),
    (
        Code::KhpOff,
        "khugepaged does not run: it stops where every size is `never`.",
        "all",
        "No such thread among the children of kthreadd.",
        "MADV_COLLAPSE needs no khugepaged.",
        "start_stop_khugepaged in mm/khugepaged.c",
    ),
    (
        Code::ReadonlyAnon,
        "Anonymous memory that cannot be written is not collapsed.",
        "up to 6.17",
        "No `w` in the permissions, and khugepaged's trace event knows `no_writable_page` (root).",
        "mprotect to read and write, collapse, mprotect back.",
        "SCAN_PAGE_RO in mm/khugepaged.c",
    ),
    (
        Code::LseReadFirst,
        "On Arm an atomic instruction that meets an unmapped page raises a read fault first: the \
         kernel maps zeros, and the write that follows finds a page table. Programs that touch \
         memory ahead with an atomic add of 0 lose huge pages so.",
        "arm64; huge pages from 5.8 to 6.12, smaller folios always",
        "As HUGE_ZERO and ZERO_4K, on arm64; written all over, small pages and thp_split_pmd. The \
         instruction itself is not read.",
        "madvise(MADV_POPULATE_WRITE) instead, as OpenJDK 22 does; use_zero_page=0 (root).",
        "arch/arm64/mm/fault.c; amperecomputing.com, Fixing Page Fault Performance Issue",
    ),
    (
        Code::Host4K,
        "In a virtual machine the hypervisor may back this memory with small pages, whatever \
         the guest does: address translation then costs as with small pages.",
        "virtual machines",
        "Not to be seen from inside. Hints are slow first faults and a share of page walks that \
         does not fall.",
        "The owner of the host.",
        "Documentation/virt/kvm/x86/mmu.rst",
    ),
    (
        Code::Unknown,
        "What was read fits none of the other reasons. The evidence is printed as it was read.",
        "all",
        "-",
        "Please report it with the output of --format json.",
        "-",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_story_within_80_columns() {
        for (row, code) in STORIES.iter().zip(Code::all()) {
            assert_eq!(row.0, code);
            let text = code.explained(80);
            assert!(text.starts_with(code.name()));
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{code}: {line}");
            }
            assert!(!row.1.is_empty() && !row.3.is_empty() && !row.4.is_empty());
        }
    }
}
