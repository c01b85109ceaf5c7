//! Allocations that are not served at once: the slow path, fallbacks, compaction.

use super::super::{Decode, Edge, Hook, Key, Point, Preset, Who};
use super::{ORDER, event_by, function, point};

/// `enum compact_result` (include/linux/compaction.h).
const COMPACT_RESULT: Decode = Decode::Enumeration {
    name: "compact_result",
    prefix: "COMPACT_",
};
/// What an allocation is for, `enum migratetype` (include/linux/mmzone.h).
const MIGRATE_TYPE: Key = Key {
    parameters: &["alloc_migratetype"],
    decode: Decode::Enumeration {
        name: "migratetype",
        prefix: "MIGRATE_",
    },
};

pub(super) fn allocation() -> Vec<Point> {
    let mut all = slow_path();
    all.extend(fallbacks());
    all.extend(compaction());
    all
}

fn slow_path() -> Vec<Point> {
    vec![
        point(
            Preset::Alloc,
            "allocation_slow_path",
            "slow-path allocations",
            [function(
                &["__alloc_pages_slowpath"],
                Some(ORDER),
                "waking kswapd, direct compaction and direct reclaim of one allocation",
            )],
        ),
        point(
            Preset::Alloc,
            "compaction_attempt",
            "direct compaction attempts",
            [event_by(
                ORDER,
                "compaction",
                "mm_compaction_try_to_compact_pages",
                "each attempt of an allocation in the slow path, whatever came of it",
            )],
        ),
    ]
}

fn fallbacks() -> Vec<Point> {
    vec![
        point(
            Preset::Alloc,
            "fallback",
            "fallbacks to another migrate type",
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
            "migrate type fallbacks by order",
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
    ]
}

fn compaction() -> Vec<Point> {
    vec![
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
                zones(Who::Programs, "each zone by itself, programs only"),
            ],
        ),
        point(
            Preset::Compaction,
            "background_compaction",
            "background compaction",
            [zones(
                Who::KernelThreads,
                "each zone by itself: kcompactd, and khugepaged for its own pages",
            )],
        ),
    ]
}

/// Compaction of one zone at a time.
fn zones(who: Who, includes: &'static str) -> Hook {
    let key = Key {
        parameters: &["status"],
        decode: COMPACT_RESULT,
    };
    Hook::Pair {
        group: "compaction",
        begin: "mm_compaction_begin",
        end: "mm_compaction_end",
        key: Some((Edge::End, key)),
        who,
        includes,
    }
}
