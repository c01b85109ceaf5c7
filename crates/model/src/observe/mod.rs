//! The instruments: each turns events of a running program into a summary and draws it.

/// An address space as the kernel shows it: mappings, and how their pages are mapped.
pub mod address_space;
/// Making the memory of a running process huge.
pub mod collapse;
/// The machine for a monitoring system: samples as metrics.
pub mod export;
/// Page faults, one by one: kinds, latencies, places, shapes.
pub mod faults;
/// What huge pages would cost and could be worth, before anything is switched on.
pub mod forecast;
/// Why memory of a process is huge or not.
pub mod inspect;
/// Sampled addresses of TLB misses, by mapping, page size and function.
pub mod misses;
/// A model of the TLB under a program's accesses.
pub mod simulation;
/// What a running program does, interval by interval.
pub mod stat;
/// Where the kernel stalls: what can be traced there, and what was seen.
pub mod trace;
/// The machine and its processes on a screen: samples as they come, and what a user looks at.
pub mod watch;
