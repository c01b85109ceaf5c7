use std::fs::File;
use std::path::Path;

use hugewise_base::missing::Missing;

use crate::machine::error::Error;
use crate::spawn::folios::{ANONYMOUS, THP, folio_around, words};

/// Finds the folio sizes of physical addresses through `/proc/kpageflags`.
///
/// A fault is looked up some milliseconds after it happened. Its page may have been reused by then, and the answer
/// would describe the new use, but such short-lived memory is rare. A page that is free or no longer belongs to a
/// program gives no answer.
#[derive(Debug)]
pub(super) struct Folios {
    flags: File,
    page_bytes: u64,
    pages_per_block: u64,
}

impl Folios {
    /// Opens the file. `pmd_bytes` is the size of the largest folio, and its alignment.
    pub(super) fn open(page_bytes: u64, pmd_bytes: u64) -> Result<Self, Missing> {
        let path = Path::new("/proc/kpageflags");
        let missing = |error| Error::io("opening", path, error).into_missing("CAP_SYS_ADMIN");
        Ok(Self {
            flags: File::open(path).map_err(missing)?,
            page_bytes: page_bytes.max(1),
            pages_per_block: (pmd_bytes / page_bytes.max(1)).max(1),
        })
    }

    /// Returns the size in bytes of the anonymous folio at an address; a single page is a folio of one page.
    pub(super) fn bytes_at(&self, physical: u64) -> Option<u64> {
        let frame = physical / self.page_bytes;
        let own = *words(&self.flags, frame, 1).ok()?.first()?;
        if own & ANONYMOUS == 0 {
            return None;
        }
        if own & THP == 0 {
            return Some(self.page_bytes);
        }
        let first = frame - frame % self.pages_per_block;
        let block = words(&self.flags, first, self.pages_per_block).ok()?;
        let pages = folio_around(&block, usize::try_from(frame - first).ok()?)?;
        Some(pages * self.page_bytes)
    }
}
