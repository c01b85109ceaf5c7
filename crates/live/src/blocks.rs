//! The blocks that can be switched, and the reasons of the others.

use std::collections::BTreeMap;

use hugewise_experiment::run::plan::{Skip, Skipped};
use hugewise_observe::address_space::{Mapping, MappingKind, Pages, Run, Space};

/// A block that can be switched: one aligned huge page of private anonymous memory, all of it in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Its address.
    pub start: u64,
    /// True if a PMD maps it.
    pub is_huge: bool,
}

/// The blocks of an address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Those that can be switched, by rising address.
    pub able: Vec<Block>,
    /// Those that cannot, by reason.
    pub skipped: BTreeMap<Skip, u64>,
}

impl Blocks {
    /// Counts blocks that stay as they are.
    pub fn skip(&mut self, why: Skip, blocks: u64) {
        if blocks > 0 {
            *self.skipped.entry(why).or_default() += blocks;
        }
    }

    /// Drops the blocks for which a reason is found.
    pub fn drop_where(&mut self, why: impl Fn(&Block) -> Option<Skip>) {
        let all = std::mem::take(&mut self.able);
        for block in all {
            match why(&block) {
                Some(why) => self.skip(why, 1),
                None => self.able.push(block),
            }
        }
    }

    /// Returns the reasons with their counts, as a record has them.
    #[must_use]
    pub fn skipped(&self) -> Vec<Skipped> {
        let all = self.skipped.iter();
        all.map(|(&why, &blocks)| Skipped { why, blocks }).collect()
    }
}

/// Returns the blocks of an address space whose pages were read. `huge` returns the huge ones among addresses.
#[must_use]
pub fn blocks(space: &Space, huge: impl FnOnce(&[u64]) -> Vec<u64>) -> Blocks {
    let mut blocks = Blocks::default();
    let mut able = Vec::new();
    for mapping in &space.mappings {
        add(mapping, space, &mut able, &mut blocks);
    }
    let huge = huge(&able);
    let block = |start: u64| Block {
        start,
        is_huge: huge.binary_search(&start).is_ok(),
    };
    blocks.able = able.into_iter().map(block).collect();
    blocks
}

fn add(mapping: &Mapping, space: &Space, able: &mut Vec<u64>, blocks: &mut Blocks) {
    let huge = space.huge_bytes;
    let whole = mapping.runs.iter().filter(|run| is_whole(run, huge));
    for run in whole {
        let why = mapping_skip(mapping).or_else(|| pages_skip(&run.pages, space.pages_per_range()));
        let count = run.ranges(huge);
        match why {
            Some(why) => blocks.skip(why, count),
            None => {
                able.extend((0..count).map(|index| run.start + index * huge));
            }
        }
    }
}

/// Returns true for whole blocks, false for one that the mapping cuts off.
fn is_whole(run: &Run, huge: u64) -> bool {
    run.start.is_multiple_of(huge) && run.end.is_multiple_of(huge)
}

/// Returns the reason why no block of a mapping is switched.
#[must_use]
pub fn mapping_skip(mapping: &Mapping) -> Option<Skip> {
    let flags = mapping.flags();
    let reasons = [
        (&["ht"][..], Skip::Hugetlb),
        (&["io", "pf", "mm", "de"], Skip::Special),
        (&["lo"], Skip::Locked),
        (&["um", "uw", "ui"], Skip::Userfaultfd),
        (&["nh"], Skip::AdvisedAgainst),
    ];
    let by_flag = reasons
        .iter()
        .find(|(words, _)| flags.first_of(words).is_some());
    match mapping.kind {
        MappingKind::Hugetlb => Some(Skip::Hugetlb),
        MappingKind::Device | MappingKind::Kernel => Some(Skip::Special),
        kind if !kind.is_anonymous() || mapping.permissions.shared() => Some(Skip::NotAnonymous),
        _ if by_flag.is_some() => by_flag.map(|(_, why)| *why),
        _ if !mapping.permissions.write() => Some(Skip::ReadOnly),
        _ => None,
    }
}

/// Returns the reason why a block with such pages is not switched. A zero page holds no memory.
fn pages_skip(pages: &Pages, all: u64) -> Option<Skip> {
    let is_whole = u64::from(pages.present) >= all && pages.swapped == 0;
    match (is_whole, pages.zero.unwrap_or(0) > 0, pages.file > 0) {
        (false, ..) => Some(Skip::NotPresent),
        (true, true, _) => Some(Skip::ZeroFilled),
        (true, false, true) => Some(Skip::Shared),
        (true, false, false) => None,
    }
}

const PRESENT: u64 = 1 << 63;
const FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;

/// Returns the reason why a block with these entries of the page map is not switched: one is not in memory, or another
/// process maps it as well (Documentation/admin-guide/mm/pagemap.rst).
#[must_use]
pub fn shared_block(entries: &[u64]) -> Option<Skip> {
    if entries.is_empty() || entries.iter().any(|it| it & PRESENT == 0) {
        return Some(Skip::NotPresent);
    }
    (own_pages(entries) < entries.len() as u64).then_some(Skip::Shared)
}

/// Returns how many of these entries of the page map are anonymous pages that no other process maps.
#[must_use]
pub fn own_pages(entries: &[u64]) -> u64 {
    let is_own = |it: &&u64| *it & PRESENT != 0 && *it & EXCLUSIVE != 0 && *it & FILE == 0;
    entries.iter().filter(is_own).count() as u64
}
