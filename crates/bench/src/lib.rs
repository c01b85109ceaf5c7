//! The benches: suites of cells measured by the laboratory in its own process.
//!
//! A bench is an experiment like any other. Its workload is `hugewise-lab bench SUITE --cells …`. A trial is one
//! process that measures all cells under one page policy. It prints one line of JSON per cell ([`line`](mod@line)), and
//! these become readings of the trial. So cells are paired within rounds and have a control and intervals, like every
//! metric.
//!
//! To add an allocator, add a line to `slab.rs`. To add a way of growing a heap, add a line to `growth.rs` and one to
//! the laboratory's `bench/growth/imitation.rs`.

pub mod arms;
pub mod growth;
pub mod latency;
pub mod line;
pub mod memory;
pub mod plot;
pub mod prefault;
pub mod slab;

mod view;

pub use line::read;
pub use view::{report, view};
