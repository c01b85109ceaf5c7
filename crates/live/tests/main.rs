//! Tests of the pure part of `live`.

mod blocks;
mod sources;
mod times;
