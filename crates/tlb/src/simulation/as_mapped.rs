//! The TLB with the kernel's actual page sizes, read while the program runs.

use std::collections::HashMap;

use super::outcome::{MappedPages, Streams, Tally};
use super::{Column, MemoryAccess, Paging, Processor};
use hugewise_base::missing::Missing;

/// The current page size at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageNow {
    /// One TLB entry for a whole huge page.
    Huge,
    /// A separate TLB entry for each base page.
    Base,
    /// Not mapped.
    Absent,
}

/// After this many accesses the page size is read again at the next walk: the kernel creates and splits huge pages
/// while a program runs.
const OLD: u64 = 1 << 20;

/// The TLB with the kernel's actual page sizes.
///
/// Base and huge pages are simulated separately, so shared entries count for both sizes. With pages of both sizes,
/// misses are a lower bound.
#[derive(Debug)]
pub struct AsMapped {
    base: Column,
    huge: Column,
    shift: u32,
    /// By huge-page block number.
    known: HashMap<u64, Known>,
    accesses: u64,
    missing: Option<Missing>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    page: PageNow,
    asked_at: u64,
}

impl AsMapped {
    /// An empty TLB.
    #[must_use]
    pub fn new(processor: &Processor, paging: Paging) -> Self {
        Self {
            base: Column::new(processor, paging, paging.base_bytes()),
            huge: Column::new(processor, paging, paging.huge_bytes()),
            shift: paging.huge_bytes().ilog2(),
            known: HashMap::new(),
            accesses: 0,
            missing: None,
        }
    }

    /// Simulates one access. `ask` reads the current page size at its address; after its first error nothing is
    /// counted.
    pub fn access(&mut self, access: MemoryAccess, ask: impl FnOnce() -> Result<PageNow, Missing>) {
        if self.missing.is_some() {
            return;
        }
        self.accesses += 1;
        let range = access.address >> self.shift;
        let Some(known) = self.known.get(&range).copied() else {
            let page = self.learn(range, ask);
            self.look_up(access, page);
            return;
        };
        let walked = self.look_up(access, known.page) > 0;
        let old = self.accesses - known.asked_at > OLD;
        if walked && (old || known.page == PageNow::Absent) {
            self.learn(range, ask);
        }
    }

    fn learn(&mut self, range: u64, ask: impl FnOnce() -> Result<PageNow, Missing>) -> PageNow {
        let now = ask().unwrap_or_else(|missing| {
            self.missing = Some(missing);
            PageNow::Absent
        });
        let asked_at = self.accesses;
        let new = Known {
            page: now,
            asked_at,
        };
        let known = self.known.entry(range).or_insert(new);
        // The process is ahead of its trace: the trace still accesses memory that the process has freed.
        if now != PageNow::Absent {
            *known = new;
        }
        known.asked_at = asked_at;
        known.page
    }

    fn look_up(&mut self, access: MemoryAccess, page: PageNow) -> u64 {
        match page {
            PageNow::Huge => self.huge.access(access),
            PageNow::Base | PageNow::Absent => self.base.access(access),
        }
    }

    /// Returns the counts so far.
    ///
    /// # Errors
    /// The page size of an address could not be read.
    pub fn counts(&self) -> Result<MappedPages, Missing> {
        if let Some(missing) = &self.missing {
            return Err(missing.clone());
        }
        let (base, huge) = (self.base.counts().streams, self.huge.counts().streams);
        let is_huge = |known: &&Known| known.page == PageNow::Huge;
        Ok(MappedPages {
            ranges: self.known.len() as u64,
            huge_ranges: self.known.values().filter(is_huge).count() as u64,
            streams: Streams {
                data: sum(base.data, huge.data),
                code: sum(base.code, huge.code),
            },
        })
    }
}

fn sum(one: Tally, other: Tally) -> Tally {
    let references = (one.walk_references, other.walk_references);
    Tally {
        accesses: one.accesses + other.accesses,
        first_level_misses: one.first_level_misses + other.first_level_misses,
        walks: one.walks + other.walks,
        walk_references: super::References {
            least: references.0.least + references.1.least,
            most: references.0.most + references.1.most,
        },
    }
}
