//! What can be measured: one table, used by the code, the reports, the JSON and the documents.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::base::units::Unit;
use requests::suffix_metric;

/// What people call a cell.
pub(crate) mod cell_label;
/// The metrics of the cells of a bench.
pub mod cells;
/// The metrics that the sources of `--latency` give.
pub mod requests;

/// One thing that can be measured in a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its one name everywhere; ends in its unit, as OpenMetrics wants it.
    pub name: Cow<'static, str>,
    /// How people call it in a table of 80 columns.
    pub label: Cow<'static, str>,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Of whom it speaks.
    pub scope: Scope,
    /// Where it is shown.
    pub shown: Shown,
    /// What it means, and from which file or call it comes.
    pub doc: Cow<'static, str>,
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// It is a fact, neither good nor bad.
    Neither,
}

/// Of whom a reading speaks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The workload's whole process tree.
    Tree,
    /// The largest single process of the tree.
    Process,
    /// The process that was started, without its children.
    Main,
    /// The cgroup made for the trial: the tree with its page cache and kernel memory.
    Group,
    /// The whole machine: other programs are in it.
    Machine,
    /// The measuring itself.
    Own,
}

/// Where a metric is shown in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In the first table, always.
    Always,
    /// In the first table when it is not zero everywhere.
    WhenNonZero,
    /// With `--verbose`, in JSON and CSV.
    OnRequest,
}

macro_rules! metrics {
    ($($name:literal $label:literal $unit:ident $better:ident $scope:ident $shown:ident $doc:literal;)*) => {
        &[$(Metric {
            name: Cow::Borrowed($name),
            label: Cow::Borrowed($label),
            unit: Unit::$unit,
            better: Better::$better,
            scope: Scope::$scope,
            shown: Shown::$shown,
            doc: Cow::Borrowed($doc),
        }),*]
    };
}

