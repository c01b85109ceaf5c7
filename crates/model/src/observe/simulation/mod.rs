//! What a program's accesses would find in the buffers of a processor, page size by page size.
//!
//! A model, not a measurement: BIAS.md says what a simulated miss is not. The same
//! accesses always give the same numbers.

use serde::{Deserialize, Serialize};

mod as_mapped;
mod buffer;
mod column;
mod mapped;
mod outcome;
mod paging;
mod render;
mod walk;

pub use as_mapped::{AsMapped, PageNow};
pub use buffer::Buffer;
pub use column::Column;
pub use mapped::{Mapped, MappingWalks};
pub use outcome::{
    Accesses, Cut, FORMAT, MappedPages, PageColumn, References, Simulation, Streams, Tally, Tracer,
};
pub use paging::Paging;
pub use render::{render_csv, render_json, render_markdown, render_text};
pub use walk::Walker;

use crate::base::tlb::{Holds, Structure, Tlb};

/// Entries and ways of one buffer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// How many pages it remembers.
    pub entries: u32,
    /// In how many places one page may lie.
    pub ways: u32,
}

/// A processor as it is simulated.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its buffers.
    pub tlb: Tlb,
    /// Its memory of upper levels of the page tables, where a source says how large it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_cache: Option<WalkCache>,
}

/// A memory of entries of page tables that point to other tables, of all levels together, each
/// in any place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct WalkCache {
    /// How many it remembers.
    pub entries: u32,
}

/// What the program did with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An instruction was fetched.
    Fetch,
    /// Data was read.
    Load,
    /// Data was written.
    Store,
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it was.
    pub kind: Kind,
    /// First byte.
    pub address: u64,
    /// How many bytes; none is taken for one.
    pub bytes: u64,
}

/// All buffers of one kind and level that hold a page size, as one.
///
/// Several of them (Ice Lake's second level has two halves that hold 4 KiB pages) become one
/// with their entries and ways added where their sets are as many, as the manuals tell them;
/// otherwise the largest stands alone.
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

/// A buffer whose ways are not told has one set.
fn shape(structure: &Structure) -> Shape {
    Shape {
        entries: structure.entries,
        ways: structure.ways.unwrap_or(structure.entries),
    }
}

#[cfg(test)]
mod tests;
