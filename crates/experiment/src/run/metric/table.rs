//! The metrics of every trial: a row for each.

use crate::base::counter::{Counter, Place};

#[rustfmt::skip]
metrics! {
    /// A metric of every trial, either with a value or with the reason why there is none.
    pub enum MetricId in METRICS;
    WallSeconds "wall_seconds" "wall time" Seconds Lower Tree Always
        "From the release of the workload's exec to its end, on the monotonic clock. Pauses for readings are subtracted.";
    ServiceReadySeconds "service_ready_seconds" "until ready" Seconds Lower Tree WhenNonZero
        "From the release of a service's exec until it was ready, on the monotonic clock: its start, including the memory that it touches first. Readiness is checked every 1 to 20 ms.";
    UserSeconds "user_seconds" "user time" Seconds Lower Tree Always
        "User mode time of the tree, from wait4(2).";
    SystemSeconds "system_seconds" "system time" Seconds Lower Tree Always
        "Kernel mode time of the tree, from wait4(2): faults, zeroing and system calls are here.";
    ArrivalSeconds "arrival_seconds" "until memory is in" Seconds Lower Tree OnRequest
        "Time from the program's start until nine tenths of its peak memory were resident, from samples.";
    ArrivalUserSeconds "arrival_user_seconds" "user time until then" Seconds Lower Tree OnRequest
        "User mode time of the tree until then, in ticks of 10 ms (/proc/PID/stat).";
    ArrivalSystemSeconds "arrival_system_seconds" "system time until then" Seconds Lower Tree OnRequest
        "Kernel mode time of the tree until then, in ticks of 10 ms.";
    ArrivalFaultsTotal "arrival_faults_total" "minor faults until then" Count Lower Tree OnRequest
        "Page faults of the tree until then, served without I/O.";
    MinorFaultsTotal "minor_faults_total" "minor faults" Count Lower Tree Always
        "Page faults served without I/O, from wait4(2), minus those before exec. Faults inside MADV_POPULATE and MAP_POPULATE count too (mm_account_fault, mm/memory.c).";
    MajorFaultsTotal "major_faults_total" "major faults" Count Lower Tree WhenNonZero
        "Page faults that waited for I/O, from wait4(2).";
    PeakRssBytes "peak_rss_bytes" "peak memory" Bytes Lower Process Always
        "Largest resident set of any single process of the tree: ru_maxrss under a launcher of known size, or VmHWM at exit. It excludes huge zero pages.";
    PeakTreeRssBytes "peak_tree_rss_bytes" "peak memory (tree)" Bytes Lower Tree OnRequest
        "Largest sum of the resident sets of all processes of the tree, sampled; shared pages count once for each process.";
    PeakTreePssBytes "peak_tree_pss_bytes" "peak memory, shared once" Bytes Lower Tree OnRequest
        "Largest sampled sum of the proportional sets (Pss of smaps_rollup) of all processes of the tree. A page shared within the tree counts once; a page shared with other processes counts in part. Only for a tree with several processes in a sample. It misses memory that came and went between two samples; samples are fewer with small pages.";
    CgroupPeakBytes "cgroup_peak_bytes" "peak memory (cgroup)" Bytes Lower Group WhenNonZero
        "memory.peak (v2) or memory.max_usage_in_bytes (v1) of the trial's cgroup: page cache and kernel memory included.";
    AnonPeakBytes "anon_peak_bytes" "anonymous memory, peak" Bytes Neither Tree OnRequest
        "Largest sum of anonymous memory (smaps_rollup Anonymous) of the tree in a sample or the exit reading. It excludes shared memory and files; a page shared after a fork counts in each process.";
    HugeAnonPeakBytes "huge_anon_peak_bytes" "huge pages seen" Bytes Neither Tree Always
        "Largest sum of PMD-mapped anonymous memory (smaps_rollup AnonHugePages) of the tree in a sample or the exit reading. It misses memory that lived between two samples.";
    HugeAnonMeanBytes "huge_anon_mean_bytes" "huge pages, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of PMD-mapped anonymous memory of the tree over the trial.";
    HugeAnonExitBytes "huge_anon_exit_bytes" "huge pages, at exit" Bytes Neither Main OnRequest
        "PMD-mapped anonymous memory of the main process at its end, before the kernel frees it.";
    HugeFilePeakBytes "huge_file_peak_bytes" "huge file pages, peak" Bytes Neither Tree WhenNonZero
        "Largest sum of PMD-mapped page cache (FilePmdMapped) of the tree.";
    HugeFileMeanBytes "huge_file_mean_bytes" "huge file pages, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of PMD-mapped page cache of the tree.";
    HugeFileExitBytes "huge_file_exit_bytes" "huge file pages, at exit" Bytes Neither Main OnRequest
        "PMD-mapped page cache of the main process at its end.";
    HugeCodeExitBytes "huge_code_exit_bytes" "huge code, at exit" Bytes Neither Main WhenNonZero
        "Executable memory of the main process mapped by PMDs at its end: pages of files, or private copies under text=huge.";
    HugeShmemPeakBytes "huge_shmem_peak_bytes" "huge shmem, peak" Bytes Neither Tree WhenNonZero
        "Largest sum of PMD-mapped shared memory (ShmemPmdMapped) of the tree.";
    HugeShmemMeanBytes "huge_shmem_mean_bytes" "huge shmem, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of PMD-mapped shared memory of the tree.";
    HugeShmemExitBytes "huge_shmem_exit_bytes" "huge shmem, at exit" Bytes Neither Main OnRequest
        "PMD-mapped shared memory of the main process at its end.";
    HugetlbPeakBytes "hugetlb_peak_bytes" "hugetlb, peak" Bytes Neither Tree WhenNonZero
        "Largest amount of hugetlb memory of the tree, sampled; it is not part of the resident set. Memory shared by processes (Shared_Hugetlb) counts once: the growth of use in the machine's pools since before the trial, but at least the largest share of one process and at most the sum.";
    HugetlbMeanBytes "hugetlb_mean_bytes" "hugetlb, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of hugetlb memory of the tree.";
    HugetlbExitBytes "hugetlb_exit_bytes" "hugetlb, at exit" Bytes Neither Main OnRequest
        "hugetlb memory of the main process at its end.";
    HugeZeroExitBytes "huge_zero_exit_bytes" "huge zero page, at exit" Bytes Neither Main WhenNonZero
        "Address space of the main process that still mapped the shared huge zero page at its end (PAGEMAP_SCAN, Linux 6.7): memory read but never written.";
    RssMeanBytes "rss_mean_bytes" "memory, mean" Bytes Lower Tree OnRequest
        "Time-weighted mean of the sum of resident sets of the tree.";
    ForkSharedPeakBytes "fork_shared_peak_bytes" "shared after fork" Bytes Neither Tree OnRequest
        "Largest sampled amount of anonymous memory shared by several processes of the tree, as after a fork: the sum of Anonymous minus Pss_Anon of smaps_rollup (Linux 5.4). A page counts once for each process but one. It includes merged pages (KSM).";
    ForkCopiedBytes "fork_copied_bytes" "copied after fork" Bytes Lower Tree OnRequest
        "Largest amount of such shared memory that became private to a process between two samples with the same processes: the memory copied by writes. Missing without two such samples.";
    ThreadStacksBytes "thread_stacks_bytes" "thread stacks" Bytes Lower Main OnRequest
        "Resident memory of the mappings with the stack pointers of a service's threads, without the first thread, at the end of the load (smaps, /proc/PID/task/TID/syscall).";
    ThreadStacksHugeBytes "thread_stacks_huge_bytes" "thread stacks, huge" Bytes Neither Main OnRequest
        "The PMD-mapped part of it.";
    ThreadsTotal "threads_total" "threads, at the end" Count Neither Main OnRequest
        "Threads of a service's main process with known stacks, at the end of the load.";
    CyclesTotal "cycles_total" "cycles" Count Lower Tree OnRequest
        "Processor cycles of the tree since exec, in the permitted modes (perf_event_open).";
    InstructionsTotal "instructions_total" "instructions" Count Lower Tree OnRequest
        "Instructions retired by the tree since exec; the other events of the trial's group are counted over the same time.";
    DtlbWalksTotal "dtlb_walks_total" "page walks, data" Count Lower Tree WhenNonZero
        "Page walks for data: completed walks (Intel), misses of the second level (AMD), DTLB_WALK (Arm). Not comparable between vendors.";
    ItlbWalksTotal "itlb_walks_total" "page walks, code" Count Lower Tree WhenNonZero
        "Page walks for code, by the corresponding instruction-side events.";
    DataWalkCyclesRatio "data_walk_cycles_ratio" "cycles with data walk" Ratio Lower Tree WhenNonZero
        "Upper bound of the share of cycles with a page walk for data in progress: walks for loads and stores may overlap, and the core computes at the same time. Not on AMD Zen.";
    CodeWalkCyclesRatio "code_walk_cycles_ratio" "cycles with code walk" Ratio Lower Tree WhenNonZero
        "Upper bound of the share of cycles with a page walk for code in progress.";
    ..counters at Trial;
    DirectCompactionSeconds "direct_compaction_seconds" "in direct compaction" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent compacting memory for their own allocations, including waits (BPF at try_to_compact_pages, or mm_compaction_begin and _end).";
    DirectReclaimSeconds "direct_reclaim_seconds" "in direct reclaim" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent reclaiming memory for their own allocations, including waits (BPF at try_to_free_pages, or mm_vmscan_direct_reclaim_begin and _end).";
    CgroupReclaimSeconds "cgroup_reclaim_seconds" "in cgroup reclaim" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent reclaiming memory at the limit of their cgroup (BPF at try_to_free_mem_cgroup_pages, or mm_vmscan_memcg_reclaim_begin and _end).";
    ZeroingSeconds "zeroing_seconds" "zeroing huge pages" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent clearing huge pages and folios of several pages (BPF at folio_zero_user or clear_huge_page), without small pages.";
    SplitSeconds "split_seconds" "splitting huge mappings" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent turning PMD mappings into small ones (BPF at __split_huge_pmd).";
    PageFaultSeconds "page_fault_seconds" "in page faults" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent in page faults (BPF at handle_mm_fault, or the software events of perf). It includes waits, compaction, reclaim and clearing. Only with --stalls all.";
    CopyOnWriteSeconds "copy_on_write_seconds" "in copy-on-write" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent in write faults on a shared or read-only small page (BPF at do_wp_page). Only with --stalls all.";
    MmapLockWaitSeconds "mmap_lock_wait_seconds" "waiting for mmap_lock" Seconds Lower Tree WhenNonZero
        "Total time that threads of the tree queued for the lock of their address space while another thread held it (BPF at contention_begin and contention_end of that lock), without spinning before that. Only with --stalls all.";
    VoluntarySwitchesTotal "voluntary_switches_total" "waits" Count Lower Tree OnRequest
        "Voluntary context switches of the tree, from wait4(2).";
    InvoluntarySwitchesTotal "involuntary_switches_total" "preemptions" Count Lower Tree OnRequest
        "Involuntary context switches of the tree, from wait4(2).";
    ServiceUseRatio "service_use_ratio" "processors in use" Ratio Neither Tree OnRequest
        "Processor time of the service's tree during the load, divided by its wall time: 1 is one fully used processor.";
    LoadUseRatio "load_use_ratio" "processors the load uses" Ratio Neither Own OnRequest
        "Processor time of the load generator, divided by its wall time: 1 is one fully used processor.";
    StealSeconds "steal_seconds" "stolen time" Seconds Lower Machine OnRequest
        "Time in which the hypervisor ran other guests, over all processors (/proc/stat).";
    OtherBusySeconds "other_busy_seconds" "other programs' time" Seconds Lower Machine OnRequest
        "Busy time of the machine minus that of the tree and of hugewise.";
    FreeHugePagesBeforeTotal "free_huge_pages_before_total" "free huge pages before" Count Higher Machine OnRequest
        "Free memory in blocks of at least the huge-page size before the trial, in huge pages (/proc/buddyinfo).";
    FreeHugePagesAfterTotal "free_huge_pages_after_total" "free huge pages after" Count Higher Machine OnRequest
        "The same after the trial.";
    FragmentedBeforeRatio "fragmented_before_ratio" "free in small blocks" Ratio Neither Machine OnRequest
        "Part of free memory in blocks smaller than a huge page before the trial (/proc/buddyinfo): the kernel's unusable free space index for that size.";
    SamplingRatio "sampling_ratio" "cost of sampling" Ratio Lower Own OnRequest
        "Processor time of the sampling thread as a share of the trial's wall time.";
    SamplesTotal "samples_total" "samples" Count Neither Own OnRequest
        "How often the tree's memory was read during the trial.";
}
