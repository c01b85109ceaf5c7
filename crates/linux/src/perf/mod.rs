//! perf_event_open(2): events that the kernel writes into rings.

/// Page faults of a program: opened on every processor, drained, put in order of time.
pub mod faults;
/// A ring that the kernel fills and this program empties.
pub mod ring;
/// Records of the ring as values.
pub mod sample;
/// Addresses inside files as functions and lines.
pub mod symbols;
