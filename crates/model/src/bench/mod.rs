//! The benches: suites of cells that the laboratory measures in its own process.
//!
//! A bench is an experiment like any other. Its workload is `hugewise-lab bench SUITE --cells …`: a
//! trial is one process that goes through all cells under one page policy. It prints one line of
//! JSON per cell ([`line`](crate::bench::line)), and these become readings of the trial. So cells
//! are paired within rounds and have a control and intervals, as every metric has.

/// The page policies of a bench.
pub mod arms;
/// Findings about the cells of a suite.
pub mod findings;
/// Choices of `bench growth` and `bench heap`.
pub mod growth;
/// What `bench latency` measures, and the levels in its curves.
pub mod latency;
/// The output of the laboratory, parsed.
pub mod line;
/// Choices of `bench memory`.
pub mod memory;
/// Cells drawn, for a terminal and as SVG.
pub mod plot;
/// Choices of `bench prefault`.
pub mod prefault;
/// Choices of `bench slab`.
pub mod slab;

mod answer;
mod view;

pub use line::read;
pub use view::{report, view};
