use serde::{Deserialize, Serialize};

use super::bloat::can_be_huge;
use crate::address_space::{Mapping, Run, Space};
use crate::stat::WalkShare;
use hugewise_base::missing::Missing;
use hugewise_base::missing::{Fact, fact};
use hugewise_base::tlb::{Room, Tlb};

/// Translations that the program needs, and those that the TLB can hold.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Worth {
    /// The memory that is counted: the memory used during the watch, or all of it.
    pub extent: Extent,
    /// Bytes of that memory in small pages that could be huge.
    pub small_bytes: u64,
    /// The used part of it, in bytes, if it was watched; otherwise why it is unknown.
    #[serde(with = "fact")]
    pub hot_bytes: Fact<u64>,
    /// Why no source shows which pages of a mapping are used.
    pub used_where: UsedWhere,
    /// The translations with base pages.
    pub base: Need,
    /// The translations with huge pages.
    pub huge: Need,
    /// The TLB of the processor, or why it is unknown.
    #[serde(with = "fact")]
    pub tlb: Fact<Tlb>,
    /// The share of cycles with page walks, of the process and its descendants. It is the upper bound of the gain from
    /// cheaper translation.
    #[serde(with = "fact")]
    pub walk_share: Fact<WalkShare>,
    /// CPU time of the process in the interval; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorTime>,
    /// The conclusion for translation.
    pub fits: Fits,
}

/// CPU time in an interval.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ProcessorTime {
    /// CPU time of all threads, in seconds.
    pub used_seconds: f64,
    /// Length of the interval, in seconds.
    pub seconds: f64,
}

impl ProcessorTime {
    /// Returns true if the process used less than 1 % of the interval. A sleeping program wakes up now and then.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.used_seconds < 0.01 * self.seconds
    }
}

/// The kernel features that track use per page or per region, and why each is missing.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct UsedWhere {
    /// DAMON, which samples address spaces.
    pub damon: Missing,
    /// Idle page tracking, one bit per frame.
    pub idle_pages: Missing,
}

/// The memory that is counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum Extent {
    /// All resident memory, an upper bound of the used memory.
    Resident,
    /// The memory used in an interval.
    Used {
        /// The length of the interval, in seconds.
        seconds: f64,
    },
}

/// The required translations, and the TLB entries for them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Size of a page, in bytes.
    pub page_bytes: u64,
    /// Lower bound: the used bytes are as close together as possible.
    pub least: u64,
    /// Upper bound: the used bytes are as far apart as their mappings allow.
    pub most: u64,
    /// The capacity of the last-level TLB, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<Room>,
}

/// The conclusion from need and capacity.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Fits {
    /// Everything fits with base pages, so cheaper translation is no reason for huge pages.
    AlreadyInBasePages,
    /// Everything fits with huge pages, but not with base pages. This is the largest possible gain.
    InHugePages,
    /// Nothing fits. Huge pages reach this many times as far.
    InNeither,
    /// It depends on the location of the used bytes.
    CannotTell,
    /// The TLB is unknown, or no memory is in small pages.
    NotKnown,
}

/// Computes the forecast. `watched_seconds` is the time between clearing the used bits and reading the space. Without
/// it `Referenced` counts all memory ever used, so all resident memory is taken.
#[must_use]
pub fn worth(
    space: &Space,
    tlb: Fact<Tlb>,
    watched_seconds: Option<f64>,
    used_where: UsedWhere,
    walk_share: Fact<WalkShare>,
) -> Worth {
    let mut counts = Counts::default();
    for mapping in can_be_huge(space) {
        counts.mapping(space, mapping, watched_seconds.is_some());
    }
    let room = |page_bytes| tlb.as_ref().ok().and_then(|tlb: &Tlb| tlb.room(page_bytes));
    let need = |page_bytes, least, most| Need {
        page_bytes,
        least,
        most,
        room: room(page_bytes),
    };
    let base = need(space.page_bytes, counts.base, counts.base);
    let huge = need(space.huge_bytes, counts.huge_least, counts.huge_most);
    Worth {
        extent: watched_seconds.map_or(Extent::Resident, |seconds| Extent::Used { seconds }),
        small_bytes: counts.small_bytes,
        hot_bytes: watched_seconds
            .map(|_| counts.base.saturating_mul(space.page_bytes))
            .ok_or_else(|| {
                Missing::not_permitted(
                    "--touch-bits (clears the used bits of its pages and looks again)".to_owned(),
                )
            }),
        used_where,
        processor: None,
        fits: fits(&base, &huge),
        base,
        huge,
        tlb,
        walk_share,
    }
}

fn fits(base: &Need, huge: &Need) -> Fits {
    let (Some(small), Some(large)) = (base.room, huge.room) else {
        return Fits::NotKnown;
    };
    if base.most == 0 {
        return Fits::NotKnown;
    }
    let beyond_base = base.least > small.entries;
    if base.most <= small.entries {
        Fits::AlreadyInBasePages
    } else if beyond_base && huge.most <= large.entries {
        Fits::InHugePages
    } else if beyond_base && huge.least > large.entries {
        Fits::InNeither
    } else {
        Fits::CannotTell
    }
}

#[derive(Default)]
struct Counts {
    small_bytes: u64,
    base: u64,
    huge_least: u64,
    huge_most: u64,
}

