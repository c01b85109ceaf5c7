//! Page tables that no populated memory needs. A range that was emptied page by page looks like one that was never
//! used, but its table remains. The kernel counts page tables per process.

use crate::address_space::{Mapping, MappingKind, Run, Space};

/// The size of a page-table entry, in bytes, at all levels.
const ENTRY_BYTES: u64 = 8;

/// Page tables of one process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tables {
    /// The tables that the process has (`VmPTE`), in bytes.
    pub(super) held: u64,
    /// The lower bound of the tables that its populated pages need, in bytes.
    pub(super) needed: u64,
}

impl Tables {
    /// Returns both figures. `None` if a source is missing, or if the sum cannot be right because the process changed
    /// during the reads.
    ///
    /// Only tables that must exist are summed. If more are possible, more are counted as spare, and nothing is reported
    /// as proved.
    pub(super) fn of(space: &Space, address_bits: Option<u32>) -> Option<Self> {
        space.read_with.page_scan.is_read().then_some(())?;
        let held = space.process.page_table_bytes?;
        let needed = Levels::of(space, address_bits).needed(space);
        (needed <= held).then_some(Self { held, needed })
    }

    /// Tables that no populated memory explains, in bytes.
    pub(super) fn spare(self) -> u64 {
        self.held - self.needed
    }
}

/// One level of tables.
struct Level {
    /// The address range that one table maps, in bytes.
    span: u64,
    tables: u64,
    /// The most recently counted span, because neighbours share its table.
    last: Option<u64>,
}

impl Level {
    fn new(span: u64) -> Self {
        Self {
            span,
            tables: 0,
            last: None,
        }
    }

    fn count(&mut self, start: u64, end: u64) {
        let (first, last) = (start / self.span, end.saturating_sub(1) / self.span);
        let shared = u64::from(self.last.is_some_and(|known| known >= first));
        self.tables += (last + 1).saturating_sub(first + shared);
        self.last = Some(last);
    }
}

/// The levels that `VmPTE` counts (mm_inc_nr_ptes, mm_inc_nr_pmds and mm_inc_nr_puds,
/// include/linux/mm.h): up to three, and never the topmost.
struct Levels {
    page: u64,
    lowest: Level,
    upper: Vec<Level>,
}

impl Levels {
    /// A level above the lowest is certain if this or any other process has addresses that the topmost table could not
    /// reach without it. All processes have the same number of levels.
    fn of(space: &Space, address_bits: Option<u32>) -> Self {
        let user = |mapping: &&Mapping| mapping.end <= 1 << 63;
        let top = space.mappings.iter().rfind(user);
        let own = top.map_or(0, |mapping| mapping.end);
        let any = address_bits.map_or(0, |bits| 1_u64.checked_shl(bits).unwrap_or(u64::MAX));
        let top = own.max(any);
        let entries = (space.page_bytes / ENTRY_BYTES).max(1);
        let lowest = space.page_bytes.saturating_mul(entries).max(1);
        let spans = std::iter::successors(Some(lowest), |span| span.checked_mul(entries));
        let upper = spans
            .skip(1)
            .take(2)
            .filter(|&span| span < top)
            .map(Level::new)
            .collect();
        Self {
            page: space.page_bytes,
            lowest: Level::new(lowest),
            upper,
        }
    }

    fn needed(mut self, space: &Space) -> u64 {
        for mapping in &space.mappings {
            for run in &mapping.runs {
                self.count(mapping, run);
            }
        }
        let upper: u64 = self.upper.iter().map(|level| level.tables).sum();
        (self.lowest.tables + upper) * self.page
    }

    fn count(&mut self, mapping: &Mapping, run: &Run) {
        let populated = run.pages.populated() > 0 || run.pages.guard > Some(0);
        // The table level of explicit huge pages depends on their size.
        if !populated || mapping.kind == MappingKind::Hugetlb {
            return;
        }
        if has_lowest(mapping, run) {
            self.lowest.count(run.start, run.end);
        }
        for level in &mut self.upper {
            level.count(run.start, run.end);
        }
    }
}

