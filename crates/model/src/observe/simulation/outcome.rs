//! What a simulation came to.

use serde::{Deserialize, Serialize};

use super::{MappingWalks, Processor};
use crate::base::missing::{Fact, fact};
use crate::run::trial::Outcome;

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
    /// Where the accesses come from.
    pub tracer: Tracer,
    /// The processor that was simulated.
    pub processor: Processor,
    /// Base page of the page tables, in bytes.
    pub base_page_bytes: u64,
    /// What the trace held.
    pub accesses: Accesses,
    /// Whether all of the run is in it.
    pub cut: Cut,
    /// Page sizes, ascending.
    pub columns: Vec<PageColumn>,
    /// Which memory the walks were for, the most first.
    #[serde(default)]
    pub mappings: Vec<MappingWalks>,
    /// The same with the pages that the kernel gave the traced process, where they are told.
    #[serde(with = "fact")]
    pub as_mapped: Fact<MappedPages>,
    /// How the command ended; `None` where it was ended because the trace was long enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The program that writes the trace.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tracer {
    /// As it names itself, with its version.
    pub name: String,
}

/// What a trace held.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Accesses {
    /// Instructions fetched.
    pub fetches: u64,
    /// Reads of data; an instruction that reads, computes and writes back is one of each.
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
    /// It reached the largest number of accesses, and the command was ended.
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
    /// Whether the processor's buffers hold this size; else its entries for base pages were
    /// taken as if they did.
    pub native: bool,
    /// What was counted.
    #[serde(flatten)]
    pub streams: Streams,
}

/// Memory in the pages that the kernel gave.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MappedPages {
    /// Huge-page ranges in which anything was accessed.
    pub ranges: u64,
    /// Of these: mapped as huge pages, when they were last looked at.
    pub huge_ranges: u64,
    /// What was counted.
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

/// What one stream of accesses found.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Accesses. One that crosses the end of a page is one here, and may miss twice.
    pub accesses: u64,
    /// Not in the first level.
    pub first_level_misses: u64,
    /// Not in the second either: a walk of the page tables.
    pub walks: u64,
    /// Entries of page tables that the walks read.
    pub walk_references: References,
}

/// A number, or bounds where the processor's memory of upper tables is not known.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct References {
    /// At least so many.
    pub least: u64,
    /// At most so many.
    pub most: u64,
}
