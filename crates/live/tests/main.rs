//! Tests of the pure part of `live`.

#[path = "../../experiment/tests/sample/mod.rs"]
mod sample;

mod blocks;
mod latency;
mod placebo;
mod sites;
mod sources;
mod times;
