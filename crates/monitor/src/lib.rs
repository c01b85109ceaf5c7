//! The machine over time: for monitoring systems, and as a screen.

/// The machine for monitoring systems: samples as metrics.
pub mod export;
/// The machine and its processes as a screen: incoming samples, and the user's view.
pub mod watch;
