//! Estimates with intervals, for paired rounds and for two samples; and stopping rules.
//!
//! Every result is exact or conservative. If a rank distribution is too large to count, a proven bound replaces it,
//! never an approximation that could be too narrow.

pub mod draw;
pub mod growth;
pub mod holm;
pub mod mean;
pub mod null;
pub mod proportion;
pub mod quantile;
mod running_median;
pub mod sample;
pub mod shape;
pub mod shift;
pub mod split;
pub mod student;
pub mod sums;
pub mod tail;
pub mod units;

pub use draw::{Draw, Side};
pub use holm::holm;
pub use mean::{FEWEST_FOR_A_MEAN, MeanRatio, mean_ratio, radius_of_mean};
pub use proportion::{Share, at_most, wilson};
pub use quantile::{Quantile, median, median_interval};
pub use sample::Sample;
pub use shape::{Shape, shape};
pub use shift::{Shift, paired, unpaired};
pub use split::{FEWEST_FOR_A_SPLIT, splits};
pub use sums::{Look, Sums};
pub use tail::{Tail, quantile, tails};
pub use units::{Difference, FEWEST_UNITS, Units, excludes_zero};

/// The error that a whole experiment may make in one family of comparisons.
pub const ALPHA: f64 = 0.05;