impl Counts {
    /// Used bytes are known only for a whole mapping. At best they fill one huge page after another. At worst each is
    /// in a separate range, limited to the ranges with at least one small page.
    ///
    /// Omits partial ranges at the ends of the mapping, as the memory forecast does: they can never be huge.
    fn mapping(&mut self, space: &Space, mapping: &Mapping, watched: bool) {
        let Some((first, last)) = mapping.whole_ranges(space.huge_bytes) else {
            return;
        };
        let whole = |run: &&Run| run.start >= first && run.end <= last;
        let (mut ranges, mut small_pages) = (0_u64, 0_u64);
        for run in mapping.runs.iter().filter(whole) {
            let count = run.ranges(space.huge_bytes);
            let small = u64::from(run.pages.small());
            if small > 0 {
                ranges += count;
                small_pages += count * small;
            }
        }
        let used = if watched {
            small_and_used(space, mapping, small_pages)
        } else {
            small_pages
        };
        self.small_bytes += small_pages * space.page_bytes;
        self.base += used;
        self.huge_least += used.div_ceil(space.pages_per_range());
        self.huge_most += used.min(ranges);
    }
}

/// The used pages of a mapping that can be small. `Referenced` does not separate small pages from pages of huge pages,
/// so used pages are counted as small up to the number of small pages. This is an upper bound if a mapping has both.
fn small_and_used(space: &Space, mapping: &Mapping, small_pages: u64) -> u64 {
    let memory = mapping.memory.as_ref();
    let referenced = memory.map_or(0, |memory| memory.referenced);
    (referenced / space.page_bytes.max(1)).min(small_pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::Memory;
    use crate::address_space::test_space::{mapping, pages, run, space};
    use hugewise_base::tlb::{Holds, Structure};

    const MIB: u64 = 1 << 20;
    const AT: u64 = 0x7f00_0000_0000;

    fn tlb(base: u32, huge: u32) -> Fact<Tlb> {
        let one = |page_bytes, entries| Structure {
            level: 2,
            holds: Holds::Data,
            page_bytes: vec![page_bytes],
            entries,
            ways: None,
        };
        Ok(Tlb {
            source: "test".to_owned(),
            structures: vec![one(4096, base), one(2 * MIB, huge)],
        })
    }

    fn not_asked() -> UsedWhere {
        UsedWhere {
            damon: Missing::NotAsked,
            idle_pages: Missing::NotAsked,
        }
    }

    /// `ranges` full ranges with this many used pages.
    fn full(ranges: u64, referenced_pages: u64) -> Space {
        let end = AT + ranges * 2 * MIB;
        let mut one = mapping(AT, end, vec![run(AT, end, pages(512))]);
        one.memory = Some(Memory {
            resident: ranges * 2 * MIB,
            referenced: referenced_pages * 4096,
            ..Memory::default()
        });
        space(vec![one])
    }

    fn of(space: &Space, base: u32, huge: u32, watched: Option<f64>) -> Worth {
        worth(
            space,
            tlb(base, huge),
            watched,
            not_asked(),
            Err(Missing::NoHardware),
        )
    }

    #[test]
    fn resident_memory_bounds_what_is_used() {
        let space = full(4, 100);
        let worth = of(&space, 2048, 2048, None);
        assert_eq!(worth.base.most, 2048);
        assert_eq!((worth.huge.least, worth.huge.most), (4, 4));
        assert_eq!(worth.fits, Fits::AlreadyInBasePages);
        assert_eq!(of(&space, 2047, 4, None).fits, Fits::InHugePages);
        assert_eq!(of(&space, 2047, 3, None).fits, Fits::InNeither);
        assert!(worth.hot_bytes.is_err());
    }

    #[test]
    fn used_pages_lie_close_together_or_far_apart() {
        let space = full(64, 600);
        let worth = of(&space, 512, 1024, Some(5.0));
        assert_eq!(worth.hot_bytes, Ok(600 * 4096));
        assert_eq!((worth.base.least, worth.base.most), (600, 600));
        assert_eq!((worth.huge.least, worth.huge.most), (2, 64));
        assert_eq!(worth.fits, Fits::InHugePages);
        assert_eq!(of(&space, 512, 32, Some(5.0)).fits, Fits::CannotTell);
        assert_eq!(
            of(&space, 600, 32, Some(5.0)).fits,
            Fits::AlreadyInBasePages
        );
    }

    /// Ten used pages are in at most ten ranges.
    #[test]
    fn few_used_pages_need_few_translations() {
        let worth = of(&full(64, 10), 4, 16, Some(5.0));
        assert_eq!((worth.huge.least, worth.huge.most), (1, 10));
        assert_eq!(worth.fits, Fits::InHugePages);
    }

    #[test]
    fn an_unknown_processor_is_not_a_small_one() {
        let hidden = Err(Missing::NoHardware);
        let walks = Err(Missing::NoHardware);
        let worth = worth(&full(4, 0), hidden, None, not_asked(), walks);
        assert_eq!(worth.fits, Fits::NotKnown);
        assert_eq!(worth.base.room, None);
    }

    #[test]
    fn nothing_small_needs_nothing() {
        let worth = of(&space(Vec::new()), 64, 64, None);
        assert_eq!((worth.base.most, worth.fits), (0, Fits::NotKnown));
    }
}
