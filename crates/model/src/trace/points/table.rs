//! The table itself: each point with its means, the best first.

use std::borrow::Cow;

use super::{Decode, Edge, Key, Means, Point, Preset, Who};

/// Ranges of the kernel's scan results, `enum scan_result` (mm/khugepaged.c).
const SCAN_RESULT: Decode = Decode::Enumeration {
    name: "scan_result",
    prefix: "SCAN_",
};
/// `enum compact_result` (include/linux/compaction.h).
const COMPACT_RESULT: Decode = Decode::Enumeration {
    name: "compact_result",
    prefix: "COMPACT_",
};
const ORDER: Key = Key {
    parameters: &["order"],
    decode: Decode::Order,
};
/// What an allocation is for, `enum migratetype` (include/linux/mmzone.h).
const MIGRATE_TYPE: Key = Key {
    parameters: &["alloc_migratetype"],
    decode: Decode::Enumeration {
        name: "migratetype",
        prefix: "MIGRATE_",
    },
};
const STATUS: Key = Key {
    parameters: &["status", "result"],
    decode: SCAN_RESULT,
};

/// A function, by the names that it has had, newest first.
fn function(names: &[&'static str], key: Option<Key>, includes: &'static str) -> Means {
    Means::Function {
        names: names.iter().map(|name| Cow::Borrowed(*name)).collect(),
        key,
        includes,
    }
}

fn point(
    preset: Preset,
    name: &'static str,
    title: &'static str,
    means: impl IntoIterator<Item = Means>,
) -> Point {
    Point {
        name: Cow::Borrowed(name),
        title: Cow::Borrowed(title),
        preset,
        means: means.into_iter().collect(),
    }
}

fn event(group: &'static str, name: &'static str, includes: &'static str) -> Means {
    event_by(STATUS, group, name, includes)
}

fn event_by(key: Key, group: &'static str, name: &'static str, includes: &'static str) -> Means {
    Means::Event {
        group,
        name,
        key,
        includes,
    }
}

/// Every point that has a name, in the order in which they are shown. The names of functions
/// are those of Linux 5.10 to 7.3.
#[must_use]
pub fn points() -> Vec<Point> {
    let mut all = allocation();
    all.extend(reclaim());
    all.extend(khugepaged());
    all.extend(pages());
    all.extend(locks());
    all
}

fn allocation() -> Vec<Point> {
    let compaction = |who, includes| Means::Pair {
        group: "compaction",
        begin: "mm_compaction_begin",
        end: "mm_compaction_end",
        key: Some((
            Edge::End,
            Key {
                parameters: &["status"],
                decode: COMPACT_RESULT,
            },
        )),
        who,
        includes,
    };
    vec![
        point(
            Preset::Alloc,
            "allocation_slow_path",
            "allocations that took the slow path",
            [function(
                &["__alloc_pages_slowpath"],
                Some(ORDER),
                "waking kswapd, direct compaction and direct reclaim of one allocation",
            )],
        ),
        point(
            Preset::Alloc,
            "compaction_attempt",
            "allocations that tried direct compaction",
            [event_by(
                ORDER,
                "compaction",
                "mm_compaction_try_to_compact_pages",
                "each attempt of an allocation in the slow path, whatever came of it",
            )],
        ),
        point(
            Preset::Alloc,
            "fallback",
            "allocations that fell back, by migrate type",
            [event_by(
                MIGRATE_TYPE,
                "kmem",
                "mm_page_alloc_extfrag",
                "each such allocation, by its own type: how memory comes to be fragmented",
            )],
        ),
        point(
            Preset::Alloc,
            "fallback_order",
            "allocations that fell back, by order",
            [event_by(
                Key {
                    parameters: &["alloc_order"],
                    decode: Decode::Order,
                },
                "kmem",
                "mm_page_alloc_extfrag",
                "each allocation that was served from blocks of another migrate type",
            )],
        ),
        point(
            Preset::Compaction,
            "direct_compaction",
            "direct compaction",
            [
                function(
                    &["try_to_compact_pages"],
                    Some(ORDER),
                    "all zones of one allocation, by programs and by khugepaged",
                ),
                compaction(Who::Programs, "each zone by itself, programs only"),
            ],
        ),
        point(
            Preset::Compaction,
            "background_compaction",
            "background compaction",
            [compaction(
                Who::KernelThreads,
                "each zone by itself: kcompactd, and khugepaged for its own pages",
            )],
        ),
    ]
}

fn reclaim() -> Vec<Point> {
    vec![
        point(
            Preset::Reclaim,
            "direct_reclaim",
            "direct reclaim",
            [
                function(
                    &["try_to_free_pages"],
                    Some(ORDER),
                    "one reclaim of an allocation, throttling included",
                ),
                Means::Pair {
                    group: "vmscan",
                    begin: "mm_vmscan_direct_reclaim_begin",
                    end: "mm_vmscan_direct_reclaim_end",
                    key: Some((Edge::Begin, ORDER)),
                    who: Who::Everyone,
                    includes: "one reclaim of an allocation, throttling not included",
                },
            ],
        ),
        point(
            Preset::Reclaim,
            "cgroup_reclaim",
            "reclaim at a cgroup's limit",
            [
                function(
                    &["try_to_free_mem_cgroup_pages"],
                    None,
                    "one reclaim at the limit of a memory cgroup",
                ),
                Means::Pair {
                    group: "vmscan",
                    begin: "mm_vmscan_memcg_reclaim_begin",
                    end: "mm_vmscan_memcg_reclaim_end",
                    key: None,
                    who: Who::Everyone,
                    includes: "one reclaim at the limit of a memory cgroup",
                },
            ],
        ),
        point(
            Preset::Reclaim,
            "kswapd",
            "kswapd awake",
            [Means::Pair {
                group: "vmscan",
                begin: "mm_vmscan_kswapd_wake",
                end: "mm_vmscan_kswapd_sleep",
                key: None,
                who: Who::Everyone,
                includes: "from the order to wake to the next sleep, of one node",
            }],
        ),
    ]
}

fn khugepaged() -> Vec<Point> {
    vec![
        point(
            Preset::Khugepaged,
            "khugepaged_scan",
            "khugepaged scanning one process",
            [function(
                &["collapse_scan_mm_slot", "khugepaged_scan_mm_slot"],
                None,
                "scanning and all collapses of one step",
            )],
        ),
        point(
            Preset::Khugepaged,
            "collapse",
            "collapse into a huge page",
            [
                function(
                    &["collapse_huge_page"],
                    None,
                    "allocating, isolating, copying and mapping, by khugepaged and MADV_COLLAPSE",
                ),
                Means::Pair {
                    group: "huge_memory",
                    begin: "mm_collapse_huge_page_isolate",
                    end: "mm_collapse_huge_page",
                    key: Some((Edge::End, STATUS)),
                    who: Who::Everyone,
                    includes: "copying and mapping; not allocating, not isolating",
                },
            ],
        ),
        point(
            Preset::Khugepaged,
            "scan_result",
            "results of scanning a range",
            [event(
                "huge_memory",
                "mm_khugepaged_scan_pmd",
                "each huge-page range of anonymous memory, by khugepaged and MADV_COLLAPSE",
            )],
        ),
        point(
            Preset::Khugepaged,
            "scan_file_result",
            "results of scanning a range of a file",
            [event(
                "huge_memory",
                "mm_khugepaged_scan_file",
                "each huge-page range of a file or of shared memory",
            )],
        ),
        point(
            Preset::Khugepaged,
            "collapse_file_result",
            "results of collapsing a range of a file",
            [event(
                "huge_memory",
                "mm_khugepaged_collapse_file",
                "each huge-page range of a file or of shared memory that was tried",
            )],
        ),
    ]
}

fn pages() -> Vec<Point> {
    vec![
        point(
            Preset::Zeroing,
            "zeroing",
            "zeroing of huge pages",
            [function(
                &["folio_zero_user", "clear_huge_page"],
                None,
                "one huge page or one folio of several pages",
            )],
        ),
        point(
            Preset::Fault,
            "fault",
            "page faults",
            [
                function(
                    &["handle_mm_fault"],
                    None,
                    "faults and touches on behalf of a system call; not the processor's own way there",
                ),
                Means::Faults {
                    includes: "faults that ended well, from the processor's report to the mapping; \
                               not those on behalf of a system call",
                },
            ],
        ),
        point(
            Preset::Fault,
            "huge_fault",
            "faults for a huge page",
            [function(
                &["do_huge_pmd_anonymous_page"],
                None,
                "one anonymous fault where a huge page fits, whether it got one or not",
            )],
        ),
        point(
            Preset::Fault,
            "copy_on_write",
            "faults that write to a shared or read-only page",
            [function(
                &["do_wp_page"],
                None,
                "one such fault on a small page: copying, or taking it over",
            )],
        ),
        point(
            Preset::Split,
            "split_mapping",
            "splitting a huge mapping",
            [function(
                &["__split_huge_pmd"],
                None,
                "one PMD mapping turned into small ones",
            )],
        ),
        point(
            Preset::Split,
            "split_page",
            "splitting a huge page",
            [function(
                &[
                    "__folio_split",
                    "split_huge_page_to_list_to_order",
                    "split_huge_page_to_list",
                ],
                None,
                "one huge page turned into smaller ones, tries that failed included",
            )],
        ),
    ]
}

fn locks() -> Vec<Point> {
    vec![
        point(
            Preset::Lock,
            "mmap_lock",
            "taking mmap_lock",
            [Means::Pair {
                group: "mmap_lock",
                begin: "mmap_lock_start_locking",
                end: "mmap_lock_acquire_returned",
                key: Some((
                    Edge::Begin,
                    Key {
                        parameters: &["write"],
                        decode: Decode::Flag(["read", "write"]),
                    },
                )),
                who: Who::Everyone,
                includes: "each taking of the lock, waited for or not",
            }],
        ),
        point(
            Preset::Lock,
            "mmap_lock_wait",
            "waiting for mmap_lock while another has it",
            [Means::Pair {
                group: "lock",
                begin: "contention_begin",
                end: "contention_end",
                key: None,
                who: Who::AtOwnMmapLock,
                includes: "each time a thread queues for the lock of its own address space; not \
                           spinning before that",
            }],
        ),
    ]
}
