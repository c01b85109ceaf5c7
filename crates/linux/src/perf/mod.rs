//! perf_event_open(2): hardware and kernel events, counted, or written into rings.
//!
//! Many errors here are silent: a group that is too large opens but never counts, a multiplexed counter counts only
//! part of the time, a missing permission hides a missing feature, and a full ring drops records. So counters are
//! opened through one trait with one method, [`PerfOpen`](crate::perf::open::PerfOpen), which tests implement with a
//! simulated kernel. Groups are tried before they are used ([`fit`](crate::perf::fit)), readings are checked against
//! their times ([`count`](crate::perf::count)), and rings are compared with counts.

pub mod events;
pub mod fit;
pub mod open;

/// The data that the kernel allows in samples, determined by trying.
pub mod access;
pub mod count;

/// The start address of the heap of a process.
pub(crate) mod heap;

/// Sorts the events of several rings by time.
pub(crate) mod order;

/// A ring filled by the kernel and emptied by this program.
pub mod ring;

/// Parses records of the ring.
pub mod sample;

/// Converts addresses in files to functions and lines.
pub mod symbols;

#[cfg(test)]
pub(crate) mod table;
