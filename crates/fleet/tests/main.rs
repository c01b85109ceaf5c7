//! Fleets: their reports, their vectors, and numbers that no honest fleet has.

mod extremes;
#[path = "../../experiment/tests/numbers/mod.rs"]
mod numbers;
mod report;
mod vectors;
