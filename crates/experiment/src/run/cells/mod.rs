//! The cells of a bench, which the laboratory measures in each trial.
//!
//! To add a bench, add a suite to `suite.rs`, its measurement in the laboratory's `bench/`, and a file in the program's
//! `cmd/bench/` that creates the cells.

use serde::{Deserialize, Serialize};

/// One cell: a measured configuration, as a path of words.
pub mod cell;
pub mod processor;
pub mod suite;

pub use cell::BenchCell;
pub use suite::{SUITES, Suite};

/// The bench of a plan.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// Name of the suite, one of [`SUITES`].
    pub suite: String,
    /// The cells, in the order of measurement in every trial.
    pub cells: Vec<BenchCell>,
    /// The processor's own data, if it is compared with the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<processor::Processor>,
    /// The cells left out by default, and the flags that include them: a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl Bench {
    /// Its suite; `None` if the record's suite is unknown to this program.
    #[must_use]
    pub fn suite(&self) -> Option<&'static Suite> {
        suite::find(&self.suite)
    }

    /// The cell whose metric is the verdict: the first, but for latencies the last, because pages matter at large
    /// footprints.
    #[must_use]
    pub fn deciding(&self) -> Option<&BenchCell> {
        if self.suite == "latency" {
            self.cells.last()
        } else {
            self.cells.first()
        }
    }
}
