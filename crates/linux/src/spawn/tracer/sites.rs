//! The sites at which a tree maps large memory, and the resulting memory of each.

use std::collections::HashMap;

use hugewise_experiment::run::site::{Arena, Identity, Site, SiteChoice, size_class};
use hugewise_experiment::run::trial::{MappedSite, SiteMemory};

use super::advisor::Origin;
use super::allocation::Piece;
use super::chain::{self, Chains};
use super::memory_now::MemoryNow;
use super::range::Range;
use super::space::{Known, Space};

/// The maximum number of readings for a repeatedly unmapped site.
const MOST_LOOKS: u32 = 16;

/// The sites of one tree.
#[derive(Debug)]
pub(super) struct Sites {
    choice: SiteChoice,
    block: u64,
    processes: HashMap<i32, Space>,
    mapped: Vec<MappedSite>,
    /// The unmapped memory of each site: the largest reading, and the number of readings.
    unmapped: HashMap<usize, (SiteMemory, u32)>,
    indices: HashMap<Site, usize>,
    chains: Chains,
}

impl Sites {
    /// `block` is the size of huge pages in bytes.
    pub(super) fn new(choice: SiteChoice, block: u64) -> Self {
        Self {
            choice,
            block,
            processes: HashMap::new(),
            mapped: Vec::new(),
            unmapped: HashMap::new(),
            indices: HashMap::new(),
            chains: Chains::default(),
        }
    }

    /// Records a new range of a thread; returns which parts of it are to be huge or not.
    pub(super) fn has_got(
        &mut self,
        (thread, process): (i32, i32),
        origin: Origin,
        range: Range,
    ) -> Vec<(Range, bool)> {
        let pieces = self.pieces((thread, process), origin, range);
        let pieces: Vec<Piece> = match self.choice.by.part_bytes() {
            Some(bytes) => {
                let cut = |it: Piece| it.cut(bytes, self.block);
                pieces.into_iter().flat_map(cut).collect()
            }
            None => pieces,
        };
        let mut advised: Vec<(Range, bool)> = Vec::new();
        for piece in pieces {
            let range = piece.range;
            let is_huge = self.choice.has(piece.site);
            self.note(process, piece);
            match advised.last_mut() {
                Some((last, other)) if last.end == range.start && *other == is_huge => {
                    last.end = range.end;
                }
                _ => advised.push((range, is_huge)),
            }
        }
        advised
    }

    fn note(&mut self, process: i32, piece: Piece) {
        let count = self.mapped.len();
        let index = *self.indices.entry(piece.site).or_insert(count);
        if index == count {
            self.mapped.push(MappedSite {
                site: piece.site,
                mappings: 0,
                bytes: 0,
                chain: piece.chain,
                name: None,
                address: None,
                at_end: None,
            });
        }
        let mapped = &mut self.mapped[index];
        mapped.mappings += 1;
        mapped.bytes += piece.new_bytes;
        let known = Known {
            site: index,
            base: piece.base,
            owner: process,
        };
        self.space(process).insert(piece.range, known);
    }

    fn space(&mut self, process: i32) -> &mut Space {
        self.processes.entry(process).or_default()
    }

    /// Assigns a range to its site, before it is split into parts.
    fn pieces(
        &mut self,
        (thread, process): (i32, i32),
        origin: Origin,
        range: Range,
    ) -> Vec<Piece> {
        match origin {
            Origin::Heap => {
                let before = self.space(process).at(range.start.saturating_sub(1));
                let before = before.or_else(|| self.space(process).at(range.start));
                let heap =
                    before.filter(|it| self.mapped[it.site].site.arena() == Some(Arena::Heap));
                let base = heap.map_or(range.start, |it| it.base);
                vec![Piece::new(range, Site::Heap, base)]
            }
            Origin::Data => vec![Piece::new(range, Site::Data, range.start)],
            Origin::Mapped => vec![self.identified((thread, process), range)],
            Origin::Moved(from) => match self.space(process).at(from) {
                Some(known) => {
                    let base = range.start.saturating_sub(from.saturating_sub(known.base));
                    vec![Piece::new(range, self.mapped[known.site].site, base)]
                }
                None => vec![self.identified((thread, process), range)],
            },
            Origin::Placed => {
                let found = self.space(process).pieces(range);
                let mut pieces = Vec::new();
                for (range, known) in found {
                    match known {
                        Some(known) => pieces.push(Piece {
                            new_bytes: 0,
                            ..Piece::new(range, self.mapped[known.site].site, known.base)
                        }),
                        None if range.bytes() >= self.block => {
                            pieces.push(self.identified((thread, process), range));
                        }
                        None => {}
                    }
                }
                pieces
            }
        }
    }

