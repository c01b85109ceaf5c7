//! The sites at which a tree maps its large memory, and what becomes of that.

use std::collections::{BTreeMap, HashMap};

use hugewise_model::run::site::{Choice, Identity, Site, size_class};
use hugewise_model::run::trial::{Frame, MappedSite, SiteMemory};

use super::advisor::Origin;
use super::chain::{self, Chains};
use super::range::Range;
use crate::machine::root::Root;
use crate::proc::smaps_memory;

/// The sites of one tree.
#[derive(Debug)]
pub(super) struct Sites {
    choice: Choice,
    processes: HashMap<i32, Space>,
    mapped: Vec<MappedSite>,
    chains: Chains,
}

/// The memory of one process.
#[derive(Clone, Debug, Default)]
struct Space {
    /// How many mappings of each size class it has made.
    numbers: HashMap<u8, u32>,
    /// Its ranges by their first address, with the index of their site.
    ranges: BTreeMap<u64, (u64, usize)>,
}

impl Space {
    /// What lay there before has been unmapped since.
    fn insert(&mut self, range: Range, site: usize) {
        let below = self.ranges.range(..range.end).rev();
        let overlapped = below.take_while(|(_, (end, _))| *end > range.start);
        let overlapped: Vec<(u64, (u64, usize))> = overlapped.map(|(&at, &it)| (at, it)).collect();
        for (start, (end, other)) in overlapped {
            self.ranges.remove(&start);
            if start < range.start {
                self.ranges.insert(start, (range.start, other));
            }
            if end > range.end {
                self.ranges.insert(range.end, (end, other));
            }
        }
        self.ranges.insert(range.start, (range.end, site));
    }

    /// The site of an address.
    fn site_at(&self, address: u64) -> Option<usize> {
        let (_, (end, site)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some(*site)
    }
}

impl Sites {
    pub(super) fn new(choice: Choice) -> Self {
        Self {
            choice,
            processes: HashMap::new(),
            mapped: Vec::new(),
            chains: Chains::default(),
        }
    }

    /// Notes a range that a thread of a process has got; whether it is to be huge.
    pub(super) fn has_got(
        &mut self,
        (thread, process): (i32, i32),
        origin: Origin,
        range: Range,
    ) -> bool {
        let index = self.index_of((thread, process), origin, range);
        let known = &mut self.mapped[index];
        known.mappings += 1;
        known.bytes += range.bytes();
        let is_huge = self.choice.has(known.site);
        self.space(process).insert(range, index);
        is_huge
    }

    fn space(&mut self, process: i32) -> &mut Space {
        self.processes.entry(process).or_default()
    }

    /// The index of the site of a range, which is noted where it is new.
    fn index_of(&mut self, (thread, process): (i32, i32), origin: Origin, range: Range) -> usize {
        if let Origin::Moved(from) = origin
            && let Some(index) = self.space(process).site_at(from)
        {
            return index;
        }
        let (site, chain) = match origin {
            Origin::Heap => (Site::Heap, Vec::new()),
            Origin::Data => (Site::Data, Vec::new()),
            Origin::Mapped | Origin::Moved(_) => self.identify((thread, process), range),
        };
        let known = self.mapped.iter().position(|it| it.site == site);
        known.unwrap_or_else(|| {
            self.mapped.push(MappedSite {
                site,
                mappings: 0,
                bytes: 0,
                chain,
                at_end: None,
            });
            self.mapped.len() - 1
        })
    }

    /// The site of a new mapping, and the calls that made it where these tell it.
    fn identify(&mut self, (thread, process): (i32, i32), range: Range) -> (Site, Vec<Frame>) {
        let class = size_class(range.bytes());
        match self.choice.by {
            Identity::Mapping => {
                let number = self.space(process).numbers.entry(class).or_default();
                *number += 1;
                let number = *number;
                (Site::Mapping { number, class }, Vec::new())
            }
            Identity::Chain => {
                let chain = self.chains.of(thread, process);
                let hash = chain::hash(&chain);
                (Site::Chain { hash, class }, chain)
            }
        }
    }

    /// A child begins with the memory of its parent. A new thread is no new process, and is not
    /// asked for.
    pub(super) fn fork(&mut self, parent: i32, child: i32) {
        if let Some(space) = self.processes.get(&parent).cloned() {
            self.processes.entry(child).or_insert(space);
        }
    }

