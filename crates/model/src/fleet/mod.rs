//! Experiments over many hosts: the plan, the arm of each unit, the rows that units write, and
//! the analysis of these rows.

mod language;
mod plan;
mod position;
mod row;
mod rule;
#[cfg(test)]
mod tests;

pub use language::Language;
pub use plan::{Arm, Band, Guardrails, Kind, Plan, Switchback};
pub use position::{Position, Threshold};
pub use row::{Ending, Phase, Proof, Row, Sums};
pub use rule::{Below, OUTSIDE, Rule, Subject, Unit};
