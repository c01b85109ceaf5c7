//! Counts for each huge-page range, from the kernel's regions of equal pages.

use hugewise_observe::address_space::{Mapping, Pages, Run};

use crate::spawn::page_scan::{FILE, GUARD, HUGE, PRESENT, Region, SWAPPED, ZERO};

/// The sizes that determine the range of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) page: u64,
    pub(super) huge: u64,
}

impl Sizes {
    /// Returns the part of the range around `address` that is within the mapping.
    pub(super) fn range_around(self, address: u64, mapping: &Mapping) -> (u64, u64) {
        let first = address - address % self.huge;
        let behind = first.saturating_add(self.huge);
        (first.max(mapping.start), behind.min(mapping.end))
    }
}

/// The page attributes that a source reports in addition to presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageDetail {
    /// Huge pages and zero pages.
    Kinds,
    /// Huge pages, zero pages and guard pages.
    KindsAndGuards,
    /// None.
    Presence,
}

/// Distributes regions over the ranges of mappings. The regions must come in ascending order of address.
pub(super) struct Blocks<'a> {
    mappings: &'a mut [Mapping],
    sizes: Sizes,
    tells: PageDetail,
    /// Index of the mapping that contained the last region.
    at: usize,
    open: Option<Open>,
}

/// The range that is currently counted.
struct Open {
    start: u64,
    end: u64,
    pages: Pages,
    /// The end of the last stretch of populated pages.
    populated_to: Option<u64>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(mappings: &'a mut [Mapping], sizes: Sizes, tells: PageDetail) -> Self {
        for mapping in mappings.iter_mut() {
            mapping.runs.clear();
        }
        Self {
            mappings,
            sizes,
            tells,
            at: 0,
            open: None,
        }
    }

    /// Counts a region. A region outside all mappings was mapped or unmapped after the mappings were read, and is
    /// skipped.
    pub(super) fn add(&mut self, region: Region) {
        let mut start = region.start;
        while start < region.end {
            while self.at < self.mappings.len() && self.mappings[self.at].end <= start {
                self.close();
                self.at += 1;
            }
            let Some(mapping) = self.mappings.get(self.at) else {
                return;
            };
            start = start.max(mapping.start);
            if start >= region.end {
                return;
            }
            let (first, behind) = self.sizes.range_around(start, mapping);
            if self.open.as_ref().is_none_or(|open| open.start != first) {
                self.close();
                self.open = Some(Open::new(first, behind, self.tells));
            }
            let end = region.end.min(behind);
            if let Some(open) = &mut self.open {
                open.count(start, end, region.categories, self.sizes.page);
            }
            start = end;
        }
    }

    /// Ends the last range.
    pub(super) fn finish(mut self) {
        self.close();
    }

    fn close(&mut self) {
        let (Some(open), Some(mapping)) = (self.open.take(), self.mappings.get_mut(self.at)) else {
            return;
        };
        push(
            &mut mapping.runs,
            Run {
                start: open.start,
                end: open.end,
                pages: open.pages,
            },
            self.sizes.huge,
        );
    }
}

/// Appends a run, or extends the last one if both consist of whole ranges with equal content.
pub(super) fn push(runs: &mut Vec<Run>, run: Run, huge: u64) {
    let whole = |run: &Run| run.start.is_multiple_of(huge) && run.end.is_multiple_of(huge);
    match runs.last_mut() {
        Some(last)
            if last.end == run.start && last.pages == run.pages && whole(last) && whole(&run) =>
        {
            last.end = run.end;
        }
        _ => {
            // Most mappings have one run: by default a vector would first allocate four.
            runs.reserve_exact(usize::from(runs.is_empty()));
            runs.push(run);
        }
    }
}

impl Open {
    fn new(start: u64, end: u64, tells: PageDetail) -> Self {
        let kinds = (tells != PageDetail::Presence).then_some(0);
        Self {
            start,
            end,
            pages: Pages {
                huge: kinds,
                zero: kinds,
                guard: (tells == PageDetail::KindsAndGuards).then_some(0),
                ..Pages::default()
            },
            populated_to: None,
        }
    }

    fn count(&mut self, start: u64, end: u64, categories: u64, page: u64) {
        let count = u32::try_from((end - start) / page.max(1)).unwrap_or(u32::MAX);
        let has = |category| categories & category != 0;
        // A guard page is an entry without the present bit, and the kernel also reports it as swapped.
        if has(GUARD) {
            return add(&mut self.pages.guard, count);
        }
        // The guard marker uses the same field as a swap entry, so the kernel reports both categories
        // (pagemap_page_category, fs/proc/task_mmu.c).
        let swapped = has(SWAPPED) && !has(GUARD);
        if !swapped && !has(PRESENT) {
            return;
        }
        if swapped {
            self.pages.swapped += count;
        }
        if has(PRESENT) {
            self.pages.present += count;
            if has(HUGE) {
                add(&mut self.pages.huge, count);
            }
            if has(ZERO) {
                add(&mut self.pages.zero, count);
            } else if has(FILE) {
                self.pages.file += count;
            }
        }
        if self.populated_to != Some(start) {
            self.pages.islands += 1;
            self.pages.from_start |= start == self.start;
        }
        self.populated_to = Some(end);
    }
}

