//! The analysis of a fleet experiment: each arm against the control.

pub mod analysis;
mod covered;
pub mod detectable_effect;
pub mod document;
pub mod estimate;
pub mod foresight;
pub mod loss;
pub mod page;
mod past;
pub mod planned;
mod questions;
pub mod randomisation_test;
pub mod rerandomise;
pub mod scale;
pub mod shares;
pub mod spending;
pub mod switchback;
pub mod tally;

pub use analysis::{Analysis, Question};
pub use spending::Spending;
pub use tally::Tally;
