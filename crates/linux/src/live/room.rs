//! Free memory for huge pages, and the work of the kernel to find some.

use std::collections::BTreeMap;
use std::fmt;

use hugewise_base::counter::Counter;

use super::switch::Watch;
use crate::machine::root::Root;
use crate::proc::buddyinfo::{free_huge_pages, read_buddyinfo};
use crate::proc::vmstat::read_vmstat;

/// Why no more blocks are made huge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Short {
    /// Too few free blocks are left.
    Blocks {
        /// Free.
        free: u64,
        /// The fewest that must stay.
        needed: u64,
    },
    /// A counter of compaction or direct reclaim grew.
    Counter {
        /// Its name in /proc/vmstat.
        name: String,
    },
    /// It cannot be read.
    Unread {
        /// Why.
        why: String,
    },
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks { free, needed } => write!(
                f,
                "only {free} free blocks of the huge-page size are left, fewer than {needed}"
            ),
            Self::Counter { name } => write!(
                f,
                "the kernel began to compact or reclaim memory for an allocation ({name} grew)"
            ),
            Self::Unread { why } => write!(f, "free memory cannot be watched: {why}"),
        }
    }
}

/// Blocks that stay free for other programs.
const RESERVE: u64 = 32;

/// The counters are the machine's. If they are ours, they grow from look to look.
const IN_A_ROW: u32 = 2;

/// Free memory while blocks become huge.
#[derive(Debug)]
pub struct Room<'a> {
    root: &'a Root,
    page_bytes: u64,
    huge_bytes: u64,
    before: Option<BTreeMap<String, u64>>,
    /// Looks in a row in which a counter had grown.
    grown: u32,
}

impl<'a> Room<'a> {
    /// Begins to watch.
    #[must_use]
    pub fn new(root: &'a Root, page_bytes: u64, huge_bytes: u64) -> Self {
        Self {
            root,
            page_bytes,
            huge_bytes,
            before: None,
            grown: 0,
        }
    }

    /// Forgets the counters: their growth between two switches is others' work.
    pub fn begin(&mut self) {
        self.before = None;
        self.grown = 0;
    }

    fn worked(&mut self) -> Result<(), Short> {
        let now = read_vmstat(self.root).map_err(|it| unread(&it))?;
        let now: BTreeMap<String, u64> = now.into_iter().filter(|(it, _)| is_work(it)).collect();
        let grew = |name: &&String| {
            let before = self.before.as_ref().and_then(|it| it.get(*name));
            before.is_some_and(|before| now.get(*name) > Some(before))
        };
        let grown = now.keys().find(grew).cloned();
        self.before = Some(now);
        let Some(name) = grown else {
            self.grown = 0;
            return Ok(());
        };
        self.grown += 1;
        match self.grown < IN_A_ROW {
            true => Ok(()),
            false => Err(Short::Counter { name }),
        }
    }
}

/// Compaction and reclaim inside an allocation.
fn is_work(name: &str) -> bool {
    [Counter::CompactStall, Counter::Allocstall]
        .iter()
        .any(|counter| counter.has(name))
}

fn unread(error: &crate::machine::error::Error) -> Short {
    Short::Unread {
        why: error.to_string(),
    }
}

impl Watch for Room<'_> {
    fn check(&mut self, blocks: u64) -> Result<(), Short> {
        self.worked()?;
        let free = read_buddyinfo(self.root).map_err(|it| unread(&it))?;
        let free = free_huge_pages(&free, self.page_bytes, self.huge_bytes);
        let needed = blocks + RESERVE;
        match free < needed {
            true => Err(Short::Blocks { free, needed }),
            false => Ok(()),
        }
    }
}
