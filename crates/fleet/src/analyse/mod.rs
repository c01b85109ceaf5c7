//! The analysis of a fleet experiment: what the rows say of each arm against the control.

pub mod analysis;
mod asked;
mod covered;
pub mod document;
pub mod estimate;
pub mod forecast;
pub mod foresight;
pub mod loss;
pub mod lot;
pub mod page;
mod past;
pub mod planned;
pub mod redrawn;
pub mod scale;
pub mod shares;
pub mod spending;
pub mod switchback;
pub mod tally;

pub use analysis::{Analysis, Question};
pub use spending::Spending;
pub use tally::Tally;
