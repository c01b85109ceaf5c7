//! The rows of the table. To add a counter, or a place that shows it, change only this file.
//!
//! A row has the variant, our name, the label on screens, the kernel's fields, their file, the first Linux version with
//! them, the good direction, its place in reports, the places that show it, the name of its rate in a fleet, and its
//! meaning. Reports list the counters in this order.

use super::{Better, CounterRow, File, Place, Shown};

/// Defines an enum with a variant for each row, and the rows.
macro_rules! counters {
    ($(
        $variant:ident $name:literal $label:literal [$($field:literal),+] $file:ident $since:literal
        $better:ident $shown:ident [$($place:ident)*] $(fleet $fleet:literal)?
        $meaning:literal;
    )*) => {
        /// A counter or an amount that the kernel maintains for the whole machine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Counter {
            $(#[doc = $meaning] $variant,)*
        }

        /// All counters, in the order of the table.
        pub(super) static ALL: &[Counter] = &[$(Counter::$variant,)*];

        static ROWS: &[CounterRow] = &[$(CounterRow {
            name: $name,
            label: $label,
            fields: &[$($field),+],
            file: File::$file,
            since: $since,
            better: Better::$better,
            shown: Shown::$shown,
            places: &[$(Place::$place),*],
            fleet: only(&[$($fleet)?]),
            meaning: $meaning,
        },)*];

        impl Counter {
            /// Returns the row of the table.
            #[must_use]
            pub fn row(self) -> &'static CounterRow {
                &ROWS[self as usize]
            }

            /// Returns the name in records, in JSON and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

const fn only(names: &[&'static str]) -> Option<&'static str> {
    match names {
        [name] => Some(name),
        _ => None,
    }
}

#[rustfmt::skip]
counters! {
    PageFaults "page_faults_total" "page faults" ["pgfault"] VmstatAndGroups "2.6" Neither OnRequest [Watch]
        "page faults, those that waited for I/O too";
    WaitingFaults "waiting_faults_total" "major faults" ["pgmajfault"] VmstatAndGroups "2.6" Lower OnRequest []
        fleet "major_faults_per_second"
        "page faults that waited for I/O";
    ThpFaultAlloc "thp_fault_alloc_total" "huge faults" ["thp_fault_alloc"] VmstatAndGroups "2.6.39" Neither WhenNonZero [Trial Stat Export Watch]
        fleet "huge_faults_per_second"
        "huge pages allocated and charged in a fault";
    ThpFaultFallback "thp_fault_fallback_total" "huge faults refused" ["thp_fault_fallback"] Vmstat "2.6.39" Lower WhenNonZero [Trial Stat Export Watch]
        fleet "refused_huge_faults_per_second"
        "no huge page could be allocated or charged in a fault. The kernel does not count faults in unfit mappings";
    ThpFaultFallbackCharge "thp_fault_fallback_charge_total" "huge charges refused" ["thp_fault_fallback_charge"] Vmstat "5.7" Lower OnRequest [Trial Export]
        "the part of the refusals that a memory cgroup caused";
    ThpCollapseAlloc "thp_collapse_alloc_total" "pages collapsed" ["thp_collapse_alloc"] VmstatAndGroups "2.6.39" Neither WhenNonZero [Trial Stat Export Watch]
        fleet "collapses_per_second"
        "huge pages made by khugepaged or MADV_COLLAPSE";
    KhugepagedCollapsed "khugepaged_collapsed_total" "khugepaged collapsed" ["pages_collapsed"] Khugepaged "2.6.38" Neither OnRequest [Trial]
        "huge pages made by khugepaged only";
    ThpCollapseAllocFailed "thp_collapse_alloc_failed_total" "collapses refused" ["thp_collapse_alloc_failed"] Vmstat "2.6.39" Lower OnRequest [Trial Export Watch]
        "no huge page could be allocated for a collapse";
    ThpSplitPmd "thp_split_pmd_total" "huge mappings split" ["thp_split_pmd"] Vmstat "4.5" Lower WhenNonZero [Trial Stat Export]
        "a PMD mapping turned into small ones";
    ThpSplitPage "thp_split_page_total" "huge pages split" ["thp_split_page"] Vmstat "4.5" Lower OnRequest [Trial Export Watch]
        fleet "splits_per_second"
        "huge pages made small pages again";
    ThpSplitPageFailed "thp_split_page_failed_total" "splits refused" ["thp_split_page_failed"] Vmstat "4.5" Lower OnRequest [Trial Export]
        "huge pages that could not be split, because something else held them";
    ThpDeferredSplitPage "thp_deferred_split_page_total" "splits deferred" ["thp_deferred_split_page"] Vmstat "4.5" Lower OnRequest [Trial Export]
        "partly unmapped huge pages";
    ThpZeroPageAlloc "thp_zero_page_alloc_total" "huge zero page made" ["thp_zero_page_alloc"] Vmstat "3.8" Neither OnRequest [Trial Export]
        "allocations of the single shared page, not its mappings";
    CompactStall "compact_stall_total" "compaction stalls" ["compact_stall"] Vmstat "2.6.35" Lower WhenNonZero [Trial Stat Export Watch]
        fleet "compaction_stalls_per_second"
        "an allocation compacted memory itself";
    CompactSuccess "compact_success_total" "compactions done" ["compact_success"] Vmstat "2.6.35" Neither OnRequest [Trial Stat Export]
        "the part of the compaction stalls that made room";
    CompactFail "compact_fail_total" "compactions failed" ["compact_fail"] Vmstat "2.6.35" Lower OnRequest [Trial Stat Export]
        "the part of the compaction stalls that made no room";
    CompactMigrateScanned "compact_migrate_scanned_total" "pages scanned to move" ["compact_migrate_scanned"] Vmstat "3.8" Lower OnRequest [Stat Export]
        "pages that compaction looked at to move";
    CompactDaemonWake "compact_daemon_wake_total" "calls for kcompactd" ["compact_daemon_wake"] Vmstat "4.6" Neither OnRequest [Stat Export]
        "calls for kcompactd";
    Allocstall "allocstall_total" "reclaim stalls" ["allocstall_*"] Vmstat "4.8" Lower WhenNonZero [Trial Export Watch]
        fleet "reclaim_stalls_per_second"
        "an allocation reclaimed memory itself; summed over zones";
    SwappedPages "swapped_pages_total" "pages swapped" ["pswpin", "pswpout"] Vmstat "2.6" Lower WhenNonZero [Trial]
        "pages read from swap and written to it";
    ReclaimedPages "reclaimed_pages_total" "pages reclaimed" ["pgsteal_kswapd", "pgsteal_direct"] Vmstat "4.8" Lower OnRequest []
        fleet "reclaimed_pages_per_second"
        "pages taken back, by kswapd and by allocations themselves";
    OomKill "oom_kill_total" "killed for memory" ["oom_kill"] Vmstat "4.13" Lower OnRequest [Export]
        fleet "oom_kills_per_second"
        "processes killed by the kernel's OOM killer";
    ThpFileAlloc "thp_file_alloc_total" "huge file faults" ["thp_file_alloc"] Vmstat "4.8" Neither WhenNonZero [Trial Export]
        "huge pages of shared memory";
    ThpFileFallback "thp_file_fallback_total" "huge file faults refused" ["thp_file_fallback"] Vmstat "5.7" Lower OnRequest [Export]
        "no huge page could be allocated for shared memory";
    ThpMigrationSuccess "thp_migration_success_total" "huge pages moved" ["thp_migration_success"] Vmstat "5.9" Neither OnRequest [Export]
        "huge pages moved whole";
    ThpMigrationFail "thp_migration_fail_total" "huge moves failed" ["thp_migration_fail"] Vmstat "5.9" Lower OnRequest [Export]
        "huge pages that could not be moved";
    ThpScanExceedNonePte "thp_scan_exceed_none_pte_total" "collapses too empty" ["thp_scan_exceed_none_pte"] Vmstat "5.17" Neither OnRequest [Export]
        "ranges that khugepaged left because of max_ptes_none";
    ThpSwpout "thp_swpout_total" "huge pages swapped" ["thp_swpout"] Vmstat "4.14" Lower OnRequest [Export]
        "huge pages written to swap whole";
    ThpSwpoutFallback "thp_swpout_fallback_total" "split for swap" ["thp_swpout_fallback"] Vmstat "4.14" Lower OnRequest [Export]
        "huge pages split before they were written to swap";
    ThpUnderusedSplitPage "thp_underused_split_page_total" "underused split" ["thp_underused_split_page"] Vmstat "6.12" Lower OnRequest [Export]
        "huge pages split because most of each was zero";

    // Trials and `export` report every file of a folio size, by the kernel's name.
    AnonFaultAlloc "anon_fault_alloc_total" "served" ["anon_fault_alloc"] SizeStats "6.10" Neither OnRequest [Watch]
        "page faults that got a folio of this size";
    AnonFaultFallback "anon_fault_fallback_total" "fallbacks" ["anon_fault_fallback"] SizeStats "6.10" Lower WhenNonZero [Watch]
        "page faults that wanted a folio of this size and got smaller pages";
    Split "split_total" "splits" ["split"] SizeStats "6.11" Lower OnRequest [Watch Trend]
        "folios made smaller ones";
    SplitDeferred "split_deferred_total" "to be split" ["split_deferred"] SizeStats "6.11" Lower OnRequest [Trend]
        "folios mapped in part, put on the list of those to split when memory is short";
    Swpout "swpout_total" "swapped" ["swpout"] SizeStats "6.11" Lower OnRequest [Watch]
        "folios written to swap whole";
    NrAnon "nr_anon_total" "in use" ["nr_anon"] SizeStats "6.12" Neither OnRequest [Watch]
        "anonymous folios of this size in use";
    NrAnonPartiallyMapped "nr_anon_partially_mapped_total" "in part" ["nr_anon_partially_mapped"] SizeStats "6.12" Lower OnRequest [Watch Trend]
        "folios with some pages no longer mapped";

    AnonBytes "anon_bytes" "anonymous memory" ["AnonPages"] Meminfo "2.6" Lower OnRequest [Export Watch]
        fleet "anon_bytes"
        "anonymous memory";
    AnonHugeBytes "anon_huge_bytes" "huge anonymous memory" ["AnonHugePages"] Meminfo "2.6.38" Neither OnRequest [Export Watch]
        fleet "anon_huge_bytes"
        "anonymous memory that PMDs map";
    ShmemBytes "shmem_bytes" "shared memory" ["Shmem"] Meminfo "2.6.32" Neither OnRequest [Export Watch]
        "shared memory";
    ShmemHugeBytes "shmem_huge_bytes" "huge shared memory" ["ShmemHugePages"] Meminfo "4.8" Neither OnRequest [Export Watch]
        fleet "shmem_huge_bytes"
        "shared memory in huge pages";
    FileHugeBytes "file_huge_bytes" "huge page cache" ["FileHugePages"] Meminfo "5.4" Neither OnRequest [Export Watch]
        "page cache in huge pages";
    AvailableBytes "available_bytes" "available memory" ["MemAvailable"] Meminfo "3.14" Higher OnRequest [Export]
        fleet "available_bytes"
        "memory that programs can have without swapping";
    TotalBytes "total_bytes" "all memory" ["MemTotal"] Meminfo "2.6" Neither OnRequest [Export]
        "all memory that the kernel manages";
}
