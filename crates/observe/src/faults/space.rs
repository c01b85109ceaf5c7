use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::event::{Map, Sharing};

/// An address space reconstructed from events: its mappings, and the touched pages.
///
/// The kernel does not announce the end of a mapping. The mapping at an address is therefore the last one announced,
/// which is correct for every touched address.
#[derive(Clone, Debug, Default)]
pub struct EventSpace {
    areas: BTreeMap<u64, Area>,
    /// The start of the brk(2) heap, if known.
    pub heap: Option<u64>,
    /// Pages by huge-page-sized block. After a fork, parent and child share a block until one of them changes it.
    blocks: HashMap<u64, Arc<Block>>,
}

/// A range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Private or shared.
    pub sharing: Sharing,
    /// Protection bits, as for mmap(2).
    pub protection: u32,
    /// Path or name, as the kernel reports it.
    pub name: Arc<str>,
    /// Index of its fault sums, shared by all areas that grew out of the same mapping.
    pub tally: usize,
}

impl Area {
    /// Returns true if new pages are zero-filled instead of read from a file.
    pub fn is_anonymous(&self) -> bool {
        let name = &*self.name;
        let special = name.starts_with('[') && !matches!(name, "[vdso]" | "[vvar]");
        name == "//anon" || special
    }

    /// Returns true for shared memory that no file on a disk backs.
    pub fn is_shared_memory(&self) -> bool {
        let name = &*self.name;
        let places = ["/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "//anon"];
        places.iter().any(|place| name.starts_with(place)) || self.is_anonymous()
    }

    /// Returns true if a huge page can map the whole block at `start`.
    pub fn covers(&self, start: u64, bytes: u64) -> bool {
        self.start <= start && start.saturating_add(bytes) <= self.end
    }
}

/// The state of a page before a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageState {
    /// The page was touched before.
    pub seen: bool,
    /// The page was certainly a zero page.
    pub zero: bool,
    /// A fork has happened since the last touch.
    pub shared: bool,
    /// One huge fault had mapped the page and its block.
    pub by_huge: bool,
}

/// The state of the pages of one block, as bits.
#[derive(Clone, Debug, Default)]
struct Block {
    /// True if the last touch mapped the whole block.
    by_huge: bool,
    seen: Bits,
    zero: Bits,
    shared: Bits,
}

#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn get(&self, index: usize) -> bool {
        let word = self.0.get(index / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    fn set(&mut self, index: usize, value: bool) {
        if index / 64 >= self.0.len() {
            if !value {
                return;
            }
            self.0.resize(index / 64 + 1, 0);
        }
        let mask = 1 << (index % 64);
        if value {
            self.0[index / 64] |= mask;
        } else {
            self.0[index / 64] &= !mask;
        }
    }
}

/// The units of an [`EventSpace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Size of a small page.
    pub page_bytes: u64,
    /// Size of a huge page. If there are none, the size of 512 small pages.
    pub block_bytes: u64,
}

impl Units {
    fn place(self, address: u64) -> (u64, usize) {
        let within = address % self.block_bytes / self.page_bytes;
        (
            address / self.block_bytes,
            usize::try_from(within).unwrap_or(0),
        )
    }

    fn pages_per_block(self) -> usize {
        usize::try_from(self.block_bytes / self.page_bytes).unwrap_or(1)
    }
}

impl EventSpace {
    /// The mapping at an address.
    pub fn area(&self, address: u64) -> Option<&Area> {
        let (_, area) = self.areas.range(..=address).next_back()?;
        (address < area.end).then_some(area)
    }

    /// Adds a mapping. `tally` allocates an index for its faults, unless it grew out of an older one.
    pub fn map(&mut self, map: &Map, units: Units, tally: impl FnOnce() -> usize) {
        // A recording can contain any value; the kernel never reports an empty range.
        if map.start >= map.end {
            return;
        }
        let older = self.overlapping(map.start, map.end);
        let same = |area: &&Area| {
            &*area.name == map.name.as_str()
                && area.sharing == map.sharing
                && (area.is_anonymous()
                    || area.start.wrapping_sub(area.offset) == map.start.wrapping_sub(map.offset))
        };
        let kin = older
            .iter()
            .filter(same)
            .max_by_key(|area| area.end - area.start);
        let tally = kin.map_or_else(tally, |area| area.tally);
        for area in &older {
            self.cut(area, map.start, map.end);
            if !(same(&area) && survives(area, map)) {
                self.forget(area.start.max(map.start), area.end.min(map.end), units);
            }
        }
        let area = Area {
            start: map.start,
            end: map.end,
            offset: map.offset,
            sharing: map.sharing,
            protection: map.protection,
            name: kin.map_or_else(|| map.name.as_str().into(), |area| Arc::clone(&area.name)),
            tally,
        };
        self.areas.insert(map.start, area);
    }

