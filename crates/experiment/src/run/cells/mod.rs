//! The cells of a bench: what the laboratory goes through in each trial.
//!
//! To add a bench, add a suite to `suite.rs`, its measuring in the laboratory's `bench/`, and a file in the program's
//! `cmd/bench/` that makes the cells.

use serde::{Deserialize, Serialize};

/// One cell: what is measured, as a path of words.
pub mod cell;
pub mod processor;
pub mod suite;

pub use cell::BenchCell;
pub use suite::{SUITES, Suite};

/// What a plan says of its bench.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// Name of the suite, one of [`SUITES`].
    pub suite: String,
    /// The cells, in the order in which every trial goes through them.
    pub cells: Vec<BenchCell>,
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
    pub fn deciding(&self) -> Option<&BenchCell> {
        if self.suite == "latency" {
            self.cells.last()
        } else {
            self.cells.first()
        }
    }
}
