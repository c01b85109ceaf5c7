//! mmap_lock: taking it, and waiting for it.

use super::super::{Decode, Edge, Hook, Key, Point, Preset, Who};
use super::point;

pub(super) fn locks() -> Vec<Point> {
    vec![
        point(
            Preset::Lock,
            "mmap_lock",
            "taking mmap_lock",
            [Hook::Pair {
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
            "mmap_lock contention",
            [Hook::Pair {
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
