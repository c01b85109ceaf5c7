//! The benches: suites of cells that the laboratory measures in its own process.
//!
//! A bench is an experiment like any other. Its workload is `hugewise-lab bench SUITE --cells
//! …`, one trial is one such process that goes through all cells under one page policy, and
//! what it prints, one line of JSON for each cell ([`line`](crate::bench::line)), becomes
//! readings of the trial. So cells are paired within rounds, have the control and the intervals
//! of every other metric, and are drawn again from the record.

/// The page policies of a bench.
pub mod arms;
/// What the cells of a suite show.
pub mod findings;
/// What `bench growth` and `bench heap` can be asked for.
pub mod growth;
/// What `bench latency` measures, and what is read off it.
pub mod latency;
/// What the laboratory prints, parsed.
pub mod line;
/// What `bench memory` can be asked for.
pub mod memory;
/// Cells drawn, for a terminal and as SVG.
pub mod plot;
/// What `bench prefault` can be asked for.
pub mod prefault;
/// What `bench slab` can be asked for.
pub mod slab;

/// What the report of a bench shows of its cells.
mod view;

pub use line::read;
pub use view::{report, view};
