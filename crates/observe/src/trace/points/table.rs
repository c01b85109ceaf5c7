//! The table, by subject: each point with its mechanisms, the best first.

use std::borrow::Cow;

use super::{Decode, Edge, Hook, Key, Point, Preset, Who};

const ORDER: Key = key(&["order"], Decode::Order);
const FALLBACK_ORDER: Key = key(&["alloc_order"], Decode::Order);
/// The purpose of an allocation (include/linux/mmzone.h).
const MIGRATE_TYPE: Key = key(
    &["alloc_migratetype"],
    enumeration("migratetype", "MIGRATE_"),
);
/// The result of a compaction (include/linux/compaction.h).
const COMPACTED: Key = key(&["status"], enumeration("compact_result", "COMPACT_"));
/// The result of a scan or a collapse (mm/khugepaged.c).
const SCANNED: Key = key(&["status", "result"], enumeration("scan_result", "SCAN_"));
const ACCESS: Key = key(&["write"], Decode::Flag(["read", "write"]));

/// Every named point, in display order. The names of functions are those of Linux 5.10 to 7.3.
#[must_use]
pub fn points() -> Vec<Point> {
    [
        allocation(),
        compaction(),
        reclaim(),
        khugepaged(),
        pages(),
        locks(),
    ]
    .concat()
}

/// Allocations that are not served from the free lists: the slow path, and fallbacks.
#[rustfmt::skip]
fn allocation() -> Vec<Point> {
    let of = |name, title, means| point(Preset::Alloc, name, title, [means]);
    vec![
        of("allocation_slow_path", "slow-path allocations", function(&["__alloc_pages_slowpath"], Some(ORDER),
            "waking kswapd, direct compaction and direct reclaim of one allocation")),
        of("compaction_attempt", "direct compaction attempts", event_by(ORDER, "compaction", "mm_compaction_try_to_compact_pages",
            "each attempt of an allocation in the slow path, whatever came of it")),
        of("fallback", "fallbacks to another migrate type", event_by(MIGRATE_TYPE, "kmem", "mm_page_alloc_extfrag",
            "each such allocation, by its own type: how memory comes to be fragmented")),
        of("fallback_order", "migrate type fallbacks by order", event_by(FALLBACK_ORDER, "kmem", "mm_page_alloc_extfrag",
            "each allocation that was served from blocks of another migrate type")),
    ]
}

#[rustfmt::skip]
fn compaction() -> Vec<Point> {
    let zones = |who, includes| {
        pair("compaction", ["mm_compaction_begin", "mm_compaction_end"], Some((Edge::End, COMPACTED)), who, includes)
    };
    vec![
        point(Preset::Compaction, "direct_compaction", "direct compaction", [
            function(&["try_to_compact_pages"], Some(ORDER), "all zones of one allocation, by programs and by khugepaged"),
            zones(Who::Programs, "per zone, programs only"),
        ]),
        point(Preset::Compaction, "background_compaction", "background compaction", [
            zones(Who::KernelThreads, "per zone: kcompactd, and khugepaged for its own pages"),
        ]),
    ]
}

/// Direct reclaim by the allocating thread, reclaim at the limit of a cgroup, and kswapd.
#[rustfmt::skip]
fn reclaim() -> Vec<Point> {
    const AT_LIMIT: &str = "one reclaim at the limit of a memory cgroup";
    // The tracepoints are new in Linux 7.2.
    const BALANCE: &str = "one reclaim of a node by kswapd, until enough is free";
    let ends = |begin, end, key, includes| pair("vmscan", [begin, end], key, Who::Everyone, includes);
    vec![
        point(Preset::Reclaim, "direct_reclaim", "direct reclaim", [
            function(&["try_to_free_pages"], Some(ORDER), "one reclaim of an allocation, throttling included"),
            ends("mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end", Some((Edge::Begin, ORDER)),
                "one reclaim of an allocation, throttling not included"),
        ]),
        point(Preset::Reclaim, "cgroup_reclaim", "reclaim at a cgroup's limit", [
            function(&["try_to_free_mem_cgroup_pages"], None, AT_LIMIT),
            ends("mm_vmscan_memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_end", None, AT_LIMIT),
        ]),
        point(Preset::Reclaim, "kswapd", "kswapd awake", [
            ends("mm_vmscan_kswapd_wake", "mm_vmscan_kswapd_sleep", None,
                "from the order to wake to the next sleep, of one node"),
        ]),
        point(Preset::Reclaim, "kswapd_balance", "kswapd reclaiming", [
            function(&["balance_pgdat"], Some(ORDER), BALANCE),
            ends("mm_vmscan_balance_pgdat_begin", "mm_vmscan_balance_pgdat_end", Some((Edge::Begin, ORDER)), BALANCE),
        ]),
    ]
}

