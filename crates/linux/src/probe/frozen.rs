//! The files of a frozen machine: exactly those used by readers.

use hugewise_base::glob::{fits, is_pattern};

use crate::machine::root::Root;

/// All files used by readers of hosts, relative to the root; `*` matches any part of one name. If a reader uses another
/// file, add it here, otherwise it is missing in frozen machines.
pub const FROZEN: &[&str] = &[
    "proc/buddyinfo",
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/device-tree/hypervisor/compatible",
    "proc/loadavg",
    "proc/meminfo",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/stat",
    "proc/sys/kernel/cap_last_cap",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/yama/ptrace_scope",
    "proc/sys/kernel/random/boot_id",
    "proc/vmstat",
    "sys/bus/event_source/devices/arm*/cpus",
    "sys/bus/event_source/devices/arm*/events/*",
    "sys/bus/event_source/devices/arm*/type",
    "sys/bus/event_source/devices/cpu*/cpus",
    "sys/bus/event_source/devices/cpu*/type",
    "sys/bus/virtio/devices/virtio*/features",
    "sys/bus/virtio/devices/virtio*/uevent",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/sys_vendor",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/has_memory",
    "sys/firmware/devicetree/base/hypervisor/compatible",
    "sys/hypervisor/type",
    "sys/kernel/mm/hugepages/hugepages-*kB/free_hugepages",
    "sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages",
    "sys/kernel/mm/hugepages/hugepages-*kB/nr_overcommit_hugepages",
    "sys/kernel/mm/hugepages/hugepages-*kB/resv_hugepages",
    "sys/kernel/mm/transparent_hugepage/*",
    "sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled",
    "sys/kernel/mm/transparent_hugepage/hugepages-*kB/shmem_enabled",
    "sys/kernel/mm/transparent_hugepage/khugepaged/*",
    "sys/module/page_reporting/parameters/page_reporting_order",
    "usr/lib/*-linux-gnu*/libc.so.6",
    "usr/lib/*-linux-gnu*/libjemalloc.so.*",
    "usr/lib/*-linux-gnu*/libmimalloc.so.*",
    "usr/lib/*-linux-gnu*/libtcmalloc_minimal.so.*",
    "usr/lib64/libc.so.6",
    "usr/lib64/libjemalloc.so.*",
    "usr/lib64/libmimalloc.so.*",
    "usr/lib64/libtcmalloc_minimal.so.*",
];

/// Files of the memory cgroup, for every level from the process's group to the mount.
pub const FROZEN_CGROUP: &[&str] = &[
    "cgroup.controllers",
    "memory.current",
    "memory.limit_in_bytes",
    "memory.max",
    "memory.usage_in_bytes",
];

/// Returns the files and directories that match a pattern, relative to the root, sorted.
#[must_use]
pub fn expand(root: &Root, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern.split('/') {
        found = found
            .iter()
            .flat_map(|folder| step(root, folder, part))
            .collect();
    }
    found
}

fn step(root: &Root, folder: &str, part: &str) -> Vec<String> {
    let below = |name: &str| match folder {
        "" => name.to_owned(),
        _ => format!("{folder}/{name}"),
    };
    if !is_pattern(part) {
        let path = below(part);
        return if root.path(&path).exists() {
            vec![path]
        } else {
            Vec::new()
        };
    }
    let names = root.list(if folder.is_empty() { "." } else { folder });
    let names = names.unwrap_or_default().into_iter();
    names
        .filter(|name| fits(part, name))
        .map(|name| below(&name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_found() {
        let machine = tempfile::tempdir().unwrap();
        for file in ["a/x1/f", "a/x2/f", "a/y/f", "a/x3/g"] {
            let path = machine.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let root = Root::at(machine.path());
        assert_eq!(expand(&root, "a/x*/f"), ["a/x1/f", "a/x2/f"]);
        assert!(expand(&root, "a/z/f").is_empty());
    }
}
