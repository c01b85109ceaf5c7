//! Free memory for huge pages: counted, and made by the kernel in our own time if caches have taken it.

use std::collections::BTreeMap;
use std::fmt;

use hugewise_base::counter::Counter;

use super::switch::Watch;
use crate::machine::fresh_memory::FreshMemory;
use crate::machine::root::Root;
use crate::proc::buddyinfo::{free_huge_pages, read_buddyinfo};
use crate::proc::meminfo::read_meminfo;
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
/// Blocks on top of the needed ones: other programs take some again.
const AHEAD: u64 = 64;
/// Room takes at most the available memory divided by this.
const SHARE: u64 = 8;

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
    /// Blocks that were made free and not used yet. Those in the lists of processors are missing in buddyinfo.
    made: u64,
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
            made: 0,
        }
    }

    /// Forgets the counters: their growth between two switches is others' work.
    pub fn begin(&mut self) {
        self.before = None;
        self.grown = 0;
        self.made = 0;
    }

    /// Makes the kernel free at least so many blocks: takes huge pages for our own memory and gives them back at once.
    /// Compaction and reclaim then take our time, and hold no lock of the other process.
    fn make(&mut self, needed: u64) {
        let memory = read_meminfo(self.root).ok();
        let available = memory.and_then(|it| it.get("MemAvailable")).unwrap_or(0);
        let blocks = (needed + AHEAD).min(available / SHARE / self.huge_bytes.max(1));
        if blocks >= needed {
            self.made = take_and_give_back(blocks, self.huge_bytes);
        }
        // The counters may have grown by this.
        self.before = None;
    }

    fn free(&self) -> Result<u64, Short> {
        let free = read_buddyinfo(self.root).map_err(|it| unread(&it))?;
        let free = free_huge_pages(&free, self.page_bytes, self.huge_bytes);
        Ok(free.max(self.made))
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
        let needed = blocks + RESERVE;
        let mut free = self.free()?;
        if free < needed {
            self.make(needed);
            free = self.free()?;
        }
        match free < needed {
            true => Err(Short::Blocks { free, needed }),
            false => {
                self.made = self.made.saturating_sub(blocks);
                Ok(())
            }
        }
    }
}

/// Makes huge pages of fresh memory, and drops them. Returns how many the kernel could make.
fn take_and_give_back(blocks: u64, huge_bytes: u64) -> u64 {
    let size = |blocks: u64| usize::try_from(blocks * huge_bytes).unwrap_or(usize::MAX);
    let Ok(memory) = FreshMemory::new(size(blocks + 1)) else {
        return 0;
    };
    let start = memory.aligned(size(1));
    let is_made = |block: &u64| {
        // SAFETY: the memory has room for so many aligned blocks, and nobody else uses it. The advice changes no content.
        unsafe {
            let block = start.add(size(*block));
            block.write_volatile(1);
            libc::madvise(block.cast(), size(1), libc::MADV_COLLAPSE) == 0
        }
    };
    (0..blocks).filter(is_made).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_room_is_made_beyond_a_part_of_the_available_memory() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(root.path().join("proc").join(name), text).unwrap();
        };
        write("vmstat", "compact_stall 1\n");
        write("meminfo", "MemAvailable: 1024 kB\n");
        write("buddyinfo", "Node 0, zone Normal 0 0 0 0 0 0 0 0 0 3 0\n");
        let root = Root::at(root.path());
        let mut room = Room::new(&root, 4096, 2 << 20);
        let short = room.check(8);
        assert_eq!(
            short,
            Err(Short::Blocks {
                free: 3,
                needed: 40
            })
        );
    }
}
