//! Which memory earns the effect: the share of each mapping site, by experiment.
//!
//! The runs of a [`Design`] make some sites huge and keep the others small; [`shares`] splits the
//! whole effect among them.

mod design;
mod share;
#[cfg(test)]
mod tests;

pub use design::{Design, MOST_SITES};
pub use share::{Estimate, FEWEST_ROUNDS, Share, Shares, shares};
