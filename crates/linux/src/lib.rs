//! Every contact of hugewise with the kernel.
//!
//! This crate returns values: it never prints and never ends the process. Every path goes
//! through [`machine::root::Root`], so that a frozen machine can stand in for the real one.
//!
//! The rooms stand in the order of their dependencies; none uses one below it.

/// The machine as files, its errors and its clocks; this process, its user and its lock.
pub mod machine;

/// Files that somebody names, or that belong to somebody else: whose rights decide, and how they are opened.
pub mod file;

/// Files below `/proc`: pure parsers, and readers on top of them.
pub mod proc;

/// Files below `/sys`: transparent huge pages, hugetlb, cgroups, processors, hypervisor.
pub mod sys;

/// TLB geometry.
pub mod tlb;

/// Tracepoints of the kernel, in our own thread.
pub mod tracepoint;

/// BPF programs that keep latencies as histograms in the kernel.
pub mod bpf;

/// Capabilities of the machine: what can be read, written and counted.
pub mod probe;

/// Running a workload: suspended, running, ended; by a keeper that lets nothing escape.
pub mod spawn;

/// Events of the hardware and of the kernel: counters, rings, samples, symbols.
pub mod perf;

/// The journal of old settings, and their restoration after a kill.
pub mod undo;

/// Policies in force: files, fragmentation of free memory, flags of runtimes.
pub mod apply;

/// Observing running processes: counters, faults, TLB misses, address spaces.
pub mod observe;

#[cfg(feature = "live")]
pub mod live;

/// Observing one trial: before, during, after.
pub mod collect;

#[cfg(test)]
#[path = "../tests/skipping/mod.rs"]
mod skipping;
