//! The huge page state of the machine at one point in time.
//!
//! All of it comes from files that walk no page tables. A part that could not be read has a reason; it is never shown
//! as zero.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use hugewise_base::host::HugetlbPool;
use hugewise_base::missing::{Fact, fact};

/// The result of one collector.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct Collected<T> {
    /// The values, or why there are none.
    #[serde(with = "fact")]
    pub value: Fact<T>,
    /// The time spent reading, in seconds.
    pub seconds: f64,
}

/// The state of the machine at one point in time.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct MachineSample {
    /// Settings of transparent huge pages.
    pub settings: Collected<Vec<Setting>>,
    /// Counters and gauges of each page size in bytes, by the names of their files
    /// (`hugepages-SIZE/stats`, Linux 6.8).
    pub sizes: Collected<BTreeMap<u64, BTreeMap<String, u64>>>,
    /// Counters in `/proc/vmstat` on huge pages and compaction, by name.
    pub events: Collected<BTreeMap<String, u64>>,
    /// Memory by its name in `/proc/meminfo`, in bytes.
    pub memory: Collected<BTreeMap<String, u64>>,
    /// The kernel thread that collapses memory into huge pages.
    pub khugepaged: Collected<Khugepaged>,
    /// Free memory by zone.
    pub zones: Collected<Vec<Zone>>,
    /// The hugetlb pools by page size in bytes.
    pub pools: Collected<BTreeMap<u64, HugetlbPool>>,
    /// Time that tasks waited for memory.
    pub pressure: Collected<Pressure>,
}

/// A setting and its current value.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Setting {
    /// The file below `/sys/kernel/mm/transparent_hugepage`.
    pub file: String,
    /// The page size that the setting applies to, in bytes; `None` for all sizes.
    pub size: Option<u64>,
    /// The current word or number.
    pub mode: String,
}

/// Work of khugepaged since boot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Khugepaged {
    /// Huge pages collapsed.
    pub pages_collapsed: u64,
    /// Passes over all memory.
    pub full_scans: u64,
    /// CPU time; `None` if the thread is not visible, as in a container.
    pub cpu_ns: Option<u64>,
}

/// Free memory of a zone.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Zone {
    /// Memory node.
    pub node: u64,
    /// Name of the zone: `Normal`, `DMA32`.
    pub name: String,
    /// Free blocks by order: the index is the order, and a block has 2^order pages.
    pub blocks: Vec<u64>,
}

/// Free blocks by order, summed over zones.
#[must_use]
pub fn free_blocks(zones: &[Zone]) -> Vec<u64> {
    let mut blocks: Vec<u64> = Vec::new();
    for zone in zones {
        blocks.resize(blocks.len().max(zone.blocks.len()), 0);
        for (sum, count) in blocks.iter_mut().zip(&zone.blocks) {
            *sum = sum.saturating_add(*count);
        }
    }
    blocks
}

/// Time since boot that tasks waited for memory, in microseconds (`/proc/pressure/memory`).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task waited.
    pub some_us: u64,
    /// All tasks that could run waited.
    pub full_us: u64,
}
