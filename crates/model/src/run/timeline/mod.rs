//! What a trial of a service was from second to second, and whether its slow requests lay in
//! stalls of the kernel.

/// What chance would give.
mod chance;
mod document;
/// Requests that were counted together.
mod intervals;
/// Requests and stalls on one clock.
mod join;
/// Several trials of one policy together.
mod pool;
#[cfg(test)]
mod tests;

pub use chance::Circle;
pub use document::document;
pub use join::{Clock, TrialSeconds, join};
pub use pool::{Pooled, pool};
