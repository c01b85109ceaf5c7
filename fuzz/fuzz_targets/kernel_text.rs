//! The kernel's text, torn or strange: a value or an error, never a panic.
#![no_main]

use hugewise_linux::proc::{buddyinfo, cgroup, smaps_rollup, stat, status, tree, vmstat};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = buddyinfo::parse_buddyinfo(bytes);
    let _ = cgroup::parse_memory_hierarchy(bytes);
    let _ = cgroup::parse_memory_path(bytes, 1);
    let _ = smaps_rollup::parse_smaps_rollup(bytes);
    let _ = stat::parse_stat(bytes);
    let _ = stat::parse_had_children(bytes);
    let _ = status::parse_status(bytes);
    let _ = tree::parse_children(bytes);
    let _ = vmstat::parse_vmstat(bytes);
});
