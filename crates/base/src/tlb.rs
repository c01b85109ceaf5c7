//! TLB geometry of a processor: entries by level and page size.

use serde::{Deserialize, Serialize};

/// The TLBs of a processor, from CPUID or its manual.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// The source: CPUID leaves, or the manual.
    pub source: String,
    /// The TLBs, nearest to the core first.
    pub structures: Vec<Structure>,
}

/// One TLB.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Level; 1 is nearest to the core.
    pub level: u8,
    /// The accesses for which it is used.
    pub holds: Holds,
    /// The page sizes that share its entries, in bytes, ascending.
    pub page_bytes: Vec<u64>,
    /// Entries.
    pub entries: u32,
    /// Ways per set; equal to the entries if fully associative. `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
}

/// The accesses for which a TLB is used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Loads, or loads and stores.
    Data,
    /// Stores only. Not counted as reach for data, because loads cannot use it.
    Stores,
    /// Instruction fetches.
    Instructions,
    /// Instructions and data.
    Both,
}

/// TLB reach for data pages of one size: the entries of the last level that supports them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// The level.
    pub level: u8,
    /// Entries of all TLBs of that level. Entries shared with other page sizes or instructions count fully.
    pub entries: u64,
}

impl Tlb {
    /// Returns the TLB reach for data pages of a size, in entries of the last level that supports them; `None` if no
    /// TLB does.
    ///
    /// Levels are not summed: processors differ in whether they are inclusive, and rarely document it.
    #[must_use]
    pub fn room(&self, page_bytes: u64) -> Option<Room> {
        let fitting = || {
            self.structures.iter().filter(move |one| {
                matches!(one.holds, Holds::Data | Holds::Both)
                    && one.page_bytes.contains(&page_bytes)
            })
        };
        let level = fitting().map(|one| one.level).max()?;
        let entries = fitting()
            .filter(|one| one.level == level)
            .map(|one| u64::from(one.entries))
            .sum();
        Some(Room { level, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K4: u64 = 4 << 10;
    const M2: u64 = 2 << 20;
    const G1: u64 = 1 << 30;

    fn one(level: u8, holds: Holds, page_bytes: &[u64], entries: u32) -> Structure {
        Structure {
            level,
            holds,
            page_bytes: page_bytes.to_vec(),
            entries,
            ways: None,
        }
    }

    #[test]
    fn buffers_of_the_last_level_are_added_and_levels_are_not() {
        let tlb = Tlb {
            source: String::new(),
            structures: vec![
                one(1, Holds::Data, &[K4], 64),
                one(1, Holds::Stores, &[K4, M2, G1], 16),
                one(1, Holds::Data, &[G1], 8),
                one(1, Holds::Instructions, &[M2], 8),
                one(2, Holds::Both, &[K4, M2], 1024),
                one(2, Holds::Both, &[K4, G1], 1024),
                one(2, Holds::Instructions, &[K4], 512),
            ],
        };
        let room = |size| tlb.room(size).map(|room| (room.level, room.entries));
        assert_eq!(room(K4), Some((2, 2048)));
        assert_eq!(room(M2), Some((2, 1024)));
        assert_eq!(room(G1), Some((2, 1024)));
        assert_eq!(room(64 << 10), None);
    }

    #[test]
    fn a_size_that_the_second_level_does_not_hold_has_the_first() {
        let tlb = Tlb {
            source: String::new(),
            structures: vec![
                one(1, Holds::Data, &[M2], 32),
                one(2, Holds::Both, &[K4], 512),
            ],
        };
        assert_eq!(
            tlb.room(M2),
            Some(Room {
                level: 1,
                entries: 32
            })
        );
    }
}