fn add(place: &mut Option<u32>, count: u32) {
    if let Some(sum) = place {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::address_space::smaps::parse_mappings;
    use proptest::prelude::*;

    const SIZES: Sizes = Sizes {
        page: 0x1000,
        huge: 0x20_0000,
    };

    fn region(start: u64, end: u64, categories: u64) -> Region {
        Region {
            start,
            end,
            categories,
        }
    }

    fn counted(mappings: &str, regions: &[Region]) -> Vec<Mapping> {
        let mut mappings = parse_mappings(mappings.as_bytes()).unwrap();
        let mut blocks = Blocks::new(&mut mappings, SIZES, PageDetail::KindsAndGuards);
        regions.iter().for_each(|&one| blocks.add(one));
        blocks.finish();
        mappings
    }

    #[test]
    fn one_region_over_two_mappings_and_three_ranges() {
        let mappings = counted(
            "1ff000-600000 rw-p 0 00:00 0\n600000-601000 r--p 0 00:00 0\n",
            &[region(0x1f_f000, 0x60_1000, PRESENT)],
        );
        let [first, second] = &mappings[..] else {
            panic!("{mappings:?}");
        };
        let spans: Vec<_> = first.runs.iter().map(|run| (run.start, run.end)).collect();
        assert_eq!(spans, [(0x1f_f000, 0x20_0000), (0x20_0000, 0x60_0000)]);
        assert_eq!(first.runs[0].pages.present, 1);
        assert_eq!(first.runs[1].pages.present, 512);
        assert_eq!(first.runs[1].ranges(SIZES.huge), 2);
        assert_eq!(second.runs[0].pages.present, 1);
    }

    #[test]
    fn kinds_are_counted_apart_and_islands_are_stretches() {
        let mappings = counted(
            "200000-400000 rw-p 0 00:00 0\n",
            &[
                region(0x20_0000, 0x20_2000, PRESENT),
                region(0x20_2000, 0x20_3000, SWAPPED),
                region(0x20_4000, 0x20_5000, PRESENT | FILE),
                region(0x20_6000, 0x20_7000, PRESENT | ZERO | FILE),
                region(0x30_0000, 0x30_1000, GUARD | SWAPPED),
            ],
        );
        let pages = &mappings[0].runs[0].pages;
        let expected = Pages {
            present: 4,
            file: 1,
            huge: Some(0),
            zero: Some(1),
            swapped: 1,
            guard: Some(1),
            islands: 3,
            from_start: true,
            frames: None,
        };
        assert_eq!(pages, &expected);
        assert_eq!((pages.small(), pages.populated()), (3, 5));
    }

    #[test]
    fn what_lies_outside_is_left_out() {
        let mappings = counted(
            "200000-400000 rw-p 0 00:00 0\n800000-a00000 rw-p 0 00:00 0\n",
            &[
                region(0x40_0000, 0x80_1000, PRESENT),
                region(0xa0_0000, 0xb0_0000, PRESENT),
            ],
        );
        assert!(mappings[0].runs.is_empty());
        assert_eq!(mappings[1].runs[0].pages.present, 1);
    }

    proptest! {
        /// Each present page in a mapping is counted exactly once, whatever the kernel reports.
        #[test]
        fn every_page_is_counted_once(
            lengths in proptest::collection::vec((0_u64..700, 0_u64..700, 0_u64..256), 0..20),
        ) {
            let (mut mappings, mut regions, mut expected) = (String::new(), Vec::new(), 0);
            let mut address = 0x10_0000;
            for (gap, length, categories) in lengths {
                let (start, end) = (address + gap * 0x1000, address + (gap + length) * 0x1000);
                address = end;
                if start == end {
                    continue;
                }
                mappings += &format!("{start:x}-{end:x} rw-p 0 00:00 0\n");
                regions.push(region(start.saturating_sub(0x1000), end, categories));
                expected += if categories & PRESENT == 0 { 0 } else { length };
            }
            regions.dedup_by(|next, last| {
                next.start = next.start.max(last.end);
                next.start >= next.end
            });
            let mappings = counted(&mappings, &regions);
            let runs = mappings.iter().flat_map(|mapping| &mapping.runs);
            let found: u64 = runs
                .map(|run| u64::from(run.pages.present) * run.ranges(SIZES.huge))
                .sum();
            // The page before a mapping may belong to the previous mapping.
            prop_assert!(found >= expected && found <= expected + 20, "{found} {expected}");
        }
    }
}
