//! Reclaim: by whoever allocates, at a cgroup's limit, by kswapd.

use super::super::{Edge, Hook, Point, Preset, Who};
use super::{ORDER, function, point};

pub(super) fn reclaim() -> Vec<Point> {
    vec![direct(), at_limit(), kswapd()]
}

fn direct() -> Point {
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
            Hook::Pair {
                group: "vmscan",
                begin: "mm_vmscan_direct_reclaim_begin",
                end: "mm_vmscan_direct_reclaim_end",
                key: Some((Edge::Begin, ORDER)),
                who: Who::Everyone,
                includes: "one reclaim of an allocation, throttling not included",
            },
        ],
    )
}

fn at_limit() -> Point {
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
            Hook::Pair {
                group: "vmscan",
                begin: "mm_vmscan_memcg_reclaim_begin",
                end: "mm_vmscan_memcg_reclaim_end",
                key: None,
                who: Who::Everyone,
                includes: "one reclaim at the limit of a memory cgroup",
            },
        ],
    )
}

fn kswapd() -> Point {
    point(
        Preset::Reclaim,
        "kswapd",
        "kswapd awake",
        [Hook::Pair {
            group: "vmscan",
            begin: "mm_vmscan_kswapd_wake",
            end: "mm_vmscan_kswapd_sleep",
            key: None,
            who: Who::Everyone,
            includes: "from the order to wake to the next sleep, of one node",
        }],
    )
}
