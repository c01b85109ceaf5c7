//! The analysis of a fleet experiment: what the rows say of each arm against the control.

pub mod estimate;
pub mod lot;
pub mod ratio;

pub use estimate::{Estimate, Sample};
pub use lot::{DRAWS, Lot, Shuffle, randomisation_p};
