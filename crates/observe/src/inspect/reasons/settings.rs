use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::host::ThpSettings;
use hugewise_base::missing::{Fact, fact, number_keys};

/// What governs an address space from outside: the machine's settings and counters and the
/// process's memory cgroup, read at the same time as it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Kernel release, as `uname -r` prints it. It chooses words, and which of two reasons is the
    /// likelier where nothing that was read tells them apart.
    pub kernel: String,
    /// Machine name of `uname -m`.
    pub arch: String,
    /// Bits of the highest address that a process can have; `None` where it was not tried.
    #[serde(default)]
    pub address_bits: Option<u32>,
    /// `MemTotal`, in bytes.
    pub memory_bytes: u64,
    /// NUMA nodes with memory.
    pub numa_nodes: u32,
    /// Name of the hypervisor when the machine is virtual.
    pub hypervisor: Option<String>,
    /// Transparent huge pages: their settings, or why there are none.
    #[serde(with = "fact")]
    pub thp: Fact<ThpSettings>,
    /// `hugepages-<N>kB/shmem_enabled` by N in KiB (Linux 6.11).
    #[serde(with = "number_keys", default)]
    pub shmem_sizes: BTreeMap<u64, String>,
    /// `shrink_underused` (Linux 6.12).
    #[serde(default)]
    pub shrink_underused: Option<bool>,
    /// Whether the thread khugepaged runs; `None` where other users' processes are hidden.
    #[serde(default)]
    pub khugepaged_runs: Option<bool>,
    /// Whether khugepaged leaves read-only memory alone, by the words that its trace event
    /// knows (`no_writable_page`, gone in Linux 6.18); `None` where tracefs cannot be read.
    #[serde(default)]
    pub khugepaged_wants_writable: Option<bool>,
    /// `/proc/vmstat`: events since boot, of the whole machine.
    #[serde(default)]
    pub vmstat: BTreeMap<String, u64>,
    /// Free blocks by order (`/proc/buddyinfo`, summed over zones); empty where unknown.
    #[serde(default)]
    pub free_blocks: Vec<u64>,
    /// Anonymous huge pages of the machine that are mapped in part only
    /// (`hugepages-<N>kB/stats/nr_anon_partially_mapped`, Linux 6.12).
    #[serde(default)]
    pub partly_mapped: Option<u64>,
    /// Memory cgroup of the process, where it could be read.
    #[serde(default)]
    pub cgroup: Option<CgroupMemory>,
}

/// The level of a process's memory cgroup that has the smallest limit.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CgroupMemory {
    /// Path below the mount of the hierarchy.
    pub path: String,
    /// The limit, in bytes; `None` when unlimited.
    pub limit_bytes: Option<u64>,
    /// Memory in use there, in bytes.
    pub used_bytes: Option<u64>,
}
