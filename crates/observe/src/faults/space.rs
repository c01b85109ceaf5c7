use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::event::{Map, Sharing};

/// An address space as far as events tell of it: what is mapped, and which pages were touched.
///
/// The end of a mapping is not announced by the kernel. What lies at an address is therefore
/// the last that was announced there, which is right for an address that is touched.
#[derive(Clone, Debug, Default)]
pub struct EventSpace {
    areas: BTreeMap<u64, Area>,
    /// Where brk(2) begins, where that is known.
    pub heap: Option<u64>,
    /// Pages by block of the size of a huge page. Shared with the child after a fork, until one
    /// of the two changes it.
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
    /// Bits of protection, as mmap(2) takes them.
    pub protection: u32,
    /// Path or name, as the kernel tells it.
    pub name: Arc<str>,
    /// Where its faults are added up; the same for all that grew out of one.
    pub tally: usize,
}

impl Area {
    /// Whether fresh pages of it are zeroes, not a file's.
    pub fn is_anonymous(&self) -> bool {
        let name = &*self.name;
        let special = name.starts_with('[') && !matches!(name, "[vdso]" | "[vvar]");
        name == "//anon" || special
    }

    /// Whether it is shared and yet no file of a file system on a disk.
    pub fn is_shared_memory(&self) -> bool {
        let name = &*self.name;
        let places = ["/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "//anon"];
        places.iter().any(|place| name.starts_with(place)) || self.is_anonymous()
    }

    /// Whether a huge page could map the whole block at `start`.
    pub fn covers(&self, start: u64, bytes: u64) -> bool {
        self.start <= start && start.saturating_add(bytes) <= self.end
    }
}

/// What was known of a page when it was touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageState {
    /// It had been touched.
    pub seen: bool,
    /// What it held was a zero page, for certain.
    pub zero: bool,
    /// A fork has come between, and nobody has touched it since.
    pub shared: bool,
    /// One huge fault had mapped it together with its block.
    pub by_huge: bool,
}

/// What is known of the pages of one block: bits.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Whether it was last touched as a whole.
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

/// The units of a [`EventSpace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Size of a small page.
    pub page_bytes: u64,
    /// Size of a huge page; where there are none, 512 pages are as good a block as any.
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
    /// What is mapped at an address.
    pub fn area(&self, address: u64) -> Option<&Area> {
        let (_, area) = self.areas.range(..=address).next_back()?;
        (address < area.end).then_some(area)
    }

    /// Takes a new mapping in. `tally` makes a place for its faults, unless it grew out of an
    /// older one.
    pub fn map(&mut self, map: &Map, units: Units, tally: impl FnOnce() -> usize) {
        // A recording may say anything; the kernel does not say this.
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

    /// Leaves of an area what lies outside of a range.
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

    /// Forgets that pages were touched.
    fn forget(&mut self, start: u64, end: u64, units: Units) {
        let blocks = start / units.block_bytes..end.div_ceil(units.block_bytes);
        // Whichever is less to walk: a mapping may reach over terabytes that nobody touched.
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

    /// What is known of the page at an address.
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

    /// Notes that a fault has put `bytes` of memory, or of a zero page, at an address.
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

    /// A child with the same memory: whatever was touched is shared from now on, in both.
    pub fn fork(&mut self) -> Self {
        for block in self.blocks.values_mut() {
            let block = Arc::make_mut(block);
            block.shared = block.seen.clone();
        }
        self.clone()
    }
}

/// Whether the pages of an older mapping live on under a new announcement that overlaps it.
///
/// One of the same protection that reaches further has grown, or was merged with a neighbour;
/// one of another protection within the old range is the same memory after mprotect(2). Anything
/// else is a new mapping where an old one was removed.
fn survives(old: &Area, new: &Map) -> bool {
    let grown = new.start <= old.start && old.end <= new.end;
    let within = old.start <= new.start && new.end <= old.end;
    if old.protection == new.protection {
        grown && !within
    } else {
        within
    }
}
