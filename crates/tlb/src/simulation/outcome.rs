//! The result of a simulation.

use serde::{Deserialize, Serialize};

use super::{MappingWalks, Processor};
use hugewise_base::missing::{Fact, fact};
use hugewise_experiment::run::trial::Outcome;

/// Name and version of this form. The number grows when a field changes its meaning or goes.
pub const FORMAT: &str = "hugewise-simulation 1";

/// One simulated run of a command.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// [`FORMAT`].
    pub format: String,
    /// The command, word by word.
    pub command: Vec<String>,
    /// The source of the accesses.
    pub tracer: Tracer,
    /// The processor that was simulated.
    pub processor: Processor,
    /// Base page of the page tables, in bytes.
    pub base_page_bytes: u64,
    /// The accesses of the trace.
    pub accesses: Accesses,
    /// Whether the trace covers the whole run.
    pub cut: Cut,
    /// Page sizes, ascending.
    pub columns: Vec<PageColumn>,
    /// Walks by mapping, the most first.
    #[serde(default)]
    pub mappings: Vec<MappingWalks>,
    /// The same with the pages that the kernel mapped in the traced process.
    #[serde(with = "fact")]
    pub as_mapped: Fact<MappedPages>,
    /// How the command ended; `None` if it was ended at the limit of accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The program that writes the trace.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tracer {
    /// Its own name and version.
    pub name: String,
}

/// Accesses by kind.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Accesses {
    /// Instructions fetched.
    pub fetches: u64,
    /// Data reads; an instruction that reads and writes back is one of each.
    pub loads: u64,
    /// Writes of data.
    pub stores: u64,
}

impl Accesses {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.fetches + self.loads + self.stores
    }
}

/// Whether a trace was ended early.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It is whole.
    Whole,
    /// At the limit of accesses, where the command was ended.
    AtMost,
    /// A signal to hugewise ended it.
    Interrupted,
}

/// All of memory in pages of one size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PageColumn {
    /// The size.
    pub page_bytes: u64,
    /// Whether the TLB has entries of this size; else those of base pages were used.
    pub native: bool,
    /// The counts.
    #[serde(flatten)]
    pub streams: Streams,
}

/// Memory in the pages that the kernel mapped.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MappedPages {
    /// Huge-page blocks with any access.
    pub ranges: u64,
    /// Those mapped as huge pages when last read.
    pub huge_ranges: u64,
    /// The counts.
    pub streams: Streams,
}

/// Data and instructions apart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Streams {
    /// Loads and stores.
    pub data: Tally,
    /// Fetches of instructions.
    pub code: Tally,
}

/// The counts of one stream.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Accesses. One that crosses a page boundary counts once and may miss twice.
    pub accesses: u64,
    /// L1 TLB misses.
    pub first_level_misses: u64,
    /// Page walks: missed by both levels.
    pub walks: u64,
    /// Page-table entries read by the walks.
    pub walk_references: References,
}

/// A number, or bounds if the size of the page-walk cache is unknown.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct References {
    /// Lower bound.
    pub least: u64,
    /// Upper bound.
    pub most: u64,
}
