//! Experiments over many hosts: the plan, the arm of each unit, the rows that units write, and
//! the analysis of these rows.
//!
//! To add an engine that assigns arms, add a variant of `Engine` in `snippet.rs` and a function in `xtask/fleet/engines.py`.
//! To add a metric of rows, add a line to `RATES` or `AMOUNTS` in `period.rs`.

pub mod analyse;
pub mod assign;
mod check;
pub mod guardrail;
mod moment;
pub mod period;
pub mod plan;
pub mod prometheus;
pub mod row;
pub mod schedule;
pub mod simulate;
pub mod snippet;
pub mod stop;
pub mod unit;

pub use row::{Ending, Phase, Proof, Row, Sums};
