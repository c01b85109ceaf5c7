//! What the kernel counts, without hardware counters.

/// A reading of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct SoftwareReading {
    /// Its name; that of the metric where `run` has the same.
    pub name: &'static str,
    /// What it is, and from which file.
    pub doc: &'static str,
    /// What reading it needs.
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
        "faults without I/O: /proc/PID/stat, memory.stat or /proc/vmstat",
        NOTHING,
    ),
    reading(
        "major_faults_total",
        "faults with I/O, from the same files",
        NOTHING,
    ),
    reading(
        "thp_fault_alloc_total",
        "huge pages from faults: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "thp_fault_fallback_total",
        "failed huge faults: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "thp_collapse_alloc_total",
        "huge pages from khugepaged and MADV_COLLAPSE: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "thp_split_pmd_total",
        "huge mappings split: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "khugepaged_seconds",
        "CPU time of khugepaged: /proc/PID/schedstat",
        "the initial PID namespace",
    ),
    reading(
        "compact_stall_total",
        "compaction stalls: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_success_total",
        "compaction stalls that succeeded: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_fail_total",
        "compaction stalls that failed: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_migrate_scanned_total",
        "pages that compaction scanned for migration: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "compact_daemon_wake_total",
        "wake-ups of kcompactd: /proc/vmstat",
        NOTHING,
    ),
    reading(
        "huge_ratio",
        "PMD-mapped share of rss_bytes or anon_bytes: smaps_rollup, memory.stat or meminfo",
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
