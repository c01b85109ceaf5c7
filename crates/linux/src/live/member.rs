//! A process whose pages are switched.

use std::os::unix::fs::FileExt;

use hugewise_experiment::run::plan::Skip;
use hugewise_live::{Block, Blocks, blocks, shared_block};
use hugewise_observe::address_space::{Sort, Space};

use super::own::SplitMeans;
use super::switch::Pages;
use crate::machine::root::Root;
use crate::observe::address_space::{Depth, ReadError, read_space};
use crate::observe::collapse::{Advice, CollapseTarget, Life, Lives, Unusable, advise};
use crate::spawn::page_scan::{self, HUGE, PageFilter, ZERO};

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
    /// No source shows its huge blocks.
    #[error(
        "nothing tells which pages of process {pid} are huge: {why}; without that nothing can be \
         put back"
    )]
    NoScan {
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
        Ok(Self {
            pid,
            target: CollapseTarget::open(pid)?,
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
        let pid = self.pid;
        let huge = Some(self.huge_bytes);
        let space = read_space(root, pid, self.page_bytes, huge, Depth::Pages)
            .map_err(|error| Unfit::Unread { pid, error })?;
        check(&space)?;
        let mut found = blocks(&space);
        found.drop_where(|block| self.why_shared(block));
        Ok(found)
    }

    /// Returns true if a page of a block is the shared zero page.
    #[must_use]
    pub fn has_zero_page(&self, start: u64) -> bool {
        let wanted = PageFilter {
            with: ZERO,
            returned: ZERO,
            ..PageFilter::default()
        };
        let mut found = false;
        let block = start..start + self.huge_bytes;
        // Without an answer the block counts as gone.
        let _ = page_scan::scan_span(self.target.pagemap(), block, wanted, |_| found = true);
        found
    }

    fn why_shared(&self, block: &Block) -> Option<Skip> {
        let pages = self.huge_bytes / self.page_bytes;
        let mut bytes = vec![0; usize::try_from(pages * 8).unwrap_or(0)];
        let at = block.start / self.page_bytes * 8;
        match self.target.pagemap().read_exact_at(&mut bytes, at) {
            Ok(()) => {
                let entries = bytes.as_chunks::<8>().0.iter();
                let entries: Vec<u64> = entries.map(|it| u64::from_ne_bytes(*it)).collect();
                shared_block(&entries)
            }
            Err(_) => Some(Skip::NotPresent),
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
    match space.read_with.page_scan.missing() {
        Some(why) => Err(Unfit::NoScan {
            pid,
            why: why.to_string(),
        }),
        None => Ok(()),
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
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
            return Vec::new();
        };
        let wanted = PageFilter {
            with: HUGE,
            without: ZERO,
            returned: HUGE,
            ..PageFilter::default()
        };
        let mut huge = Vec::new();
        let span = *first..last + self.huge_bytes;
        // Without an answer nothing is known to be huge, and the caller finds the block not as wanted.
        let _ = page_scan::scan_span(self.target.pagemap(), span, wanted, |region| {
            let from = starts.partition_point(|start| *start < region.start);
            let inside = starts[from..].iter();
            let inside = inside.take_while(|start| **start + self.huge_bytes <= region.end);
            huge.extend(inside.copied());
        });
        huge
    }

    fn lives(&self) -> bool {
        self.target.life() == Life::Same
    }
}
