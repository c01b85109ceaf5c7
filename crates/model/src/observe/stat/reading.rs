//! What the kernel counts by itself: needs no hardware counters.

/// A reading of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct SoftwareReading {
    /// Its name; that of the metric where `run` has the same.
    pub name: &'static str,
    /// What it is, and from which file.
    pub doc: &'static str,
    /// What one must be or have to read it.
    pub needs: &'static str,
}

const fn reading(name: &'static str, doc: &'static str, needs: &'static str) -> SoftwareReading {
    SoftwareReading { name, doc, needs }
}

const NOTHING: &str = "nothing";
const BUDDY: &str = "root on systems that hide /proc/buddyinfo";
const ROLLUP: &str = "the same user, or CAP_SYS_PTRACE";

/// All of them.
pub static READINGS: &[SoftwareReading] = &[
    reading(
        "minor_faults_total",
        "faults served without I/O: /proc/PID/stat, memory.stat or /proc/vmstat",
        NOTHING,
    ),
    reading(
        "major_faults_total",
        "faults that waited for I/O, from the same files",
        NOTHING,
    ),
    reading(
        "thp_fault_alloc_total",
        "huge pages made in faults: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "thp_fault_fallback_total",
        "refused in faults: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "thp_collapse_alloc_total",
        "huge pages made by khugepaged and MADV_COLLAPSE: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "thp_split_pmd_total",
        "huge mappings split: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "khugepaged_seconds",
        "processor time of the kernel thread: /proc/PID/schedstat",
        "the first process namespace",
    ),
    reading(
        "compact_stall_total",
        "tasks that compacted memory themselves: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_success_total",
        "of them with success: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_fail_total",
        "of them in vain: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_migrate_scanned_total",
        "pages that compaction looked at to move: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_daemon_wake_total",
        "calls for kcompactd: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "huge_ratio",
        "share of the memory below that PMDs map: smaps_rollup, memory.stat or meminfo",
        ROLLUP,
    ),
    reading(
        "rss_bytes",
        "resident memory: smaps_rollup or meminfo",
        ROLLUP,
    ),
    reading(
        "anon_bytes",
        "anonymous memory of a cgroup: memory.stat",
        NOTHING,
    ),
    reading(
        "free_huge_pages_total",
        "free memory in blocks of at least a huge page: /proc/buddyinfo",
        BUDDY,
    ),
];
