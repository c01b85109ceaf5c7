//! The large memory of one process, by site.

use std::collections::{BTreeMap, HashMap};

use super::range::Range;

/// The attributes of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The index of its site.
    pub(super) site: usize,
    /// The start of the memory that it is a part of.
    pub(super) base: u64,
    /// The process that mapped it: its children have a copy.
    pub(super) owner: i32,
}

/// The memory of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    /// The number of mappings that it has made in each size class.
    numbers: HashMap<u8, u32>,
    /// Its ranges by their first address: the end, and the attributes.
    ranges: BTreeMap<u64, (u64, Known)>,
}

impl Space {
    /// Returns the number of the next mapping of a size class, from 1.
    pub(super) fn next_number(&mut self, class: u8) -> u32 {
        let number = self.numbers.entry(class).or_default();
        *number += 1;
        *number
    }

    /// Releases a number if it was the last one.
    pub(super) fn free_number(&mut self, number: u32, class: u8) {
        if let Some(last) = self.numbers.get_mut(&class).filter(|last| **last == number) {
            *last -= 1;
        }
    }

    /// Earlier content of the range has been unmapped.
    pub(super) fn insert(&mut self, range: Range, known: Known) {
        self.remove(range);
        self.ranges.insert(range.start, (range.end, known));
    }

    /// Removes a range; returns the known pieces of it.
    pub(super) fn remove(&mut self, range: Range) -> Vec<(Range, Known)> {
        let below = self.ranges.range(..range.end).rev();
        let overlapped = below.take_while(|(_, (end, _))| *end > range.start);
        let overlapped: Vec<_> = overlapped.map(|(&at, &it)| (at, it)).collect();
        let mut removed = Vec::new();
        for (start, (end, known)) in overlapped {
            self.ranges.remove(&start);
            if start < range.start {
                self.ranges.insert(start, (range.start, known));
            }
            if end > range.end {
                self.ranges.insert(range.end, (end, known));
            }
            removed.push((range.common(Range { start, end }), known));
        }
        removed
    }

    /// Returns true if part of the memory that starts there is left.
    pub(super) fn has_of(&self, base: u64) -> bool {
        self.ranges.values().any(|(_, known)| known.base == base)
    }

    /// Returns the attributes of an address.
    pub(super) fn at(&self, address: u64) -> Option<Known> {
        let (_, (end, known)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some(*known)
    }

    /// Splits a range into known and unknown pieces, in ascending order of address.
    pub(super) fn pieces(&self, range: Range) -> Vec<(Range, Option<Known>)> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        let first = self.ranges.range(..=range.start).next_back();
        let behind = self.ranges.range(range.start..range.end);
        let candidates = first.into_iter().chain(behind);
        for (&start, &(end, known)) in candidates {
            let (start, end) = (start.max(at), end.min(range.end));
            if start >= end {
                continue;
            }
            if at < start {
                pieces.push((
                    Range {
                        start: at,
                        end: start,
                    },
                    None,
                ));
            }
            pieces.push((Range { start, end }, Some(known)));
            at = end;
        }
        if at < range.end {
            let end = range.end;
            pieces.push((Range { start: at, end }, None));
        }
        pieces
    }

    /// Returns the ranges that a process mapped, with their sites; neighbours of the same site are merged.
    pub(super) fn own(&self, process: i32) -> Vec<(Range, usize)> {
        let mut own: Vec<(Range, usize)> = Vec::new();
        for (&start, &(end, known)) in &self.ranges {
            match own.last_mut() {
                _ if known.owner != process => {}
                Some((last, site)) if last.end == start && *site == known.site => last.end = end,
                _ => own.push((Range { start, end }, known.site)),
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    fn site(site: usize) -> Known {
        Known {
            site,
            base: 0,
            owner: 1,
        }
    }

    #[test]
    fn memory_that_is_mapped_anew_belongs_to_its_last_site() {
        let mut space = Space::default();
        space.insert(at(100, 140), site(0));
        space.insert(at(110, 120), site(1));
        let sites = [105, 115, 125, 139, 140].map(|at| space.at(at).map(|it| it.site));
        assert_eq!(sites, [Some(0), Some(1), Some(0), Some(0), None]);
        space.insert(at(90, 190), site(2));
        assert_eq!(space.ranges.len(), 1);
    }

    #[test]
    fn a_range_is_told_apart_by_what_is_known() {
        let mut space = Space::default();
        space.insert(at(100, 140), site(0));
        space.insert(at(150, 160), site(1));
        let pieces = space.pieces(at(130, 170));
        let pieces: Vec<_> = pieces
            .iter()
            .map(|(range, known)| (range.start, range.end, known.map(|it| it.site)))
            .collect();
        let expected = [
            (130, 140, Some(0)),
            (140, 150, None),
            (150, 160, Some(1)),
            (160, 170, None),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(space.pieces(at(110, 120)), [(at(110, 120), Some(site(0)))]);
        assert_eq!(space.pieces(at(10, 20)), [(at(10, 20), None)]);
    }

    #[test]
    fn neighbours_of_one_site_are_one_range() {
        let mut space = Space::default();
        let foreign = Known {
            owner: 2,
            ..site(0)
        };
        for (range, known) in [
            (at(0, 10), site(0)),
            (at(10, 20), site(0)),
            (at(20, 30), foreign),
            (at(30, 40), site(1)),
        ] {
            space.insert(range, known);
        }
        assert_eq!(space.own(1), [(at(0, 20), 0), (at(30, 40), 1)]);
    }
}
