//! A trial of a service second by second, and whether its slow requests overlapped with stalls of the kernel.
//!
//! To add a column, add a field of `trial::timeline::Second`, its reading in `linux::collect::ticker`,
//! and a line in `document.rs`.

mod chance;
mod document;
mod intervals;
mod join;
mod pool;
#[cfg(test)]
mod tests;

pub use chance::Circle;
pub use document::{Series, document, series};
pub use join::{Clock, TrialSeconds, join};
pub use pool::{Pooled, pool};
