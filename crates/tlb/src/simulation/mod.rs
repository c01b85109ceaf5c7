//! A model of a processor's TLB, driven by a program's accesses, one page size at a time.
//!
//! It is not a measurement: docs/bias.md describes how simulated misses differ. The same accesses always give the same
//! numbers.

use serde::{Deserialize, Serialize};

mod as_mapped;
mod buffer;
mod column;
mod csv;
mod document;
mod mapped;
mod outcome;
mod paging;
mod walk;

pub use as_mapped::{AsMapped, PageNow};
pub use buffer::Buffer;
pub use column::Column;
pub use mapped::{Mapped, MappingWalks};
pub use outcome::{
    Accesses, Cut, FORMAT, MappedPages, PageColumn, References, Simulation, Streams, Tally, Tracer,
};
pub use paging::Paging;
pub use walk::Walker;

use hugewise_base::tlb::{Holds, Structure, Tlb};

/// Size and associativity of one TLB.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Entries.
    pub entries: u32,
    /// Ways of a set.
    pub ways: u32,
}

/// A simulated processor.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its TLBs.
    pub tlb: Tlb,
    /// Its page-walk cache, if its size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_cache: Option<WalkCache>,
}

/// A fully associative page-walk cache, shared by all levels.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct WalkCache {
    /// Entries.
    pub entries: u32,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Instruction fetch.
    Fetch,
    /// Data read.
    Load,
    /// Data write.
    Store,
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// Its kind.
    pub kind: Kind,
    /// First byte.
    pub address: u64,
    /// Bytes; 0 counts as 1.
    pub bytes: u64,
}

/// Returns all TLBs of one kind and level for a page size, as one.
///
/// Several TLBs (Ice Lake's second level has two halves for 4 KiB pages) are summed if they have the same number of
/// sets, as in the manuals. Otherwise the largest is used.
#[must_use]
pub fn shape_of(tlb: &Tlb, level: u8, holds: &[Holds], page_bytes: u64) -> Option<Shape> {
    let all = tlb.structures.iter().filter(|one| {
        one.level == level && holds.contains(&one.holds) && one.page_bytes.contains(&page_bytes)
    });
    let sets = |shape: Shape| shape.entries / shape.ways.max(1);
    all.map(shape).reduce(|one, other| {
        if sets(one) == sets(other) {
            Shape {
                entries: one.entries.saturating_add(other.entries),
                ways: one.ways.saturating_add(other.ways),
            }
        } else if one.entries >= other.entries {
            one
        } else {
            other
        }
    })
}

/// A TLB of unknown associativity has one set.
fn shape(structure: &Structure) -> Shape {
    Shape {
        entries: structure.entries,
        ways: structure.ways.unwrap_or(structure.entries),
    }
}
