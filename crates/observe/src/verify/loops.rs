//! The loops of the laboratory, as data.

use serde::{Deserialize, Serialize};

/// The accesses of a loop.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// One load for each access.
    Read,
    /// One store for each access.
    Write,
    /// One jump for each access.
    Code,
}

impl Side {
    /// Its name in the laboratory.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Code => "code",
        }
    }
}

/// The pages of a loop.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PageSize {
    /// Base pages.
    Small,
    /// Pages that a PMD maps: 2 MiB on most machines.
    Huge,
}

impl PageSize {
    /// Its name in the laboratory.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Huge => "huge",
        }
    }
}

/// The number of pages of a loop, compared with the TLB.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The first level holds them.
    Few,
    /// The second level holds them, the first does not.
    Middle,
    /// As many cache lines as with many pages, in so few pages that the second level holds them.
    Lines,
    /// Several times more than any TLB holds: a cyclic order misses at each access.
    Many,
}

/// One loop. It visits its places in a cyclic order; each access is to the next place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its name.
    pub name: &'static str,
    /// Its accesses.
    pub side: Side,
    /// Its pages.
    pub page: PageSize,
    /// Their number, compared with the TLB.
    pub reach: Reach,
    /// The number of places.
    pub places: u64,
    /// The distance of two places, in pages; 0 for neighbouring cache lines.
    pub step: u64,
}

impl Loop {
    const fn new(
        name: &'static str,
        (side, page, reach): (Side, PageSize, Reach),
        places: u64,
        step: u64,
    ) -> Self {
        Self {
            name,
            side,
            page,
            reach,
            places,
            step,
        }
    }
}

/// The accesses of a short round, a multiple of the places of each loop. A long round has twice as many.
pub const ACCESSES: u64 = 1 << 18;

/// All loops. The distances are odd, so that the places use all sets of a TLB. No two places are in one group of 4
/// pages that a processor could hold in one entry.
#[rustfmt::skip]
pub static LOOPS: &[Loop] = &[
    Loop::new("read-few", (Side::Read, PageSize::Small, Reach::Few), 8, 17),
    Loop::new("read-middle", (Side::Read, PageSize::Small, Reach::Middle), 512, 17),
    Loop::new("read-lines", (Side::Read, PageSize::Small, Reach::Lines), 32_768, 0),
    Loop::new("read-many", (Side::Read, PageSize::Small, Reach::Many), 32_768, 17),
    Loop::new("read-few-huge", (Side::Read, PageSize::Huge, Reach::Few), 8, 0),
    Loop::new("read-many-huge", (Side::Read, PageSize::Huge, Reach::Many), 16_384, 0),
    Loop::new("write-few", (Side::Write, PageSize::Small, Reach::Few), 8, 17),
    Loop::new("write-middle", (Side::Write, PageSize::Small, Reach::Middle), 512, 17),
    Loop::new("write-many", (Side::Write, PageSize::Small, Reach::Many), 32_768, 17),
    Loop::new("write-many-huge", (Side::Write, PageSize::Huge, Reach::Many), 16_384, 0),
    Loop::new("code-few", (Side::Code, PageSize::Small, Reach::Few), 8, 3),
    Loop::new("code-lines", (Side::Code, PageSize::Small, Reach::Lines), 8192, 0),
    Loop::new("code-many", (Side::Code, PageSize::Small, Reach::Many), 8192, 3),
];

/// The loop that differs from the one over many small pages only in its page walks: as many cache lines in few pages.
#[must_use]
pub fn without_walks(of: &Loop) -> Option<&'static Loop> {
    LOOPS
        .iter()
        .find(|one| (one.side, one.reach) == (of.side, Reach::Lines))
}

/// Finds a loop by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Loop> {
    LOOPS.iter().find(|one| one.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_whole_laps_over_places_of_their_own() {
        for one in LOOPS {
            assert!(one.places.is_power_of_two(), "{}", one.name);
            assert_eq!(ACCESSES % one.places, 0, "{}", one.name);
            assert!(one.step == 0 || one.step % 2 == 1, "{}", one.name);
            assert_eq!(find(one.name), Some(one));
        }
    }

    /// Entries of the largest known second level (AMD Zen 5), and of the smallest among the tables (Haswell).
    const LARGEST: u64 = 4096;
    const SMALLEST: u64 = 1024;

    #[test]
    fn many_is_more_than_any_buffer_holds_and_the_rest_fits_the_second_level() {
        for one in LOOPS {
            let pages = match one.step {
                0 if one.page == PageSize::Small => one.places * 64 / 4096,
                _ => one.places,
            };
            match (one.side, one.reach) {
                (Side::Code, Reach::Many) => assert!(pages >= 2 * LARGEST, "{}", one.name),
                (_, Reach::Many) => assert!(pages >= 4 * LARGEST, "{}", one.name),
                _ => assert!(pages <= SMALLEST / 2, "{}", one.name),
            }
        }
    }
}
