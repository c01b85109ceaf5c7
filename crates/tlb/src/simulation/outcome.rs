//! The result of a simulation.

use serde::{Deserialize, Serialize};

use super::{MappingWalks, Processor};
use hugewise_base::missing::{Fact, fact};
use hugewise_experiment::run::trial::Outcome;

/// Name and version of this format. The version is raised when a field is removed or changes its meaning.
pub const FORMAT: &str = "hugewise-simulation 1";

/// One simulated run of a command.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// [`FORMAT`].
    pub format: String,
    /// The words of the command.
    pub command: Vec<String>,
    /// The source of the accesses.
    pub tracer: Tracer,
    /// The simulated processor.
    pub processor: Processor,
    /// Base page of the page tables, in bytes.
    pub base_page_bytes: u64,
    /// The accesses of the trace.
    pub accesses: Accesses,
    /// Tells if the trace covers the whole run.
    pub cut: Cut,
    /// Page sizes, ascending.
    pub columns: Vec<PageColumn>,
    /// Walks by mapping, the most first.
    #[serde(default)]
    pub mappings: Vec<MappingWalks>,
    /// Counts with the kernel's page sizes in the traced process.
    #[serde(with = "fact")]
    pub as_mapped: Fact<MappedPages>,
    /// The outcome of the command; `None` if it was ended at the limit of accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The program that writes the trace.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tracer {
    /// Its name and version.
    pub name: String,
}

/// Accesses by kind.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Accesses {
    /// Instructions fetched.
    pub fetches: u64,
    /// Data reads; an instruction that reads and writes back counts as one read and one write.
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

/// The end of a trace: complete or early.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It is whole.
    Whole,
    /// Ended with the command at the limit of accesses.
    AtMost,
    /// A signal to hugewise ended it.
    Interrupted,
}

/// Counts with all memory in pages of one size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PageColumn {
    /// The size.
    pub page_bytes: u64,
    /// True if the TLB has entries of this size; otherwise those of base pages were used.
    pub native: bool,
    /// The counts.
    #[serde(flatten)]
    pub streams: Streams,
}

/// Counts with the kernel's page sizes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MappedPages {
    /// Accessed huge-page blocks.
    pub ranges: u64,
    /// Those mapped as huge pages when last read.
    pub huge_ranges: u64,
    /// The counts.
    pub streams: Streams,
}

/// Data and instructions, separately.
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
    /// Accesses. One that crosses a page boundary counts once and can miss twice.
    pub accesses: u64,
    /// L1 TLB misses.
    pub first_level_misses: u64,
    /// Page walks: misses of both levels.
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
