//! What the kernel shows under `/sys`: one file per subject.

pub mod balloon;
pub mod cache;
pub mod cgroup;
pub mod cpu;
pub mod hugetlb;
pub mod hypervisor;
pub mod kernel_config;

/// Files that hold one choice of several, or one value.
pub mod setting;
pub mod thp;
