//! Files below `/sys`: one module per subject.

pub mod balloon;
pub mod cache;
pub mod cgroup;
pub mod cpu;
pub mod hugetlb;
pub mod hypervisor;
pub mod kernel_config;

/// Files with a choice of several values, or with one value.
pub mod setting;
pub mod thp;
pub mod tunables;
