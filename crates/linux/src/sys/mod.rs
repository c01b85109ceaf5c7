//! What the kernel shows under `/sys`: one file per subject.

/// Balloons, by which a hypervisor takes memory back.
pub mod balloon;

/// Caches of a processor.
pub mod cache;

/// Memory cgroups, version 1 and 2.
pub mod cgroup;

/// Processors and NUMA nodes.
pub mod cpu;

/// hugetlb pools.
pub mod hugetlb;

/// The hypervisor.
pub mod hypervisor;

/// Files that hold one choice of several, or one value.
pub mod setting;

/// Transparent huge pages.
pub mod thp;