/// The table, in the order in which reports list it.
#[rustfmt::skip]
pub static METRICS: &[Metric] = metrics![
    "wall_seconds" "wall time" Seconds Lower Tree Always
        "From the release of the workload's exec to its end, on the monotonic clock; time in which the workload was held for reading is taken out.";
    "service_ready_seconds" "until ready" Seconds Lower Tree WhenNonZero
        "From the release of a service's exec until it was ready, on the monotonic clock: its start, with whatever it touches beforehand. Readiness is asked after every 1 to 20 ms.";
    "user_seconds" "user time" Seconds Lower Tree Always
        "User mode time of the tree, from wait4(2).";
    "system_seconds" "system time" Seconds Lower Tree Always
        "Kernel mode time of the tree, from wait4(2): faults, zeroing and system calls are here.";
    "minor_faults_total" "minor faults" Count Lower Tree Always
        "Page faults served without I/O, from wait4(2), less those taken before exec. Faults taken inside MADV_POPULATE and MAP_POPULATE are counted too (mm_account_fault, mm/memory.c).";
    "major_faults_total" "major faults" Count Lower Tree WhenNonZero
        "Page faults that waited for I/O, from wait4(2).";
    "peak_rss_bytes" "peak memory" Bytes Lower Process Always
        "Largest resident set of any single process of the tree: ru_maxrss under a launcher whose own size is known, or VmHWM at exit. Huge zero pages are not in it.";
    "peak_tree_rss_bytes" "peak memory (tree)" Bytes Lower Tree OnRequest
        "Largest sum of the resident sets of all processes of the tree, sampled; shared pages count once for each process.";
    "peak_tree_pss_bytes" "peak memory, shared once" Bytes Lower Tree OnRequest
        "Largest sum of the proportional sets (Pss of smaps_rollup) of all processes of the tree, sampled: a page that processes share counts once in all; what they share with strangers counts in part. Only of a tree in which a sample saw several processes; what came and went between two samples, which are fewer where pages are small, is not in it.";
    "cgroup_peak_bytes" "peak memory (cgroup)" Bytes Lower Group WhenNonZero
        "memory.peak (v2) or memory.max_usage_in_bytes (v1) of the trial's cgroup: page cache and kernel memory included.";
    "anon_peak_bytes" "anonymous memory, peak" Bytes Neither Tree OnRequest
        "Largest sum of anonymous memory (smaps_rollup Anonymous) of the tree that a sample or the exit reading saw: what shared memory and files hold is not in it, and a page that processes share after a fork counts in each.";
    "huge_anon_peak_bytes" "huge pages seen" Bytes Neither Tree Always
        "Largest sum of PMD-mapped anonymous memory (smaps_rollup AnonHugePages) of the tree that a sample or the exit reading saw: what lived between two samples is not in it.";
    "huge_anon_mean_bytes" "huge pages, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of PMD-mapped anonymous memory of the tree over the trial.";
    "huge_anon_exit_bytes" "huge pages, at exit" Bytes Neither Main OnRequest
        "PMD-mapped anonymous memory of the main process when it had ended and still held its memory.";
    "huge_file_peak_bytes" "huge file pages, peak" Bytes Neither Tree WhenNonZero
        "Largest sum of PMD-mapped page cache (FilePmdMapped) of the tree.";
    "huge_file_mean_bytes" "huge file pages, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of PMD-mapped page cache of the tree.";
    "huge_file_exit_bytes" "huge file pages, at exit" Bytes Neither Main OnRequest
        "PMD-mapped page cache of the main process at its end.";
    "huge_shmem_peak_bytes" "huge shmem, peak" Bytes Neither Tree WhenNonZero
        "Largest sum of PMD-mapped shared memory (ShmemPmdMapped) of the tree.";
    "huge_shmem_mean_bytes" "huge shmem, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of PMD-mapped shared memory of the tree.";
    "huge_shmem_exit_bytes" "huge shmem, at exit" Bytes Neither Main OnRequest
        "PMD-mapped shared memory of the main process at its end.";
    "hugetlb_peak_bytes" "hugetlb, peak" Bytes Neither Tree WhenNonZero
        "Largest amount of hugetlb memory that the tree held, in samples; it is not part of the resident set. What processes share (Shared_Hugetlb) counts once: it is what was taken from the machine's pools since before the trial, held between the most that one process shares and the sum.";
    "hugetlb_mean_bytes" "hugetlb, mean" Bytes Neither Tree OnRequest
        "Time-weighted mean of hugetlb memory of the tree.";
    "hugetlb_exit_bytes" "hugetlb, at exit" Bytes Neither Main OnRequest
        "hugetlb memory of the main process at its end.";
    "huge_zero_exit_bytes" "huge zero page, at exit" Bytes Neither Main WhenNonZero
        "Address space of the main process that still mapped the shared huge zero page at its end (PAGEMAP_SCAN, Linux 6.7): memory that was only ever read.";
    "rss_mean_bytes" "memory, mean" Bytes Lower Tree OnRequest
        "Time-weighted mean of the sum of resident sets of the tree.";
    "fork_shared_peak_bytes" "shared after fork" Bytes Neither Tree OnRequest
        "Largest amount of anonymous memory that several processes of the tree were seen to share, as after a fork: Anonymous less Pss_Anon of smaps_rollup (Linux 5.4), summed; a page counts once for each process but one. Merged pages (KSM) are in it.";
    "fork_copied_bytes" "copied after fork" Bytes Lower Tree OnRequest
        "Largest amount by which the memory so shared became each process's own while no process came or went: what writes copied, as far as two samples saw it; missing where no two did.";
    "thread_stacks_bytes" "thread stacks" Bytes Lower Main OnRequest
        "Resident memory of the mappings in which the stack pointers of a service's threads lie, the first thread's left out, at the end of the load (smaps, /proc/PID/task/TID/syscall).";
    "thread_stacks_huge_bytes" "thread stacks, huge" Bytes Neither Main OnRequest
        "The part of it that a PMD maps.";
    "threads_total" "threads, at the end" Count Neither Main OnRequest
        "Threads of a service's main process whose stacks were found, at the end of the load.";
    "cycles_total" "cycles" Count Lower Tree OnRequest
        "Cycles of the processors in the tree, from exec on, in the modes that are permitted (perf_event_open).";
    "instructions_total" "instructions" Count Lower Tree OnRequest
        "Instructions that retired in the tree, from exec on; the other events of the trial's group are counted over the same time.";
    "dtlb_walks_total" "page walks, data" Count Lower Tree WhenNonZero
        "Page walks for data: completed walks (Intel), misses of the second level (AMD), DTLB_WALK (Arm). Not comparable between makers.";
    "itlb_walks_total" "page walks, code" Count Lower Tree WhenNonZero
        "Page walks for code, by the same events of the other side.";
    "data_walk_cycles_ratio" "cycles with data walk" Ratio Lower Tree WhenNonZero
        "Share of cycles with a page walk for data under way, at most: walks for loads and stores may overlap, and the core computes meanwhile. Not on AMD Zen.";
    "code_walk_cycles_ratio" "cycles with code walk" Ratio Lower Tree WhenNonZero
        "Share of cycles with a page walk for code under way, at most.";
    "thp_fault_alloc_total" "huge faults" Count Neither Machine WhenNonZero
        "vmstat thp_fault_alloc: huge pages allocated and charged in a fault.";
    "thp_fault_fallback_total" "huge faults refused" Count Lower Machine WhenNonZero
        "vmstat thp_fault_fallback: no huge page could be allocated or charged in a fault. Faults where the mapping was unfit are not counted by the kernel.";
    "thp_fault_fallback_charge_total" "huge charges refused" Count Lower Machine OnRequest
        "vmstat thp_fault_fallback_charge: the part of the refusals that a memory cgroup caused.";
    "thp_collapse_alloc_total" "pages collapsed" Count Neither Machine WhenNonZero
        "vmstat thp_collapse_alloc: huge pages made by khugepaged or MADV_COLLAPSE.";
    "khugepaged_collapsed_total" "khugepaged collapsed" Count Neither Machine OnRequest
        "khugepaged/pages_collapsed: huge pages made by khugepaged alone.";
    "thp_collapse_alloc_failed_total" "collapses refused" Count Lower Machine OnRequest
        "vmstat thp_collapse_alloc_failed.";
    "thp_split_pmd_total" "huge mappings split" Count Lower Machine WhenNonZero
        "vmstat thp_split_pmd: a PMD mapping turned into small ones.";
    "thp_split_page_total" "huge pages split" Count Lower Machine OnRequest
        "vmstat thp_split_page.";
    "thp_split_page_failed_total" "splits refused" Count Lower Machine OnRequest
        "vmstat thp_split_page_failed.";
    "thp_deferred_split_page_total" "splits deferred" Count Lower Machine OnRequest
        "vmstat thp_deferred_split_page: partly unmapped huge pages.";
    "thp_zero_page_alloc_total" "huge zero page made" Count Neither Machine OnRequest
        "vmstat thp_zero_page_alloc: allocations of the single shared page, not its mappings.";
    "compact_stall_total" "compaction stalls" Count Lower Machine WhenNonZero
        "vmstat compact_stall: an allocation compacted memory itself.";
    "compact_success_total" "compactions done" Count Neither Machine OnRequest
        "vmstat compact_success.";
    "compact_fail_total" "compactions failed" Count Lower Machine OnRequest
        "vmstat compact_fail.";
    "allocstall_total" "reclaim stalls" Count Lower Machine WhenNonZero
        "vmstat allocstall_*, summed over zones: an allocation reclaimed memory itself.";
    "direct_compaction_seconds" "in direct compaction" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent compacting memory for their own allocations, waits included (BPF at try_to_compact_pages, or mm_compaction_begin and _end).";
    "direct_reclaim_seconds" "in direct reclaim" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent reclaiming memory for their own allocations, waits included (BPF at try_to_free_pages, or mm_vmscan_direct_reclaim_begin and _end).";
    "cgroup_reclaim_seconds" "in cgroup reclaim" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent reclaiming memory at the limit of their cgroup (BPF at try_to_free_mem_cgroup_pages, or mm_vmscan_memcg_reclaim_begin and _end).";
    "zeroing_seconds" "zeroing huge pages" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent clearing huge pages and folios of several pages (BPF at folio_zero_user or clear_huge_page); small pages are not in it.";
    "split_seconds" "splitting huge mappings" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent turning PMD mappings into small ones (BPF at __split_huge_pmd).";
    "page_fault_seconds" "in page faults" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent in page faults, waits included (BPF at handle_mm_fault, or the software events of perf); what was compacted, reclaimed and cleared for them is in it; only with --stalls all.";
    "copy_on_write_seconds" "in copy-on-write" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree spent in faults that write to a shared or read-only small page (BPF at do_wp_page); only with --stalls all.";
    "mmap_lock_wait_seconds" "waiting for mmap_lock" Seconds Lower Tree WhenNonZero
        "Time that threads of the tree queued for the lock of their own address space while another had it, added up (BPF at contention_begin and contention_end of that lock); spinning before that is not in it. Only with --stalls all.";
    "swapped_pages_total" "pages swapped" Count Lower Machine WhenNonZero
        "vmstat pswpin and pswpout.";
    "voluntary_switches_total" "waits" Count Lower Tree OnRequest
        "Voluntary context switches of the tree, from wait4(2).";
    "involuntary_switches_total" "preemptions" Count Lower Tree OnRequest
        "Involuntary context switches of the tree, from wait4(2).";
    "service_use_ratio" "processors in use" Ratio Neither Tree OnRequest
        "Processor time of the service's tree during the load, by its wall time: 1 is one processor all the time.";
    "load_use_ratio" "processors the load uses" Ratio Neither Own OnRequest
        "Processor time of what loads the service, by its wall time: 1 is one processor all the time.";
    "steal_seconds" "stolen time" Seconds Lower Machine OnRequest
        "Time in which the hypervisor ran something else, over all processors (/proc/stat).";
    "other_busy_seconds" "other programs' time" Seconds Lower Machine OnRequest
        "Busy time of the machine less that of the tree and of the measuring.";
    "free_huge_pages_before_total" "free huge pages before" Count Higher Machine OnRequest
        "Free memory in blocks of at least the huge-page size before the trial, in huge pages (/proc/buddyinfo).";
    "free_huge_pages_after_total" "free huge pages after" Count Higher Machine OnRequest
        "The same after the trial.";
    "fragmented_before_ratio" "free in small blocks" Ratio Neither Machine OnRequest
        "Part of free memory in blocks smaller than a huge page before the trial (/proc/buddyinfo): the kernel's unusable free space index for that size.";
    "sampling_ratio" "cost of sampling" Ratio Lower Own OnRequest
        "Processor time of the sampling thread as a share of the trial's wall time.";
    "samples_total" "samples" Count Neither Own OnRequest
        "How often the tree's memory was read during the trial.";
];

