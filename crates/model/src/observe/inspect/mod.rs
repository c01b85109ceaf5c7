//! One address space, and the reason for every range in it.

/// Why memory is not huge: a reason for every range.
pub mod reasons;
/// The inspection of processes, drawn.
pub mod view;
