//! Experiments over many hosts: the plan, the arm of each unit, the rows that units write, and
//! the analysis of these rows.

mod row;

pub use row::{Ending, Phase, Proof, Row, Sums};
