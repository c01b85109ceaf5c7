//! The kernel's text, torn or strange: a value or an error, never a panic.
#![no_main]

use hugewise_linux::proc::{buddyinfo, mounts, smaps_rollup, stat, status, tree, vmstat};
use hugewise_linux::space;
use hugewise_linux::sys::cgroup;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = buddyinfo::parse_buddyinfo(bytes);
    let _ = mounts::parse_mounts(bytes);
    let _ = cgroup::parse_membership(bytes);
    let _ = space::parse_mappings(bytes);
    let _ = smaps_rollup::parse_smaps_rollup(bytes);
    let _ = stat::parse_stat(bytes);
    let _ = stat::parse_had_children(bytes);
    let _ = status::parse_status(bytes);
    let _ = tree::parse_children(bytes);
    let _ = vmstat::parse_vmstat(bytes);
});
