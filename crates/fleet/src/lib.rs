//! Experiments over many hosts: the plan, the arm of each unit, the rows that units write, and
//! the analysis of these rows.

pub mod analyse;
pub mod assign;
mod check;
pub mod duty;
pub mod guardrail;
mod moment;
pub mod period;
pub mod plan;
pub mod prometheus;
pub mod row;
pub mod simulate;
pub mod snippet;
pub mod stop;
pub mod unit;

pub use row::{Ending, Phase, Proof, Row, Sums};
