//! perf_event_open(2): events of the hardware and of the kernel, counted, or written into rings.
//!
//! What can go wrong here goes wrong in silence: a group that is too large opens and never
//! counts, a counter that shares the hardware counts a part, a refusal of permission hides that
//! there is nothing to permit, a full ring drops what comes. So counters are opened through one
//! trait with one method, [`PerfOpen`](crate::perf::open::PerfOpen), in whose place tests put a
//! kernel made of a table; groups are tried before they are trusted
//! ([`fit`](crate::perf::fit)); what is read is judged by the times that come with it
//! ([`count`](crate::perf::count)); and rings are held against what was counted.

pub mod events;
pub mod fit;
pub mod open;

/// What the kernel lets samples contain, found out by trying.
pub mod access;
pub mod count;

/// Where the heap of a process begins.
pub(crate) mod heap;

/// Events of several rings in order of time.
pub(crate) mod order;

/// A ring that the kernel fills and this program empties.
pub mod ring;

/// Records of the ring as values.
pub mod sample;

/// Addresses inside files as functions and lines.
pub mod symbols;

#[cfg(test)]
pub(crate) mod table;
