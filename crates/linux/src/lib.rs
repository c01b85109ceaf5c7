//! All contact of hugewise with the kernel.
//!
//! This crate returns values: it never prints and never ends the process. Every path goes through
//! [`machine::root::Root`], so that a frozen machine can replace the real one.
//!
//! The modules are listed in the order of their dependencies: none uses a later one.

/// The machine as files, its errors and its clocks; this process, its user and its lock.
pub mod machine;

/// Files named or owned by others: the rights with which they are opened, and how.
pub mod file;

/// Files below `/proc`: pure parsers, and readers that use them.
pub mod proc;

/// Files below `/sys`: transparent huge pages, hugetlb, cgroups, processors, hypervisor.
pub mod sys;

/// TLB geometry.
pub mod tlb;

/// Tracepoints of the kernel, in this thread.
pub mod tracepoint;

/// BPF programs that keep latencies as histograms in the kernel.
pub mod bpf;

/// Capabilities of the machine: what can be read, written and counted.
pub mod probe;

/// Runs a workload, under a keeper from which no process escapes.
pub mod spawn;

/// Events of the hardware and of the kernel: counters, rings, samples, symbols.
pub mod perf;

/// The journal of original settings, and their restoration after a kill.
pub mod undo;

/// Applies policies: settings files, fragmentation of free memory, runtime flags.
pub mod apply;

/// Observes running processes: counters, faults, TLB misses, address spaces.
pub mod observe;

#[cfg(feature = "live")]
pub mod live;

/// Observes one trial: before, during and after it.
pub mod collect;

#[cfg(test)]
#[path = "../tests/skipping/mod.rs"]
mod skipping;
