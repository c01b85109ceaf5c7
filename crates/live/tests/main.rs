//! Tests of the pure part of `live`.

#[path = "../../experiment/tests/sample/mod.rs"]
mod sample;

mod blocks;
mod placebo;
mod sources;
mod times;
