//! Counts anonymous memory by folio size, from `/proc/PID/pagemap` and `/proc/kpageflags`.
//!
//! This is the only way to see multi-size folios of one process (smaps counts them as plain resident memory). It needs
//! CAP_SYS_ADMIN, because it uses frame numbers.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use serde::{Deserialize, Serialize};

use super::page_scan::{FILE, HUGE, PRESENT, PageFilter, scan};
use crate::machine::error::Error;

/// The page sizes required to distinguish folios.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct PageSizes {
    /// A base page.
    pub page_bytes: u64,
    /// A PMD-mapped huge page.
    pub pmd_bytes: u64,
}

/// Bits of `/proc/kpageflags` (linux/kernel-page-flags.h).
pub(crate) const HEAD: u64 = 1 << 15;
pub(crate) const ANONYMOUS: u64 = 1 << 12;
const TAIL: u64 = 1 << 16;
pub(crate) const THP: u64 = 1 << 22;
pub(crate) const ZERO_PAGE: u64 = 1 << 24;
/// The frame number in an entry of `/proc/PID/pagemap`.
pub(crate) const FRAME: u64 = (1 << 55) - 1;
/// The page is in memory, in an entry of `/proc/PID/pagemap`.
pub(crate) const PRESENT_ENTRY: u64 = 1 << 63;
/// The process is held meanwhile: after this time the question is given up.
const LONGEST: Duration = Duration::from_millis(200);

/// Returns the bytes of present anonymous memory by folio size in KiB, without single pages and PMD-mapped memory.
pub(super) fn count(
    pagemap: &File,
    maps: &[u8],
    sizes: PageSizes,
) -> Result<BTreeMap<u64, u64>, Missing> {
    let path = Path::new("/proc/kpageflags");
    let flags = File::open(path)
        .map_err(|error| Error::io("opening", path, error).into_missing("CAP_SYS_ADMIN"))?;
    let wanted = PageFilter {
        with: PRESENT,
        without: FILE | HUGE,
        returned: PRESENT,
        ..PageFilter::default()
    };
    let mut counter = Counter::new(flags, sizes);
    let deadline = Instant::now() + LONGEST;
    for region in scan(pagemap, maps, wanted)? {
        for piece in pieces(region, 512 * sizes.page_bytes) {
            if Instant::now() > deadline {
                return Err(Missing::Unreadable {
                    error: format!("it took longer than {} ms", LONGEST.as_millis()),
                });
            }
            counter.add(pagemap, piece)?;
        }
    }
    Ok(counter.bytes)
}

fn pieces(region: Range<u64>, bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let step = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
    region
        .clone()
        .step_by(step)
        .map(move |start| start..region.end.min(start.saturating_add(bytes)))
}

struct Counter {
    flags: File,
    sizes: PageSizes,
    /// The flags of the aligned block of frames read last, and its first frame.
    block: (u64, Vec<u64>),
    bytes: BTreeMap<u64, u64>,
}

impl Counter {
    fn new(flags: File, sizes: PageSizes) -> Self {
        Self {
            flags,
            sizes,
            block: (u64::MAX, Vec::new()),
            bytes: BTreeMap::new(),
        }
    }

    fn add(&mut self, pagemap: &File, piece: Range<u64>) -> Result<(), Missing> {
        let page = self.sizes.page_bytes.max(1);
        let count = (piece.end - piece.start) / page;
        let entries = words(pagemap, piece.start / page, count).map_err(|e| unreadable(&e))?;
        for entry in entries {
            let frame = entry & FRAME;
            if frame == 0 {
                return Err(Missing::NotPermitted {
                    grant: "CAP_SYS_ADMIN".to_owned(),
                });
            }
            if let Some(pages) = self.folio_pages(frame)? {
                *self.bytes.entry(pages * page / 1024).or_default() += page;
            }
        }
        Ok(())
    }

    /// Returns the number of pages in the folio of a frame; `None` for a single page. Folios are aligned to their size
    /// and not larger than a PMD range, so the aligned block of that size contains the whole folio.
    fn folio_pages(&mut self, frame: u64) -> Result<Option<u64>, Missing> {
        let per_block = (self.sizes.pmd_bytes / self.sizes.page_bytes.max(1)).max(1);
        let first = frame - frame % per_block;
        if self.block.0 != first {
            let alone = words(&self.flags, frame, 1).map_err(|e| unreadable(&e))?;
            if alone.first().is_none_or(|flags| flags & THP == 0) {
                return Ok(None);
            }
            let block = words(&self.flags, first, per_block).map_err(|e| unreadable(&e))?;
            self.block = (first, block);
        }
        let place = usize::try_from(frame - first).unwrap_or(usize::MAX);
        Ok(folio_around(&self.block.1, place))
    }
}

