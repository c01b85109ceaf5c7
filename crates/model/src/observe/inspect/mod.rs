//! One address space, and the reason for every range in it.

/// The address space as the kernel shows it.
pub mod address_space;
/// Why memory is not huge: a reason for every range.
pub mod reasons;
/// The inspection of processes, drawn.
pub mod view;