    fn overlapping(&self, start: u64, end: u64) -> Vec<Area> {
        let before = self.areas.range(..start).next_back().map(|(_, area)| area);
        let within = self.areas.range(start..end).map(|(_, area)| area);
        before
            .into_iter()
            .filter(|area| area.end > start)
            .chain(within)
            .cloned()
            .collect()
    }

    /// Keeps only the parts of an area outside a range.
    fn cut(&mut self, area: &Area, start: u64, end: u64) {
        self.areas.remove(&area.start);
        if area.start < start {
            let left = Area {
                end: start,
                ..area.clone()
            };
            self.areas.insert(area.start, left);
        }
        if area.end > end {
            let right = Area {
                start: end,
                offset: area.offset.wrapping_add(end - area.start),
                ..area.clone()
            };
            self.areas.insert(end, right);
        }
    }

    /// Clears the touched state of pages.
    fn forget(&mut self, start: u64, end: u64, units: Units) {
        let blocks = start / units.block_bytes..end.div_ceil(units.block_bytes);
        // Walks the smaller set: a mapping can span terabytes that were never touched.
        let touched: Vec<u64> = if blocks.end - blocks.start > self.blocks.len() as u64 {
            let all = self.blocks.keys().copied();
            all.filter(|block| blocks.contains(block)).collect()
        } else {
            blocks
                .filter(|block| self.blocks.contains_key(block))
                .collect()
        };
        for number in touched {
            let base = number * units.block_bytes;
            if start <= base && base + units.block_bytes <= end {
                self.blocks.remove(&number);
            } else if let Some(block) = self.blocks.get_mut(&number) {
                let block = Arc::make_mut(block);
                for index in 0..units.pages_per_block() {
                    let page = base + index as u64 * units.page_bytes;
                    if start <= page && page < end {
                        block.seen.set(index, false);
                        block.zero.set(index, false);
                        block.shared.set(index, false);
                    }
                }
            }
        }
    }

    /// The state of the page at an address.
    pub fn state(&self, address: u64, units: Units) -> PageState {
        let (number, index) = units.place(address);
        self.blocks
            .get(&number)
            .map_or_else(PageState::default, |block| PageState {
                by_huge: block.by_huge,
                seen: block.seen.get(index),
                zero: block.zero.get(index),
                shared: block.shared.get(index),
            })
    }

    /// Records that a fault mapped `bytes` of memory, or of a zero page, at an address.
    pub fn touch(&mut self, address: u64, bytes: u64, zero: bool, units: Units) {
        let bytes = bytes.clamp(units.page_bytes, units.block_bytes);
        let (number, first) = units.place(address - address % bytes);
        let pages = usize::try_from(bytes / units.page_bytes).unwrap_or(1);
        let block = Arc::make_mut(self.blocks.entry(number).or_default());
        block.by_huge = bytes == units.block_bytes;
        for index in first..first + pages {
            block.seen.set(index, true);
            block.zero.set(index, zero);
            block.shared.set(index, false);
        }
    }

    /// Returns the space of a child. All touched memory is shared from now on, in both.
    pub fn fork(&mut self) -> Self {
        for block in self.blocks.values_mut() {
            let block = Arc::make_mut(block);
            block.shared = block.seen.clone();
        }
        self.clone()
    }
}

/// Returns true if the pages of an old mapping survive a new announcement that overlaps it.
///
/// With the same protection and a larger range, the mapping has grown or was merged with a neighbour. With another
/// protection inside the old range, it is the same memory after mprotect(2). Anything else is a new mapping after an
/// old one was removed.
fn survives(old: &Area, new: &Map) -> bool {
    let grown = new.start <= old.start && old.end <= new.end;
    let within = old.start <= new.start && new.end <= old.end;
    if old.protection == new.protection {
        grown && !within
    } else {
        within
    }
}
