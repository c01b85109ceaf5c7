//! The pages of one file in the page cache: evicted, and read again as huge or as small folios.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};

use crate::apply::file_window::{Access, Window};

/// Parts of a file, each a multiple of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages<'a> {
    pub(super) file: &'a File,
    pub(super) stretches: &'a [Range<u64>],
    pub(super) block: u64,
}

/// The result of making the pages huge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    /// Bytes in huge pages.
    pub(super) huge: u64,
    /// The last refusal of `MADV_COLLAPSE`.
    pub(super) error: Option<i32>,
}

/// An error with its step.
fn at(step: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("{step}: {error}")
}

impl Pages<'_> {
    /// Returns the bytes of all blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.stretches.iter().map(|it| it.end - it.start).sum()
    }

    /// Makes them huge by the first means that works.
    pub(super) fn make_huge(&self) -> Result<Made, String> {
        let mut huge = self.read_huge()?;
        if huge < self.bytes() {
            self.evict().map_err(at("posix_fadvise"))?;
            huge = self.read_huge()?;
        }
        let mut error = None;
        if huge < self.bytes() {
            error = self.collapse().map_err(at("mapping"))?;
            huge = self.read_huge()?;
        }
        Ok(Made { huge, error })
    }

    /// Makes them small; returns the bytes that stay huge, because other programs use them.
    pub(super) fn make_small(&self) -> Result<u64, String> {
        if self.read_and_count()? == 0 {
            return Ok(0);
        }
        self.evict().map_err(at("posix_fadvise"))?;
        let left = self.read_and_count()?;
        if left == 0 {
            return Ok(0);
        }
        // A folio larger than a huge page reaches beyond the evicted ranges.
        self.evict_range(0, 0).map_err(at("posix_fadvise"))?;
        self.read_and_count()
    }

    /// Reads them into the page cache, as small folios unless they are there; returns the bytes in huge pages.
    pub(super) fn read_and_count(&self) -> Result<u64, String> {
        self.read_small().map_err(at("reading"))?;
        self.count(libc::MADV_RANDOM)
    }

    /// Reads them through mappings for which the kernel reads whole huge folios.
    fn read_huge(&self) -> Result<u64, String> {
        self.count(libc::MADV_HUGEPAGE)
    }

    /// Maps them all, with this advice for pages that must be read; returns the bytes mapped by PMDs.
    fn count(&self, advice: libc::c_int) -> Result<u64, String> {
        let mut huge = 0;
        for stretch in self.stretches {
            let window = Window::open(self.file, stretch, self.block, Access::Read);
            let window = window.map_err(at("mapping"))?;
            window.advise(advice).map_err(at("madvise"))?;
            window.populate().map_err(at("MADV_POPULATE_READ"))?;
            huge += window.huge_bytes().map_err(|missing| missing.to_string())?;
        }
        Ok(huge)
    }

    /// Reads them without readahead, whose folios grow up to huge pages.
    fn read_small(&self) -> io::Result<()> {
        const PIECE: usize = 1 << 20;
        self.advise(0, 0, Advice::Random)?;
        let mut piece = vec![0; PIECE];
        for stretch in self.stretches {
            for offset in stretch.clone().step_by(PIECE) {
                let most = PIECE.min((stretch.end - offset) as usize);
                self.file.read_at(&mut piece[..most], offset)?;
            }
        }
        self.advise(0, 0, Advice::Normal)
    }

    /// Drops clean pages that no process maps; dirty ones are written first.
    fn evict(&self) -> io::Result<()> {
        for stretch in self.stretches {
            self.evict_range(stretch.start, stretch.end - stretch.start)?;
        }
        Ok(())
    }

    /// A length of 0 means up to the end of the file.
    fn evict_range(&self, offset: u64, bytes: u64) -> io::Result<()> {
        rustix::fs::fdatasync(self.file)?;
        self.advise(offset, bytes, Advice::DontNeed)
    }

    fn advise(&self, offset: u64, bytes: u64, advice: Advice) -> io::Result<()> {
        Ok(fadvise(self.file, offset, NonZeroU64::new(bytes), advice)?)
    }

    /// Collapses every block; returns the last refusal.
    fn collapse(&self) -> io::Result<Option<i32>> {
        let mut refused = None;
        for stretch in self.stretches {
            let window = Window::open(self.file, stretch, self.block, Access::Execute)?;
            for start in (0..stretch.end - stretch.start).step_by(self.block as usize) {
                let collapsed = window.advise_part(start..start + self.block, libc::MADV_COLLAPSE);
                refused = collapsed.err().and_then(|it| it.raw_os_error()).or(refused);
            }
        }
        Ok(refused)
    }
}