    pub(super) fn forget(&mut self, process: i32) {
        self.processes.remove(&process);
        self.chains.forget(process);
    }

    /// Reads what the memory of a process has become. Mappings that the kernel has merged were
    /// advised alike, and their pages are shared out by length.
    pub(super) fn look(&mut self, process: i32) {
        let Some(space) = self.processes.get(&process) else {
            return;
        };
        let memory = smaps_memory::read(&Root::real(), process.unsigned_abs());
        for (&start, &(end, index)) in &space.ranges {
            let range = Range { start, end };
            for mapping in memory.iter().filter(|it| it.start < end && it.end > start) {
                let whole = Range {
                    start: mapping.start,
                    end: mapping.end,
                };
                let shared = range.shared(whole);
                let part = |bytes: u64| {
                    (bytes as f64 * shared as f64 / whole.bytes() as f64).round() as u64
                };
                let seen = self.mapped[index]
                    .at_end
                    .get_or_insert(SiteMemory::default());
                seen.mapped_bytes += shared;
                seen.resident_bytes += part(mapping.resident_bytes);
                seen.huge_bytes += part(mapping.huge_bytes);
            }
        }
    }

    /// What was mapped at each site.
    pub(super) fn mapped(&self) -> &[MappedSite] {
        &self.mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sites(choice: &str) -> Sites {
        Sites::new(choice.parse().expect("a choice"))
    }

    fn at(start: u64, mib: u64) -> Range {
        Range::of(start * MIB, mib * MIB)
    }

    fn names(sites: &Sites) -> Vec<(String, u64, u64)> {
        let named = |it: &MappedSite| (it.site.to_string(), it.mappings, it.bytes / MIB);
        sites.mapped().iter().map(named).collect()
    }

    #[test]
    fn mappings_are_counted_by_class_and_process() {
        let mut sites = sites("mapping:2-16m+heap");
        let one = (1, 1);
        assert!(!sites.has_got(one, Origin::Mapped, at(100, 16)));
        assert!(!sites.has_got(one, Origin::Mapped, at(200, 64)));
        assert!(sites.has_got(one, Origin::Mapped, at(300, 20)));
        assert!(sites.has_got(one, Origin::Heap, at(10, 4)));
        assert!(
            !sites.has_got((5, 5), Origin::Mapped, at(300, 16)),
            "another process"
        );
        let expected = [
            ("1-16m", 2, 32),
            ("1-64m", 1, 64),
            ("2-16m", 1, 20),
            ("heap", 1, 4),
        ];
        assert_eq!(
            names(&sites),
            expected.map(|(name, n, mib)| (name.to_owned(), n, mib))
        );
    }

    #[test]
    fn memory_that_moves_keeps_its_site() {
        let mut sites = sites("mapping:1-16m");
        assert!(sites.has_got((1, 1), Origin::Mapped, at(100, 16)));
        assert!(sites.has_got((1, 1), Origin::Moved(100 * MIB), at(500, 128)));
        assert!(
            !sites.has_got((1, 1), Origin::Moved(900 * MIB), at(900, 128)),
            "unknown"
        );
    }

    #[test]
    fn a_child_has_the_memory_of_its_parent_until_it_runs_another_program() {
        let mut sites = sites("mapping:1-16m");
        sites.has_got((1, 1), Origin::Mapped, at(100, 16));
        sites.fork(1, 2);
        assert!(
            !sites.has_got((2, 2), Origin::Mapped, at(300, 16)),
            "its second"
        );
        sites.forget(2);
        assert!(
            sites.has_got((2, 2), Origin::Mapped, at(300, 16)),
            "its first"
        );
    }

    #[test]
    fn memory_that_is_mapped_anew_belongs_to_its_last_site() {
        let mut space = Space::default();
        space.insert(at(100, 40), 0);
        space.insert(at(110, 10), 1);
        let sites = [105, 115, 125, 139, 140].map(|at| space.site_at(at * MIB));
        assert_eq!(sites, [Some(0), Some(1), Some(0), Some(0), None]);
        space.insert(at(90, 100), 2);
        assert_eq!(space.ranges.len(), 1);
    }
}
