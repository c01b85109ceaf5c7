//! The benches: suites of cells that the laboratory measures in its own process.
//!
//! A bench is an experiment like any other. Its workload is `hugewise-lab bench SUITE --cells
//! …`, one trial is one such process that goes through all cells under one page policy, and
//! what it prints, one line of JSON for each cell ([`line`](crate::bench::line)), becomes
//! readings of the trial. So cells are paired within rounds, have the control and the intervals
//! of every other metric, and are drawn again from the record.

use serde::{Deserialize, Serialize};

/// The page policies of a bench.
pub mod arms;
/// One cell: what is measured, as a path of words.
pub mod cell;
/// What `bench growth` and `bench heap` can be asked for.
pub mod growth;
/// What people call a cell.
pub(crate) mod label;
/// What `bench latency` measures, and what is read off it.
pub mod latency;
/// What the laboratory prints, parsed.
pub mod line;
/// What `bench memory` can be asked for.
pub mod memory;
/// What can be measured in a cell.
pub mod metric;
/// Cells drawn, for a terminal and as SVG.
pub mod plot;
/// What `bench prefault` can be asked for.
pub mod prefault;
/// What the processor says of itself.
pub mod processor;
/// What `bench slab` can be asked for.
pub mod slab;
/// The suites: which axes their cells have, and how they are shown.
pub mod suite;

pub use cell::Cell;
pub use line::read;
pub use suite::{SUITES, Suite};

/// What a plan says of its bench.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// Name of the suite, one of [`SUITES`].
    pub suite: String,
    /// The cells, in the order in which every trial goes through them.
    pub cells: Vec<Cell>,
    /// What the processor says of itself, where that is held against what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<processor::Processor>,
    /// What the usual cells leave out, and the flags that bring it in: a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl Bench {
    /// Its suite; `None` where a record names one that this program does not have.
    #[must_use]
    pub fn suite(&self) -> Option<&'static Suite> {
        suite::find(&self.suite)
    }

    /// The cell whose metric is the verdict: the first, and of latencies the last, because pages
    /// make a difference where the footprint is large.
    #[must_use]
    pub fn deciding(&self) -> Option<&Cell> {
        if self.suite == "latency" {
            self.cells.last()
        } else {
            self.cells.first()
        }
    }
}
