//! Counting events of the hardware and of the kernel (perf_event_open(2)).
//!
//! What can go wrong here goes wrong in silence: a group that is too large opens and never
//! counts, a counter that shares the hardware counts a part, a refusal of permission hides that
//! there is nothing to permit. So the kernel is asked through one trait with one method,
//! [`PerfOpen`](crate::perf::open::PerfOpen), in whose place tests put a kernel made of a table;
//! groups are tried before they are trusted ([`fit`](crate::perf::fit)); and what is read is
//! judged by the times that come with it ([`count`](crate::perf::count)).

/// Opening groups of events.
pub mod open;

/// The events of each processor, as data.
pub mod events;

/// Which modes are permitted, and which events fit the counters together.
pub mod fit;

/// Groups that take turns on one target.
pub mod count;

#[cfg(test)]
pub(crate) mod table;
