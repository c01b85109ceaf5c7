//! Room for huge pages, where tests count them exactly.

use std::sync::atomic::AtomicBool;

use hugewise_linux::apply::first_touch::warm;

const MIB: u64 = 1 << 20;
/// Three programs of 90 MiB at once, and what else runs.
const BYTES: u64 = 400 * MIB;

/// Leaves huge pages free: the page cache of a machine that has built much leaves small blocks, and a
/// fault that finds no huge page takes a small one. Who asks for huge pages at once makes the kernel
/// move what is in the way.
pub(super) fn make_room() {
    let never = AtomicBool::new(false);
    let made = warm(BYTES, 2 * MIB, BYTES, &never);
    made.expect("memory is there");
}
