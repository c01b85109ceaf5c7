//! Observes running processes, outside of trials.

/// Accessed bits of page table entries: which memory a process uses.
pub mod accessed_bits;

/// One address space: its process, its mappings and how their pages are mapped.
pub mod address_space;

/// Identifies running applications, their versions and their settings.
#[cfg(feature = "advise")]
pub mod application;

/// Memory of cgroups.
#[cfg(feature = "monitor")]
pub mod cgroups;

/// Collapses the memory of a running process into huge pages.
pub mod collapse;

/// The huge page state of the machine, for a monitoring system.
#[cfg(feature = "monitor")]
pub mod export;

/// Page faults of a program, one by one.
pub mod faults;

/// The kernel thread that collapses small pages into huge pages.
mod khugepaged;

/// Memory accesses of a command, one by one.
#[cfg(feature = "tlb")]
pub mod memory_trace;

/// The processes that have memory.
#[cfg(feature = "monitor")]
mod processes;

/// Groups of processes, and why their memory is not huge.
#[cfg(feature = "monitor")]
pub mod process_groups;

/// The progress of a process that fills its memory.
pub mod progress;

/// Counters of a command, a process, a cgroup or the machine, by interval.
pub mod stat;

/// Sampled TLB misses: where in memory, and in which code.
#[cfg(feature = "tlb")]
pub mod tlb_misses;

/// Verification of hardware events by loops with a known number of TLB misses.
pub mod verify;

/// The machine and its processes, sample by sample, under a budget.
#[cfg(feature = "monitor")]
pub mod watch;