    /// Identifies the site of a new mapping, with its call chain if the chain is part of the site.
    fn identified(&mut self, (thread, process): (i32, i32), range: Range) -> Piece {
        let class = size_class(range.bytes());
        let (site, chain) = match self.choice.by {
            Identity::Mapping | Identity::Chunk { .. } => {
                let number = self.space(process).next_number(class);
                (Site::Mapping { number, class }, Vec::new())
            }
            Identity::Chain => {
                let chain = self.chains.of(thread, process);
                let hash = chain::hash(&chain);
                (Site::Chain { hash, class }, chain)
            }
            Identity::Library => {
                let chain = chain::from_its_library(self.chains.of(thread, process));
                let hash = chain::hash_of_file(&chain);
                (Site::Library { hash }, chain)
            }
        };
        Piece {
            chain,
            ..Piece::new(range, site, range.start)
        }
    }

    /// Records that a child starts with the memory of its parent. A new thread is not a new process, and is ignored.
    pub(super) fn fork(&mut self, parent: i32, child: i32) {
        if let Some(space) = self.processes.get(&parent).cloned() {
            self.processes.entry(child).or_insert(space);
        }
    }

    pub(super) fn forget(&mut self, process: i32) {
        self.processes.remove(&process);
        self.chains.forget(process);
    }

    /// Reads the resulting memory of a process, but only ranges that it mapped: inherited memory is counted in the
    /// parent.
    pub(super) fn look(&mut self, process: i32) {
        let Some(space) = self.processes.get(&process) else {
            return;
        };
        let own = space.own(process);
        if own.is_empty() {
            return;
        }
        let now = MemoryNow::read(process, self.block);
        for (range, index) in own {
            let mapped = &mut self.mapped[index];
            let memory = now.of(range);
            if memory.mapped_bytes > 0 {
                let seen = mapped.at_end.get_or_insert_default();
                *seen = together(*seen, memory);
            }
            let name = now.name(range).map(str::to_owned);
            mapped.name = name.or_else(|| mapped.name.take());
        }
    }

    /// Handles a process before it unmaps a range. Memory unmapped without ever having a page was an attempt to find an
    /// address: the next mapping is the same site.
    pub(super) fn loses(&mut self, process: i32, range: Range) {
        let Some(space) = self.processes.get_mut(&process) else {
            return;
        };
        let mut gone = space.remove(range);
        gone.retain(|(_, known)| known.owner == process);
        let looks = |index| self.unmapped.get(&index).map_or(0, |(_, looks)| *looks);
        if gone
            .iter()
            .all(|(_, known)| looks(known.site) >= MOST_LOOKS)
        {
            return;
        }
        let now = MemoryNow::read(process, self.block);
        let gone: Vec<_> = gone
            .into_iter()
            .map(|(range, known)| (range, known, now.of(range)))
            .collect();
        let holds_nothing = gone.iter().all(|(.., memory)| memory.resident_bytes == 0);
        for (range, known, memory) in gone {
            let (most, looks) = self.unmapped.entry(known.site).or_default();
            *looks += 1;
            if memory.resident_bytes >= most.resident_bytes {
                *most = memory;
            }
            if holds_nothing && !self.space(process).has_of(known.base) {
                self.undo(process, range, known);
            }
        }
    }

    fn undo(&mut self, process: i32, range: Range, known: Known) {
        let mapped = &mut self.mapped[known.site];
        mapped.mappings = mapped.mappings.saturating_sub(1);
        mapped.bytes = mapped.bytes.saturating_sub(range.bytes());
        if let Some(Arena::Mapping { number, class }) = mapped.site.arena() {
            self.space(process).free_number(number, class);
        }
    }

    /// Returns the memory mapped at each site. Unselected parts are omitted if they were always empty: a reservation
    /// has many, and its edges may be unmapped at once.
    pub(super) fn mapped(&self) -> Vec<MappedSite> {
        let seen = |(index, it): (usize, &MappedSite)| {
            let unmapped = self.unmapped.get(&index).map(|(most, _)| *most);
            let at_end = it.at_end.or(unmapped);
            MappedSite {
                at_end,
                ..it.clone()
            }
        };
        let is_empty = |it: &MappedSite| {
            let is_part = matches!(it.site, Site::Part { .. });
            is_part && it.at_end.is_some_and(|memory| memory.resident_bytes == 0)
        };
        let matters =
            |it: &MappedSite| self.choice.names(it.site) || !(it.mappings == 0 || is_empty(it));
        let all = self.mapped.iter().enumerate().map(seen);
        all.filter(matters).collect()
    }
}

fn together(one: SiteMemory, other: SiteMemory) -> SiteMemory {
    let reach = one.reach_bytes.unwrap_or(0);
    SiteMemory {
        mapped_bytes: one.mapped_bytes + other.mapped_bytes,
        resident_bytes: one.resident_bytes + other.resident_bytes,
        huge_bytes: one.huge_bytes + other.huge_bytes,
        reach_bytes: other.reach_bytes.map(|it| it + reach),
    }
}

#[cfg(test)]
mod tests;
