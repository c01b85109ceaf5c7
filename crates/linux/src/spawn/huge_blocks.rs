//! Which blocks of a process are one huge page: by `PAGEMAP_SCAN`, or by the flags of their page frames before
//! Linux 6.7.

use std::fs::File;
use std::io;
use std::path::Path;

use hugewise_base::missing::Missing;

#[cfg(any(test, feature = "live"))]
use super::folios::PRESENT_ENTRY;
use super::folios::{FRAME, PageSizes, Words, ZERO_PAGE, folio_around, stretch, words};
use super::page_scan::{self, HUGE, PageFilter, ZERO};
use crate::machine::error::Error;

/// The source, chosen by trying.
#[derive(Debug)]
pub(crate) enum HugeBlocks {
    /// `PAGEMAP_SCAN`: a PMD maps the block.
    Scan,
    /// `/proc/kpageflags`: the block is one folio. A folio that PTEs map looks the same; a change of the protection of
    /// a part leaves such.
    Frames(File),
}

/// The right to see the frame numbers of a process (pagemap_read, fs/proc/task_mmu.c).
const GRANT: &str = "CAP_SYS_ADMIN, to see page frames (Linux before 6.7)";

impl HugeBlocks {
    /// Finds the source that this kernel has for a page map.
    ///
    /// # Errors
    /// There is none, or we may not read it.
    pub(crate) fn find(pagemap: &File) -> Result<Self, Missing> {
        let none = PageFilter::default();
        match page_scan::scan_span(pagemap, 0..4096, none, |_| ()) {
            Ok(()) => Ok(Self::Scan),
            Err(Missing::NotSupported { .. }) => Self::frames(),
            Err(refused) => Err(refused),
        }
    }

    /// Opens the flags of page frames, if we may see frame numbers too.
    ///
    /// # Errors
    /// We may not.
    pub(crate) fn frames() -> Result<Self, Missing> {
        let own = std::hint::black_box(1_u8);
        let place = std::ptr::from_ref(&own).addr() / rustix::param::page_size();
        let entry = File::open("/proc/self/pagemap").and_then(|it| words(&it, place as u64, 1));
        if !entry.is_ok_and(|entry| entry.iter().any(|it| it & FRAME != 0)) {
            return Err(Missing::not_permitted(GRANT));
        }
        let path = Path::new("/proc/kpageflags");
        let flags = File::open(path)
            .map_err(|error| Error::io("opening", path, error).into_missing(GRANT))?;
        Ok(Self::Frames(flags))
    }

    /// Returns the blocks with one huge page, in order. The huge zero page does not count, nor does a block that cannot be
    /// read. `starts` must ascend.
    pub(crate) fn huge(&self, pagemap: &File, starts: &[u64], sizes: PageSizes) -> Vec<u64> {
        match self {
            Self::Scan => by_scan(pagemap, starts, sizes.pmd_bytes),
            Self::Frames(flags) => by_frames((pagemap, flags), starts, sizes),
        }
    }

    #[cfg(any(test, feature = "live"))]
    /// Returns how many pages of a block are the shared zero page.
    pub(crate) fn zero_pages(&self, pagemap: &File, start: u64, sizes: PageSizes) -> u64 {
        match self {
            Self::Scan => {
                let bytes = scanned_zero_bytes(pagemap, start..start + sizes.pmd_bytes);
                bytes / sizes.page_bytes.max(1)
            }
            Self::Frames(flags) => zero_frames((pagemap, flags), start, sizes).unwrap_or(0),
        }
    }
}

fn by_scan(pagemap: &File, starts: &[u64], huge_bytes: u64) -> Vec<u64> {
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
    let _ = page_scan::scan_span(pagemap, *first..last + huge_bytes, wanted, |region| {
        let from = starts.partition_point(|start| *start < region.start);
        let inside = starts[from..].iter();
        let inside = inside.take_while(|start| **start + huge_bytes <= region.end);
        huge.extend(inside.copied());
    });
    huge
}

