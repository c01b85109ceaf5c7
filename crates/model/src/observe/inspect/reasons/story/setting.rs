//! The process's and the machine's settings.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const SETTING: &[Row] = &[
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
];
