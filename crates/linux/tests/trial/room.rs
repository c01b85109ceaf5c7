//! Frees memory for huge pages, for tests that count huge pages exactly.

use std::sync::atomic::AtomicBool;

use hugewise_linux::apply::first_touch::warm;

const MIB: u64 = 1 << 20;
/// Enough for three programs of 90 MiB at once, and other load.
const BYTES: u64 = 400 * MIB;

/// Makes huge pages free: after many builds, the page cache leaves only small blocks, and a fault that finds no huge
/// page uses a small one. A request for many huge pages at once makes the kernel move the pages that are in the way.
pub(super) fn make_room() {
    let never = AtomicBool::new(false);
    let made = warm(BYTES, 2 * MIB, BYTES, &never);
    made.expect("memory is there");
}