/// Returns the length of the folio around `place` in the flags of a block: its head and the following tails.
pub(crate) fn folio_around(flags: &[u64], place: usize) -> Option<u64> {
    let here = flags.get(place)?;
    if here & THP == 0 || here & (HEAD | TAIL) == 0 {
        return None;
    }
    let head = flags[..=place]
        .iter()
        .rposition(|flags| flags & HEAD != 0)?;
    let tails = flags[head + 1..]
        .iter()
        .take_while(|&flags| flags & TAIL != 0);
    Some(1 + tails.count() as u64)
}

/// Returns how many entries of a page map from the first on are present with frames that follow each other.
pub(crate) fn stretch(entries: &[u64]) -> usize {
    let first = entries.first().map_or(0, |entry| entry & FRAME);
    entries
        .iter()
        .zip(first..)
        .take_while(|&(entry, frame)| entry & PRESENT_ENTRY != 0 && entry & FRAME == frame)
        .count()
}

/// `count` words of eight bytes from the word `first` on; fewer at the end of the file.
pub(crate) fn words(file: &File, first: u64, count: u64) -> std::io::Result<Vec<u64>> {
    let mut words = Words::default();
    words.read(file, first, count)?;
    Ok(words.all)
}

/// A reusable buffer of words: reading millions of words must not allocate each time.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The words read last.
    pub(crate) all: Vec<u64>,
    bytes: Vec<u8>,
}

impl Words {
    /// Reads `count` words, starting with word `first`; fewer at the end of the file.
    pub(crate) fn read(&mut self, file: &File, first: u64, count: u64) -> std::io::Result<()> {
        self.all.clear();
        let length = usize::try_from(count * 8).unwrap_or(0);
        if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
        let read = file.read_at(&mut self.bytes[..length], first * 8)?;
        let whole = self.bytes[..read].as_chunks::<8>().0;
        self.all
            .extend(whole.iter().copied().map(u64::from_ne_bytes));
        Ok(())
    }
}

fn unreadable(error: &std::io::Error) -> Missing {
    Missing::Unreadable {
        error: format!("page map: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folios_are_heads_with_their_tails() {
        let (head, tail) = (THP | HEAD, THP | TAIL);
        let flags = [0, head, tail, tail, tail, head, tail, HEAD, TAIL];
        let seen: Vec<_> = (0..=9).map(|place| folio_around(&flags, place)).collect();
        let four = Some(4);
        assert_eq!(
            seen,
            [
                None,
                four,
                four,
                four,
                four,
                Some(2),
                Some(2),
                None,
                None,
                None
            ]
        );
    }

    /// A huge page with a split mapping is still one folio, and is distinguished from small pages in the same way as
    /// smaller folios.
    #[test]
    fn split_mappings_still_lie_in_their_folio() {
        // SAFETY: geteuid has no preconditions.
        let root = unsafe { libc::geteuid() } == 0;
        let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        let (true, Ok(huge)) = (root, huge) else {
            return;
        };
        let sizes = PageSizes {
            page_bytes: rustix::param::page_size() as u64,
            pmd_bytes: huge.trim().parse().unwrap(),
        };
        let counted = (0..20).find_map(|_| {
            let bytes = count_in_split_page(sizes);
            bytes.get(&(sizes.pmd_bytes / 1024)).copied()
        });
        assert_eq!(counted, Some(sizes.pmd_bytes));
    }

    fn count_in_split_page(sizes: PageSizes) -> BTreeMap<u64, u64> {
        let (page, huge) = (sizes.page_bytes as usize, sizes.pmd_bytes as usize);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping of two huge pages, whose aligned huge page in the middle is advised, written to, and
        // partly protected; then the whole mapping is unmapped.
        unsafe {
            let base = libc::mmap(std::ptr::null_mut(), 2 * huge, access, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            let start = base.byte_add(base.align_offset(huge));
            libc::madvise(start, huge, libc::MADV_HUGEPAGE);
            start.cast::<u8>().write_volatile(1);
            libc::mprotect(start.byte_add(page), page, libc::PROT_READ);
            let maps = format!("{:x}-{:x}\n", start as usize, start as usize + huge);
            let pagemap = super::super::page_scan::open(std::process::id()).unwrap();
            let counted = count(&pagemap, maps.as_bytes(), sizes).unwrap();
            libc::munmap(base, 2 * huge);
            counted
        }
    }

    proptest! {
        #[test]
        fn no_flags_panic(flags: Vec<u64>, place in 0_usize..600) {
            let _ = folio_around(&flags, place);
        }
    }
}