/// Its scans and collapses, and their results.
#[rustfmt::skip]
fn khugepaged() -> Vec<Point> {
    let result = |name, title, event, includes| {
        point(Preset::Khugepaged, name, title, [event_by(SCANNED, "huge_memory", event, includes)])
    };
    vec![
        point(Preset::Khugepaged, "khugepaged_scan", "khugepaged scanning one process", [
            function(&["collapse_scan_mm_slot", "khugepaged_scan_mm_slot"], None, "scanning and all collapses of one step"),
        ]),
        point(Preset::Khugepaged, "collapse", "collapse into a huge page", [
            function(&["collapse_huge_page"], None,
                "allocating, isolating, copying and mapping, by khugepaged and MADV_COLLAPSE"),
            pair("huge_memory", ["mm_collapse_huge_page_isolate", "mm_collapse_huge_page"], Some((Edge::End, SCANNED)),
                Who::Everyone, "copying and mapping; not allocating, not isolating"),
        ]),
        result("scan_result", "scan results, anonymous", "mm_khugepaged_scan_pmd",
            "each huge-page range of anonymous memory, by khugepaged and MADV_COLLAPSE"),
        result("scan_file_result", "scan results, files", "mm_khugepaged_scan_file",
            "each huge-page range of a file or of shared memory"),
        result("collapse_file_result", "collapse results, files", "mm_khugepaged_collapse_file",
            "each huge-page range of a file or of shared memory that was tried"),
    ]
}

/// Work on single pages: zeroing, faults, splitting.
#[rustfmt::skip]
fn pages() -> Vec<Point> {
    fn inside(preset: Preset, name: &'static str, title: &'static str, names: &[&'static str], includes: &'static str) -> Point {
        point(preset, name, title, [function(names, None, includes)])
    }
    vec![
        inside(Preset::Zeroing, "zeroing", "zeroing huge pages", &["folio_zero_user", "clear_huge_page"],
            "one huge page or one folio of several pages"),
        point(Preset::Fault, "fault", "page faults", [
            function(&["handle_mm_fault"], None,
                "faults and touches on behalf of a system call; not the processor's own way there"),
            Hook::Faults {
                includes: "faults that ended well, from the processor's report to the mapping; \
                           not those on behalf of a system call",
            },
        ]),
        inside(Preset::Fault, "huge_fault", "huge page faults", &["do_huge_pmd_anonymous_page"],
            "one anonymous fault where a huge page fits, whether it got one or not"),
        inside(Preset::Fault, "copy_on_write", "copy-on-write faults", &["do_wp_page"],
            "one such fault on a small page: copying, or taking it over"),
        inside(Preset::Split, "split_mapping", "splitting a huge mapping", &["__split_huge_pmd"],
            "one PMD mapping turned into small ones"),
        inside(Preset::Split, "split_page", "splitting a huge page",
            &["__folio_split", "split_huge_page_to_list_to_order", "split_huge_page_to_list"],
            "one huge page turned into smaller ones, tries that failed included"),
    ]
}

/// mmap_lock: taking it, and waiting for it.
#[rustfmt::skip]
fn locks() -> Vec<Point> {
    vec![
        point(Preset::Lock, "mmap_lock", "taking mmap_lock", [
            pair("mmap_lock", ["mmap_lock_start_locking", "mmap_lock_acquire_returned"], Some((Edge::Begin, ACCESS)),
                Who::Everyone, "each taking of the lock, waited for or not"),
        ]),
        point(Preset::Lock, "mmap_lock_wait", "mmap_lock contention", [
            pair("lock", ["contention_begin", "contention_end"], None, Who::AtOwnMmapLock,
                "each time a thread queues for the lock of its own address space; not spinning before that"),
        ]),
    ]
}

const fn key(parameters: &'static [&'static str], decode: Decode) -> Key {
    Key { parameters, decode }
}

const fn enumeration(name: &'static str, prefix: &'static str) -> Decode {
    Decode::Enumeration { name, prefix }
}

fn point(
    preset: Preset,
    name: &'static str,
    title: &'static str,
    means: impl IntoIterator<Item = Hook>,
) -> Point {
    Point {
        name: Cow::Borrowed(name),
        title: Cow::Borrowed(title),
        preset,
        means: means.into_iter().collect(),
    }
}

/// A function, by its names across kernel versions, newest first.
fn function(names: &[&'static str], key: Option<Key>, includes: &'static str) -> Hook {
    Hook::Function {
        names: names.iter().map(|name| Cow::Borrowed(*name)).collect(),
        key,
        includes,
    }
}

/// From one tracepoint of a group to another.
fn pair(
    group: &'static str,
    [begin, end]: [&'static str; 2],
    key: Option<(Edge, Key)>,
    who: Who,
    includes: &'static str,
) -> Hook {
    Hook::Pair {
        group,
        begin,
        end,
        key,
        who,
        includes,
    }
}

fn event_by(key: Key, group: &'static str, name: &'static str, includes: &'static str) -> Hook {
    Hook::Event {
        group,
        name,
        key,
        includes,
    }
}
