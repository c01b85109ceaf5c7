//! The machine over time: for a monitoring system, and on a screen.

/// The machine for a monitoring system: samples as metrics.
pub mod export;
/// The machine and its processes on a screen: samples as they come, and what a user looks at.
pub mod watch;
