//! The current resident and huge memory of a range.

use std::fs::File;

use hugewise_experiment::run::trial::SiteMemory;
use hugewise_observe::faults::Map;

use super::range::Range;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::proc::smaps_memory::{self, MappedMemory};
use crate::spawn::page_scan::{self, FILE, HUGE, PRESENT, PageFilter, ZERO};

/// Private pages of the process.
const OWN: PageFilter = PageFilter {
    with: PRESENT,
    without: ZERO | FILE,
    any_of: 0,
    returned: HUGE,
};

/// The memory of one process.
#[derive(Debug)]
pub(super) struct MemoryNow {
    maps: Vec<Map>,
    pages: Option<File>,
    /// Used if the kernel does not distinguish pages.
    mappings: Vec<MappedMemory>,
    block: u64,
}

impl MemoryNow {
    /// Reads a process whose huge pages have `block` bytes.
    pub(super) fn read(process: i32, block: u64) -> Self {
        let (root, pid) = (Root::real(), process.unsigned_abs());
        let pages = page_scan::open(pid).ok();
        let pages = pages.filter(|it| page_scan::scan_span(it, 0..block, OWN, |_| {}).is_ok());
        let mappings = match pages {
            Some(_) => Vec::new(),
            None => smaps_memory::read(&root, pid),
        };
        Self {
            maps: maps::read(&root, pid),
            pages,
            mappings,
            block,
        }
    }

    /// Returns the memory of a range.
    pub(super) fn of(&self, range: Range) -> SiteMemory {
        match self.pages.as_ref().and_then(|it| self.scanned(it, range)) {
            Some(memory) => memory,
            None => self.shared_out(range),
        }
    }

    /// Returns the program's name for the largest named part of a range.
    pub(super) fn name(&self, range: Range) -> Option<&str> {
        let named = self
            .maps
            .iter()
            .filter_map(|map| Some((map, own_name(map)?)));
        let shared = named.map(|(map, name)| (range.shared(span(map)), name));
        let largest = shared.max_by_key(|(bytes, _)| *bytes);
        largest
            .filter(|(bytes, _)| *bytes > 0)
            .map(|(_, name)| name)
    }

    fn scanned(&self, pages: &File, range: Range) -> Option<SiteMemory> {
        let mut memory = SiteMemory {
            reach_bytes: Some(0),
            ..SiteMemory::default()
        };
        let spans = self.maps.iter().map(|map| range.common(span(map)));
        for span in spans.filter(|span| span.bytes() > 0) {
            self.add(pages, span, &mut memory)?;
        }
        Some(memory)
    }

    /// Adds the pages of a range in one mapping: a huge page is always inside one mapping.
    fn add(&self, pages: &File, range: Range, memory: &mut SiteMemory) -> Option<()> {
        let block = self.block;
        let whole = range.start.next_multiple_of(block)..range.end - range.end % block;
        let (mut reach, mut counted) = (0, 0);
        page_scan::scan_span(pages, range.start..range.end, OWN, |region| {
            let bytes = region.end - region.start;
            memory.resident_bytes += bytes;
            if region.categories & HUGE != 0 {
                memory.huge_bytes += bytes;
            }
            // Regions are in ascending order, so a block that touches two regions is counted once.
            let first = (region.start - region.start % block)
                .max(whole.start)
                .max(counted);
            let end = region.end.next_multiple_of(block).min(whole.end);
            reach += end.saturating_sub(first);
            counted = counted.max(end);
        })
        .ok()?;
        memory.mapped_bytes += range.bytes();
        *memory.reach_bytes.get_or_insert_default() += reach;
        Some(())
    }

    /// Estimates from merged mappings: they have the same advice, and their pages are distributed by length.
    fn shared_out(&self, range: Range) -> SiteMemory {
        let mut memory = SiteMemory::default();
        for mapping in &self.mappings {
            let whole = Range {
                start: mapping.start,
                end: mapping.end,
            };
            let shared = range.shared(whole);
            let share = shared as f64 / whole.bytes().max(1) as f64;
            let part = |bytes: u64| (bytes as f64 * share).round() as u64;
            memory.mapped_bytes += shared;
            memory.resident_bytes += part(mapping.resident_bytes);
            memory.huge_bytes += part(mapping.huge_bytes);
        }
        memory
    }
}

fn span(map: &Map) -> Range {
    Range {
        start: map.start,
        end: map.end,
    }
}

/// Returns the name in `[anon:NAME]`.
fn own_name(map: &Map) -> Option<&str> {
    let name = map.name.strip_prefix("[anon:")?.strip_suffix(']')?;
    Some(name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fresh_memory::FreshMemory;

    fn named(maps: &str) -> MemoryNow {
        let maps = maps.lines().filter_map(|line| maps::parse_line(line, 1));
        MemoryNow {
            maps: maps.collect(),
            pages: None,
            mappings: Vec::new(),
            block: 2 << 20,
        }
    }

    #[test]
    fn a_range_has_the_name_of_its_largest_part() {
        let now = named(
            "c000000000-c000400000 rw-p 00000000 00:00 0  [anon: Go: heap]\n\
             c000400000-c004000000 ---p 00000000 00:00 0  [anon: Go: heap reservation]\n\
             7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n",
        );
        let name = |start, end| now.name(Range { start, end }).map(str::to_owned);
        let heap = Some("Go: heap".to_owned());
        assert_eq!(name(0xc0_0000_0000, 0xc0_0050_0000), heap);
        let reserved = Some("Go: heap reservation".to_owned());
        assert_eq!(name(0xc0_0000_0000, 0xc0_0400_0000), reserved);
        assert_eq!(name(0x7f00_0000_0000, 0x7f00_0040_0000), None);
    }

    #[test]
    fn the_pages_of_merged_mappings_are_shared_out_by_length() {
        let now = MemoryNow {
            mappings: vec![MappedMemory {
                start: 0,
                end: 400,
                resident_bytes: 200,
                huge_bytes: 100,
            }],
            ..named("")
        };
        let memory = now.of(Range {
            start: 300,
            end: 500,
        });
        let expected = SiteMemory {
            mapped_bytes: 100,
            resident_bytes: 50,
            huge_bytes: 25,
            reach_bytes: None,
        };
        assert_eq!(memory, expected);
    }

    /// Reads this process: a page of every second block is written.
    #[test]
    fn what_could_be_huge_is_counted_by_blocks() {
        const BLOCK: usize = 2 << 20;
        // The heap may return previously touched memory.
        let memory = FreshMemory::new(9 * BLOCK).expect("memory");
        let start = memory.aligned(BLOCK);
        for block in [0, 2, 4] {
            // SAFETY: a byte of one of the eight whole blocks that start there.
            unsafe { start.add(block * BLOCK + BLOCK / 2).write_volatile(1) };
        }
        let process = i32::try_from(std::process::id()).expect("a number");
        let now = MemoryNow::read(process, BLOCK as u64);
        let found = now.of(Range::of(start as u64, 8 * BLOCK as u64));
        assert_eq!(found.mapped_bytes, 8 * BLOCK as u64);
        match now.pages {
            Some(_) => assert_eq!(found.reach_bytes, Some(3 * BLOCK as u64)),
            // Before Linux 6.7 the kernel does not distinguish pages.
            None => assert_eq!(found.reach_bytes, None),
        }
        assert!(found.resident_bytes >= 3 * 4096, "{found:?}");
    }
}
