//! Every contact of hugewise with the kernel.
//!
//! This crate returns values: it never prints and never ends the process. Every path goes
//! through [`root::Root`], so that a frozen machine can stand in for the real one.

/// The machine as files, real or frozen.
pub mod root;

/// What went wrong, with the path and what was being done.
pub mod error;

/// Files below `/proc`: pure parsers, and readers on top of them.
pub mod proc;

/// Readers of `/sys`.
pub mod sys;

/// How many translations the processor remembers.
pub mod tlb;

/// What the machine is, and what can be done on it.
pub mod probe;

/// One experiment at a time on a machine.
pub mod lock;

/// The journal of old values, and what brings them back after a kill.
pub mod undo;

/// Policies in force: files written after they are journalled, read back, put back.
pub mod apply;

/// Running a workload: suspended, running, ended; by a keeper that lets nothing escape.
pub mod spawn;

/// Free memory kept in a stated state of fragmentation.
pub mod fragment;

/// What runtimes make of the settings of a policy.
pub mod runtime;

/// Events of the hardware and of the kernel: counted, or one by one in rings.
pub mod perf;

/// Events of the kernel that happen in our own thread.
pub mod tracepoint;

/// Making the memory of a running process huge.
pub mod collapse;

/// Observing one trial: before, during, after.
pub mod collect;

/// The memory accesses of a command, one by one.
pub mod memory_trace;

/// Observing what runs, interval by interval.
pub mod stat;

/// Tracing inside the kernel: BPF programs that keep latencies as histograms.
pub mod bpf;

/// Reading one address space: its process, its mappings and how their pages are mapped.
pub mod space;

/// Which memory of a process is used.
pub mod used_bits;

/// The calendar.
pub mod clock;

/// As whom a workload runs.
pub mod identity;

/// What signals do to this process, and whence they come.
pub mod signals;

/// The terminal at stdout.
pub mod terminal;

/// A process that is not our child.
pub mod process;

/// Files that hold one number.
pub mod number;

#[cfg(test)]
#[path = "../tests/skipping/mod.rs"]
mod skipping;
