//! The mappings of a running process as sites, and the sites that are switched separately.

use std::collections::BTreeMap;

use hugewise_experiment::run::site::{Site, size_class};
use hugewise_observe::address_space::{Mapping, MappingKind, Space};

use crate::blocks::mapping_skip;

/// The most sites of a layout: as many as a design of 16 rows separates.
pub const MOST_SITES: usize = 7;
/// A mapping with a smaller share of the blocks has no site of its own: its effect is smaller than any interval.
const LEAST_SHARE: f64 = 0.02;

/// A mapping whose blocks can be switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Its site.
    pub site: Site,
    /// Its first address.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// Its name, as the kernel has it: `[heap]`, or the program's own name.
    pub name: Option<String>,
}

impl Mapped {
    fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// Returns the mappings of an address space that can have blocks, each with its site. The kernel places a new mapping
/// below the older ones, so the highest of a class has the number 1. `attribute` numbers them as they are mapped, so
/// its numbers differ where a mapping was unmapped or placed elsewhere.
#[must_use]
pub fn mapped(space: &Space) -> Vec<Mapped> {
    let mut last: BTreeMap<u8, u32> = BTreeMap::new();
    let fits = |it: &&Mapping| it.bytes() >= space.huge_bytes && mapping_skip(it).is_none();
    let highest_first = space.mappings.iter().rev().filter(fits);
    let each = highest_first.map(|mapping| Mapped {
        site: match mapping.kind {
            MappingKind::Heap => Site::Heap,
            _ => numbered(size_class(mapping.bytes()), &mut last),
        },
        start: mapping.start,
        end: mapping.end,
        name: Some(mapping.name.to_string()).filter(|name| !name.is_empty()),
    });
    each.collect()
}

fn numbered(class: u8, last: &mut BTreeMap<u8, u32>) -> Site {
    let number = last.entry(class).or_insert(0);
    *number += 1;
    Site::Mapping {
        number: *number,
        class,
    }
}

/// The mappings of one process, and the addresses of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedProcess {
    /// The process.
    pub pid: u32,
    /// Its mappings.
    pub mapped: Vec<Mapped>,
    /// Its blocks that can be switched.
    pub blocks: Vec<u64>,
}

/// Memory that is switched as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedSite {
    /// The site.
    pub site: Site,
    /// Its mappings, each with its process.
    pub mappings: Vec<(u32, Mapped)>,
    /// The number of its blocks.
    pub blocks: u64,
}

impl SwitchedSite {
    fn empty(site: Site) -> Self {
        Self {
            site,
            mappings: Vec::new(),
            blocks: 0,
        }
    }

    fn add(&mut self, mappings: impl IntoIterator<Item = (u32, Mapped)>, blocks: u64) {
        self.mappings.extend(mappings);
        self.blocks += blocks;
    }

    /// Bytes of address space.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.mappings.iter().map(|(_, it)| it.end - it.start).sum()
    }

    /// The only mapping, if it has one.
    #[must_use]
    pub fn alone(&self) -> Option<&Mapped> {
        match self.mappings.as_slice() {
            [(_, mapped)] => Some(mapped),
            _ => None,
        }
    }
}

/// The sites that are switched separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All memory is one site.
    Whole,
    /// Several sites. Memory elsewhere is not switched.
    Sites(Vec<SwitchedSite>),
}

impl Layout {
    /// Lays out the largest mappings as sites of their own, and all others as one. Processes have a site in common if
    /// they map it alike.
    #[must_use]
    pub fn by_mapping(processes: &[MappedProcess]) -> Self {
        let mut all: BTreeMap<Site, SwitchedSite> = BTreeMap::new();
        for process in processes {
            for mapped in &process.mapped {
                let blocks = process.blocks.iter().filter(|it| mapped.has(**it));
                let blocks = blocks.count() as u64;
                if blocks > 0 {
                    let site = all.entry(mapped.site);
                    let site = site.or_insert_with(|| SwitchedSite::empty(mapped.site));
                    site.add([(process.pid, mapped.clone())], blocks);
                }
            }
        }
        Self::Sites(largest(all.into_values().collect()))
    }

    /// The sites; empty if all memory is one.
    #[must_use]
    pub fn sites(&self) -> &[SwitchedSite] {
        match self {
            Self::Whole => &[],
            Self::Sites(sites) => sites,
        }
    }

    /// The number of parts that are switched separately.
    #[must_use]
    pub fn parts(&self) -> usize {
        match self {
            Self::Whole => 1,
            Self::Sites(sites) => sites.len(),
        }
    }

    /// Returns the index of the part to which an address of a process belongs; `None` if it is not switched.
    #[must_use]
    pub fn part_of(&self, pid: u32, address: u64) -> Option<usize> {
        match self {
            Self::Whole => Some(0),
            Self::Sites(sites) => sites.iter().position(|site| {
                let mut mappings = site.mappings.iter();
                mappings.any(|(of, mapped)| *of == pid && mapped.has(address))
            }),
        }
    }
}

/// Keeps the largest sites, and joins the others.
fn largest(mut sites: Vec<SwitchedSite>) -> Vec<SwitchedSite> {
    sites.sort_by(|a, b| b.blocks.cmp(&a.blocks).then(a.site.cmp(&b.site)));
    let blocks: u64 = sites.iter().map(|it| it.blocks).sum();
    let is_large = |it: &&SwitchedSite| it.blocks as f64 >= LEAST_SHARE * blocks as f64;
    let large = sites.iter().take_while(is_large).count();
    let own = match (large == sites.len(), large > MOST_SITES) {
        (_, true) | (false, _) => large.min(MOST_SITES - 1),
        (true, false) => large,
    };
    if sites.len() - own <= 1 {
        return sites;
    }
    let mut others = SwitchedSite::empty(Site::Others);
    for site in sites.split_off(own) {
        others.add(site.mappings, site.blocks);
    }
    sites.push(others);
    sites
}
