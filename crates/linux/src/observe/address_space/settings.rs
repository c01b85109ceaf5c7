//! Settings of the machine and of the cgroup that apply to an address space.

use hugewise_observe::inspect::reasons::{CgroupMemory, Settings};

use super::reach::probe_address_bits;
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::proc::{buddyinfo, cpuinfo, meminfo, tree, vmstat};
use crate::sys::{cgroup, cpu, hypervisor, thp};

/// The directories that describe khugepaged's trace event; the second is the older mount.
const EVENT: [&str; 2] = [
    "sys/kernel/tracing/events/huge_memory/mm_khugepaged_scan_pmd/format",
    "sys/kernel/debug/tracing/events/huge_memory/mm_khugepaged_scan_pmd/format",
];

/// Reads the machine's settings and the memory cgroup of a process. Settings that cannot be read are left out: fewer
/// conclusions are then possible.
///
/// # Errors
/// `/proc/meminfo` could not be read or parsed.
pub fn read_settings(root: &Root, pid: u32) -> Result<Settings> {
    let memory = meminfo::read_meminfo(root)?;
    let processor = cpuinfo::read_cpuinfo(root).ok();
    Ok(Settings {
        kernel: root
            .read_trimmed("proc/sys/kernel/osrelease")
            .unwrap_or_default(),
        arch: rustix::system::uname()
            .machine()
            .to_string_lossy()
            .into_owned(),
        address_bits: root.is_real().then(probe_address_bits).flatten(),
        memory_bytes: meminfo::require(root, &memory, "MemTotal")?,
        numa_nodes: cpu::read_memory_nodes(root).unwrap_or(1),
        hypervisor: processor.and_then(|cpu| hypervisor::read_hypervisor(root, &cpu, None)),
        thp: thp::read_thp(root).map_err(|error| error.into_missing("read access to /sys")),
        shmem_sizes: thp::read_shmem_sizes(root).unwrap_or_default(),
        shrink_underused: thp::read_shrink_underused(root).unwrap_or_default(),
        khugepaged_runs: khugepaged_runs(root),
        khugepaged_wants_writable: EVENT
            .iter()
            .find_map(|path| root.read(path).ok())
            .map(|format| String::from_utf8_lossy(&format).contains("no_writable_page")),
        vmstat: read_events(root),
        free_blocks: buddyinfo::read_buddyinfo(root).unwrap_or_default(),
        partly_mapped: thp::read_partly_mapped(root),
        cgroup: read_cgroup(root, pid),
    })
}

/// Events of huge pages and of compaction; the other events in the file are not needed.
fn read_events(root: &Root) -> std::collections::BTreeMap<String, u64> {
    let mut events = vmstat::read_vmstat(root).unwrap_or_default();
    events.retain(|name, _| name.starts_with("thp_") || name.starts_with("compact_"));
    events
}

/// Returns true if kthreadd, which is process 2 outside of containers, has a child of that name.
fn khugepaged_runs(root: &Root) -> Option<bool> {
    let named = |pid: u32, name: &str| {
        root.read_trimmed(format!("proc/{pid}/comm"))
            .is_ok_and(|command| command == name)
    };
    named(2, "kthreadd").then(|| {
        tree::read_children(root, 2)
            .into_iter()
            .any(|pid| named(pid, "khugepaged"))
    })
}

fn read_cgroup(root: &Root, pid: u32) -> Option<CgroupMemory> {
    let group = cgroup::read_memory_group_of(root, &pid.to_string()).ok()?;
    (group.cgroup.version > 0).then_some(CgroupMemory {
        path: group.cgroup.path,
        limit_bytes: group.cgroup.limit_bytes,
        used_bytes: group.used_bytes,
    })
}