/// Returns true if a table of the lowest level must exist. The kernel keeps one under a huge page of anonymous memory,
/// including the zero page, for a later split (pgtable_trans_huge_deposit, mm/huge_memory.c). Under a huge page of a
/// file only some processors keep one.
fn has_lowest(mapping: &Mapping, run: &Run) -> bool {
    mapping.kind.is_anonymous() || run.pages.present > run.pages.huge.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::Pages;
    use crate::address_space::test_space::{mapping, pages, run, space};

    const HUGE: u64 = 2 << 20;
    const HIGH: u64 = 0x7f00_0000_0000;

    fn tables(held: u64, mappings: Vec<Mapping>) -> Option<Tables> {
        let mut space = space(mappings);
        space.process.page_table_bytes = Some(held);
        Tables::of(&space, None)
    }

    #[test]
    fn each_level_is_counted_and_neighbours_share() {
        let two = HIGH + HUGE - 4096;
        let mappings = vec![
            mapping(HIGH, two, vec![run(HIGH, two, pages(3))]),
            mapping(two, two + 4096, vec![run(two, two + 4096, pages(1))]),
            // Five ranges across a gibibyte boundary.
            mapping(
                HIGH + (1 << 30) - 2 * HUGE,
                HIGH + (1 << 30) + 3 * HUGE,
                vec![run(
                    HIGH + (1 << 30) - 2 * HUGE,
                    HIGH + (1 << 30) + 3 * HUGE,
                    pages(512),
                )],
            ),
        ];
        // One range and five, in two gibibytes under one upper-level table.
        let found = tables(10 * 4096, mappings.clone()).unwrap();
        assert_eq!((found.needed, found.spare()), (9 * 4096, 4096));
        assert_eq!(tables(8 * 4096, mappings), None);
    }

    #[test]
    fn low_addresses_prove_no_upper_level() {
        let low = vec![mapping(HUGE, 2 * HUGE, vec![run(HUGE, 2 * HUGE, pages(1))])];
        assert_eq!(tables(9 << 12, low).unwrap().needed, 4096);
    }

    /// Pages of 16 KiB: a table maps 32 MiB, the next level 64 GiB, and the one above 128 TiB. That last level exists
    /// if addresses have 52 bits, even if no address above 47 bits is in use.
    #[test]
    fn what_the_kernel_can_reach_proves_an_upper_level() {
        let page = 16 << 10;
        let high = (1 << 47) - (32 << 20);
        let one = mapping(high, high + page, vec![run(high, high + page, pages(1))]);
        let mut space = space(vec![one]);
        (space.page_bytes, space.huge_bytes) = (page, 32 << 20);
        space.process.page_table_bytes = Some(9 * page);
        let needed = |bits| Tables::of(&space, bits).unwrap().needed / page;
        assert_eq!([None, Some(47), Some(52)].map(needed), [2, 2, 3]);
    }

    #[test]
    fn huge_pages_of_files_and_explicit_ones_prove_no_lowest_table() {
        let huge = Pages {
            present: 512,
            huge: Some(512),
            ..pages(512)
        };
        let needed = |kind, pages| {
            let mut one = mapping(HIGH, HIGH + HUGE, vec![run(HIGH, HIGH + HUGE, pages)]);
            one.kind = kind;
            tables(9 << 12, vec![one]).unwrap().needed / 4096
        };
        assert_eq!(needed(MappingKind::Anonymous, huge.clone()), 3);
        assert_eq!(needed(MappingKind::SharedMemory, huge.clone()), 2);
        assert_eq!(needed(MappingKind::File, pages(1)), 3);
        assert_eq!(needed(MappingKind::Hugetlb, huge), 0);
    }

    #[test]
    fn without_the_scan_nothing_is_said() {
        let mut space = space(Vec::new());
        space.process.page_table_bytes = Some(4096);
        assert!(Tables::of(&space, None).is_some());
        space.read_with.page_scan =
            crate::address_space::Source::Missing(hugewise_base::missing::Missing::NotAsked);
        assert_eq!(Tables::of(&space, None), None);
    }
}