/// Finds a metric that is always measured, or one that a reader of `--latency` gives.
#[must_use]
pub fn find(name: &str) -> Option<Metric> {
    measured(name).or_else(|| suffix_metric(name))
}

/// Finds a metric of the table, or of the families that depend on the machine's folio sizes:
/// `mthp_<N>kib_peak_bytes`, `mthp_<N>kib_exit_bytes` and `mthp_<N>kib_<counter>_total`; or of
/// the cells of a bench, `bench/<cell>/<metric>` (see [`crate::run::metric::cells`]).
#[must_use]
pub fn measured(name: &str) -> Option<Metric> {
    METRICS
        .iter()
        .find(|metric| metric.name == name)
        .cloned()
        .or_else(|| find_mthp(name))
        .or_else(|| cells::find(name))
}

fn find_mthp(name: &str) -> Option<Metric> {
    let rest = name.strip_prefix("mthp_")?;
    let (size, what) = rest.split_once("kib_")?;
    let kib: u64 = size.parse().ok()?;
    let of_size = match what {
        "peak_bytes" => mthp_peak(kib),
        "exit_bytes" => mthp_at_exit(kib),
        _ => mthp_counter(kib, what.strip_suffix("_total")?),
    };
    Some(Metric {
        name: Cow::Owned(name.to_owned()),
        ..of_size
    })
}

