use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use hugewise_base::host::ThpSettings;
use hugewise_base::missing::{Fact, fact, number_keys};

/// The environment of an address space: settings and counters of the machine, and the memory cgroup of the process. All
/// are read at the same time as the address space.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Kernel release, as `uname -r` prints it. It selects wording. It also decides which of two reasons is more likely
    /// if the data does not distinguish them.
    pub kernel: String,
    /// Machine name of `uname -m`.
    pub arch: String,
    /// Number of bits in the highest user address; `None` if it was not probed.
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
    /// True if the khugepaged thread is running; `None` if processes of other users are hidden.
    #[serde(default)]
    pub khugepaged_runs: Option<bool>,
    /// True if khugepaged skips read-only memory, according to the values of its trace event (`no_writable_page`,
    /// removed in Linux 6.18); `None` if tracefs cannot be read.
    #[serde(default)]
    pub khugepaged_wants_writable: Option<bool>,
    /// `/proc/vmstat`: events since boot, of the whole machine.
    #[serde(default)]
    pub vmstat: BTreeMap<String, u64>,
    /// Free blocks by order (`/proc/buddyinfo`, summed over zones); empty if unknown.
    #[serde(default)]
    pub free_blocks: Vec<u64>,
    /// Partly mapped anonymous huge pages of the machine (`hugepages-<N>kB/stats/nr_anon_partially_mapped`, Linux
    /// 6.12).
    #[serde(default)]
    pub partly_mapped: Option<u64>,
    /// Memory cgroup of the process, if it could be read.
    #[serde(default)]
    pub cgroup: Option<CgroupMemory>,
}

/// The level of the memory cgroup hierarchy of the process that has the smallest limit.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CgroupMemory {
    /// Path below the mount of the hierarchy.
    pub path: String,
    /// The limit, in bytes; `None` when unlimited.
    pub limit_bytes: Option<u64>,
    /// Memory in use at this level, in bytes.
    pub used_bytes: Option<u64>,
}
