//! A process whose pages are switched.

use std::io;
use std::os::unix::fs::FileExt;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::plan::Skip;
use hugewise_live::{Block, Blocks, Mapped, blocks, mapped, own_pages, shared_block};
use hugewise_observe::address_space::{Sort, Space};

use super::own::SplitMeans;
use super::switch::Pages;
use crate::machine::root::Root;
use crate::observe::address_space::{Depth, ReadError, read_space};
use crate::observe::collapse::{Advice, CollapseTarget, Life, Lives, Unusable, advise};
use crate::spawn::PageSizes;
use crate::spawn::huge_blocks::HugeBlocks;

/// Why the pages of a process cannot be switched.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The kernel refuses us.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// Its address space cannot be read.
    #[error("the address space of process {pid} cannot be read: {error}")]
    Unread {
        /// The process.
        pid: u32,
        /// Why.
        error: ReadError,
    },
    /// Its page map cannot be read.
    #[error(
        "the page map of process {pid} cannot be read: {why}; without it nothing can be put back"
    )]
    NoPageMap {
        /// The process.
        pid: u32,
        /// Why.
        why: String,
    },
    /// It has huge pages switched off.
    #[error(
        "process {pid} has huge pages switched off (PR_SET_THP_DISABLE), which cannot be changed \
         from outside; start it without"
    )]
    SwitchedOff {
        /// The process.
        pid: u32,
    },
    /// It has no memory.
    #[error("process {pid} is a thread of the kernel, or has ended")]
    NoMemory {
        /// The process.
        pid: u32,
    },
}

/// A process whose pages are switched.
#[derive(Debug)]
pub struct Member {
    pid: u32,
    target: CollapseTarget,
    seen: HugeBlocks,
    page_bytes: u64,
    huge_bytes: u64,
    means: SplitMeans,
}

impl Member {
    /// Opens a process.
    ///
    /// # Errors
    /// It is gone, or we may not.
    pub fn open(
        pid: u32,
        page_bytes: u64,
        huge_bytes: u64,
        means: SplitMeans,
    ) -> Result<Self, Unusable> {
        let target = CollapseTarget::open(pid)?;
        let seen = HugeBlocks::find(target.pagemap()).map_err(unusable)?;
        Ok(Self {
            pid,
            target,
            seen,
            page_bytes,
            huge_bytes,
            means,
        })
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The bytes of a base page and of a huge page.
    pub(super) fn sizes(&self) -> (u64, u64) {
        (self.page_bytes, self.huge_bytes)
    }

    /// Finds the blocks that can be switched now.
    ///
    /// # Errors
    /// Its memory cannot be read, or can never be huge.
    pub fn blocks(&self, root: &Root) -> Result<Blocks, Unfit> {
        self.blocks_and_mappings(root).map(|(blocks, _)| blocks)
    }

    /// Finds these blocks, and the mappings that can have some, with their sites.
    ///
    /// # Errors
    /// As for [`Member::blocks`].
    pub fn blocks_and_mappings(&self, root: &Root) -> Result<(Blocks, Vec<Mapped>), Unfit> {
        let pid = self.pid;
        let huge = Some(self.huge_bytes);
        let space = read_space(root, pid, self.page_bytes, huge, Depth::Pages)
            .map_err(|error| Unfit::Unread { pid, error })?;
        check(&space)?;
        let mut found = blocks(&space, |starts| self.huge(starts));
        found.drop_where(|block| self.why_shared(block));
        Ok((found, mapped(&space)))
    }

    /// Returns how many pages of a block are the shared zero page.
    fn zero_pages(&self, start: u64) -> u64 {
        self.seen
            .zero_pages(self.target.pagemap(), start, self.page_sizes())
    }

    /// Returns the share of a block that is the shared zero page, if some is and all its other pages are its own.
    /// Since Linux 6.12 a split leaves pages of zeros so (try_to_map_unused_to_zeropage, mm/migrate.c).
    #[must_use]
    pub fn zero_share(&self, start: u64) -> Option<f64> {
        let entries = self.entries(start).ok()?;
        let zero = self.zero_pages(start);
        let own = own_pages(&entries);
        let is_rest_own = zero > 0 && own + zero == entries.len() as u64;
        is_rest_own.then(|| zero as f64 / entries.len() as f64)
    }

    fn page_sizes(&self) -> PageSizes {
        PageSizes {
            page_bytes: self.page_bytes,
            pmd_bytes: self.huge_bytes,
        }
    }

    /// The entries of a block in the page map.
    fn entries(&self, start: u64) -> io::Result<Vec<u64>> {
        let pages = self.huge_bytes / self.page_bytes;
        let mut bytes = vec![0; usize::try_from(pages * 8).unwrap_or(0)];
        let at = start / self.page_bytes * 8;
        self.target.pagemap().read_exact_at(&mut bytes, at)?;
        let entries = bytes.as_chunks::<8>().0.iter();
        Ok(entries.map(|it| u64::from_ne_bytes(*it)).collect())
    }

    fn why_shared(&self, block: &Block) -> Option<Skip> {
        let Ok(entries) = self.entries(block.start) else {
            return Some(Skip::NotPresent);
        };
        match shared_block(&entries) {
            Some(Skip::Shared) if self.zero_pages(block.start) > 0 => Some(Skip::ZeroFilled),
            why => why,
        }
    }
}

fn check(space: &Space) -> Result<(), Unfit> {
    let process = &space.process;
    let pid = process.pid;
    if process.sort != Sort::Program {
        return Err(Unfit::NoMemory { pid });
    }
    if process.thp_enabled == Some(false) {
        return Err(Unfit::SwitchedOff { pid });
    }
    let sources = &space.read_with;
    match sources.page_map.missing() {
        Some(why) if !sources.page_scan.is_read() => Err(Unfit::NoPageMap {
            pid,
            why: why.to_string(),
        }),
        _ => Ok(()),
    }
}

fn unusable(missing: Missing) -> Unusable {
    match missing {
        Missing::NotPermitted { grant } => Unusable::NotPermitted { grant },
        other => Unusable::NotSupported {
            what: other.to_string(),
        },
    }
}

/// One part of a vector of process_madvise(2).
fn part(start: u64, length: u64) -> libc::iovec {
    libc::iovec {
        iov_base: std::ptr::without_provenance_mut(usize::try_from(start).unwrap_or(0)),
        iov_len: usize::try_from(length).unwrap_or(0),
    }
}

impl Pages for Member {
    fn split(&self, starts: &[u64]) -> Result<usize, i32> {
        match &self.means {
            SplitMeans::Cold => {
                let page = self.page_bytes;
                let parts: Vec<libc::iovec> = starts.iter().map(|it| part(*it, page)).collect();
                let bytes = advise(self.target.process(), &parts, Advice::Cold)?;
                Ok(bytes / usize::try_from(page).unwrap_or(1).max(1))
            }
            SplitMeans::Debugfs(file) => file.split(self.pid, starts, self.huge_bytes),
        }
    }

    fn collapse(&self, starts: &[u64]) -> Result<(), i32> {
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
            return Ok(());
        };
        let whole = part(*first, last + self.huge_bytes - first);
        advise(self.target.process(), &[whole], Advice::Collapse).map(drop)
    }

    fn huge(&self, starts: &[u64]) -> Vec<u64> {
        self.seen
            .huge(self.target.pagemap(), starts, self.page_sizes())
    }

    fn lives(&self) -> bool {
        self.target.life() == Life::Same
    }
}