fn mthp_peak(kib: u64) -> Metric {
    Metric {
        unit: Unit::Bytes,
        shown: Shown::WhenNonZero,
        ..mthp(
            format!("{kib} KiB folios, peak"),
            format!(
                "Largest growth of hugepages-{kib}kB/stats/nr_anon during the trial, times the \
                 size (Linux 6.12): other programs are in it."
            ),
        )
    }
}

fn mthp_at_exit(kib: u64) -> Metric {
    Metric {
        unit: Unit::Bytes,
        scope: Scope::Main,
        ..mthp(
            format!("{kib} KiB folios, at exit"),
            format!(
                "Anonymous memory of the main process in folios of {kib} KiB at its end, by \
                 /proc/kpageflags."
            ),
        )
    }
}

fn mthp_counter(kib: u64, counter: &str) -> Metric {
    let shown = match counter {
        "anon_fault_fallback" => Shown::WhenNonZero,
        _ => Shown::OnRequest,
    };
    Metric {
        shown,
        ..mthp(
            format!("{kib} KiB {}", counter.replace('_', " ")),
            format!("Growth of hugepages-{kib}kB/stats/{counter} during the trial."),
        )
    }
}

/// What most metrics of folio sizes are; the name is the caller's to give.
fn mthp(label: String, doc: String) -> Metric {
    Metric {
        name: Cow::Borrowed(""),
        label: Cow::Owned(label),
        unit: Unit::Count,
        better: Better::Neither,
        scope: Scope::Machine,
        shown: Shown::OnRequest,
        doc: Cow::Owned(doc),
    }
}

#[cfg(test)]
mod tests;