fn by_frames((pagemap, flags): (&File, &File), starts: &[u64], sizes: PageSizes) -> Vec<u64> {
    let pages = sizes.pmd_bytes / sizes.page_bytes.max(1);
    let (mut entries, mut folio) = (Words::default(), Words::default());
    let mut is_huge = |start: &u64| -> io::Result<bool> {
        entries.read(pagemap, start / sizes.page_bytes.max(1), pages)?;
        let frame = entries.all.first().map_or(0, |entry| entry & FRAME);
        let is_row = frame != 0 && stretch(&entries.all) as u64 == pages;
        if !is_row {
            return Ok(false);
        }
        folio.read(flags, frame, pages)?;
        let is_zero = folio.all.iter().any(|flags| flags & ZERO_PAGE != 0);
        Ok(!is_zero && folio_around(&folio.all, 0) == Some(pages))
    };
    let huge = starts.iter().copied();
    huge.filter(|start| is_huge(start).unwrap_or(false))
        .collect()
}

#[cfg(any(test, feature = "live"))]
fn scanned_zero_bytes(pagemap: &File, block: std::ops::Range<u64>) -> u64 {
    let wanted = PageFilter {
        with: ZERO,
        returned: ZERO,
        ..PageFilter::default()
    };
    let mut bytes = 0;
    let _ = page_scan::scan_span(pagemap, block, wanted, |region| {
        bytes += region.end - region.start;
    });
    bytes
}

#[cfg(any(test, feature = "live"))]
fn zero_frames((pagemap, flags): (&File, &File), start: u64, sizes: PageSizes) -> io::Result<u64> {
    let page = sizes.page_bytes.max(1);
    let entries = words(pagemap, start / page, sizes.pmd_bytes / page)?;
    let mut zero = 0;
    for entry in entries.iter().filter(|entry| *entry & PRESENT_ENTRY != 0) {
        let of_frame = words(flags, entry & FRAME, 1)?;
        zero += u64::from(of_frame.iter().any(|flags| flags & ZERO_PAGE != 0));
    }
    Ok(zero)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fresh_memory::FreshMemory;

    const SIZES: PageSizes = PageSizes {
        page_bytes: 4096,
        pmd_bytes: 2 << 20,
    };

    /// Both sources see the same huge pages and zero pages, in memory that nobody else touches.
    #[test]
    fn frames_and_scan_agree() {
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        let (Ok(HugeBlocks::Scan), Ok(frames)) = (HugeBlocks::find(&pagemap), HugeBlocks::frames())
        else {
            return;
        };
        if rustix::param::page_size() != 4096 {
            return;
        }
        let huge = 2_usize << 20;
        let memory = FreshMemory::new(5 * huge).unwrap();
        let first = memory.aligned(huge);
        // SAFETY: the memory has room for four aligned blocks, and nobody else uses it. The first block stays
        // untouched, the second is read (zero pages), the others are written, and the last is made huge.
        unsafe {
            libc::madvise(first.cast(), 3 * huge, libc::MADV_NOHUGEPAGE);
            for page in (huge..2 * huge).step_by(4096) {
                std::hint::black_box(first.add(page).read_volatile());
            }
            first.add(2 * huge).write_bytes(1, 2 * huge);
            let made = libc::madvise(first.add(3 * huge).cast(), huge, libc::MADV_COLLAPSE);
            assert_eq!(made, 0, "{}", io::Error::last_os_error());
        }
        let starts = [0, 1, 2, 3].map(|index| (first.addr() + index * huge) as u64);
        for source in [HugeBlocks::Scan, frames] {
            let huge = source.huge(&pagemap, &starts, SIZES);
            assert_eq!(huge, [starts[3]], "{source:?}");
            let zero = starts.map(|start| source.zero_pages(&pagemap, start, SIZES));
            assert_eq!(zero, [0, 512, 0, 0], "{source:?}");
        }
    }
}
