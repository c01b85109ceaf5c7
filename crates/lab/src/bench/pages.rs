//! The pages of a buffer, read from the kernel after the measurement: `PAGEMAP_SCAN` for the kinds, and the flags of
//! page frames for the sizes of folios.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::missing::Reason;
use crate::pagemap::{self, FRAME, Found, PRESENT, SCAN_HUGE, SCAN_PRESENT, SCAN_ZERO, Wanted};
use crate::region::{huge_bytes, page_bytes};

/// Bytes of a buffer by kind; the sum is its length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Base pages; includes folios if frames cannot be read.
    pub(crate) small: u64,
    /// Folios mapped page by page, by their size; one of huge-page size means a split mapping.
    pub(crate) folios: BTreeMap<u64, u64>,
    /// Transparent huge pages.
    pub(crate) huge: u64,
    /// The shared zero page.
    pub(crate) zero: u64,
    /// The shared huge zero page.
    pub(crate) huge_zero: u64,
    /// Pages of a hugetlb pool.
    pub(crate) hugetlb: u64,
    /// No page.
    pub(crate) absent: u64,
}

impl Pages {
    /// The object of a line; empty kinds are left out.
    pub(crate) fn json(&self) -> String {
        let kinds = [
            ("small", self.small),
            ("huge", self.huge),
            ("zero", self.zero),
            ("huge_zero", self.huge_zero),
            ("hugetlb", self.hugetlb),
            ("absent", self.absent),
        ];
        let kinds = kinds
            .into_iter()
            .map(|(kind, bytes)| (kind.to_owned(), bytes));
        let folios = self.folios.iter();
        let folios = folios.map(|(size, &bytes)| (format!("mthp_{size}"), bytes));
        let fields = kinds
            .chain(folios)
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(kind, bytes)| format!(r#""{kind}":{bytes}"#));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }

    /// The sum of both.
    pub(crate) fn plus(mut self, more: &Self) -> Self {
        for (size, bytes) in &more.folios {
            *self.folios.entry(*size).or_default() += bytes;
        }
        self.small += more.small;
        self.huge += more.huge;
        self.zero += more.zero;
        self.huge_zero += more.huge_zero;
        self.hugetlb += more.hugetlb;
        self.absent += more.absent;
        self
    }

    /// The share mapped by huge pages; NaN if nothing was counted.
    pub(crate) fn huge_share(&self) -> f64 {
        (self.huge + self.hugetlb) as f64 / self.total() as f64
    }

    /// The total.
    pub(crate) fn total(&self) -> u64 {
        let folios: u64 = self.folios.values().sum();
        folios + self.small + self.huge + self.zero + self.huge_zero + self.hugetlb + self.absent
    }
}

/// The kind of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// Anonymous memory.
    Anonymous,
    /// A mapping of a hugetlb pool, which the scan cannot distinguish from huge pages.
    Hugetlb,
}

/// Flags of frames (linux/kernel-page-flags.h).
const HEAD: u64 = 1 << 15;
const TAIL: u64 = 1 << 16;
const ZERO_PAGE: u64 = 1 << 24;

/// Pages that are present, of every kind.
const WANTED: Wanted = Wanted {
    all_of: SCAN_PRESENT,
    any_of: 0,
    told: SCAN_PRESENT | SCAN_ZERO | SCAN_HUGE,
};

/// Regions per call.
const REGIONS: usize = 1024;

/// The pages of `bytes` at `start`, rounded out to whole pages.
pub(crate) fn look(start: *const u8, bytes: usize, mapped: Mapped) -> Result<Pages, Reason> {
    let page = page_bytes();
    let first = start as usize / page * page;
    let end = (start as usize + bytes).next_multiple_of(page);
    let pagemap = File::open("/proc/self/pagemap")
        .map_err(|error| Reason::Unreadable(format!("/proc/self/pagemap: {error}")))?;
    let mut flags = File::open("/proc/kpageflags").ok().map(Flags::new);
    let mut pages = Pages::default();
    let mut place = first as u64;
    let mut found = vec![Found::default(); REGIONS];
    while place < end as u64 {
        let (count, walked) = pagemap::scan(&pagemap, place..end as u64, WANTED, &mut found)
            .map_err(|error| refused(&error))?;
        let mut told = place;
        for region in &found[..count] {
            pages.absent += region.start - told;
            told = region.end;
            pages.add(&pagemap, flags.as_mut(), region, mapped);
        }
        let reached = if count < REGIONS {
            end as u64
        } else {
            told.max(walked)
        };
        pages.absent += reached - told;
        place = reached;
    }
    Ok(pages)
}

impl Pages {
    fn add(&mut self, pagemap: &File, flags: Option<&mut Flags>, region: &Found, mapped: Mapped) {
        let bytes = region.end - region.start;
        let is = |category: u64| region.categories & category != 0;
        if mapped == Mapped::Hugetlb {
            self.hugetlb += bytes;
        } else if is(SCAN_ZERO) && is(SCAN_HUGE) {
            self.huge_zero += bytes;
        } else if is(SCAN_ZERO) {
            self.zero += bytes;
        } else if is(SCAN_HUGE) {
            self.huge += bytes;
        } else {
            self.add_small(pagemap, flags, region);
        }
    }

    /// Adds pages mapped by page tables, by the flags of their frames if they can be read.
    fn add_small(&mut self, pagemap: &File, flags: Option<&mut Flags>, region: &Found) {
        let before = self.clone();
        let added = flags.and_then(|flags| self.try_add_folios(pagemap, flags, region));
        if added.is_none() {
            *self = before;
            self.small += region.end - region.start;
        }
    }

    fn try_add_folios(&mut self, pagemap: &File, flags: &mut Flags, region: &Found) -> Option<()> {
        let page = page_bytes() as u64;
        let count = ((region.end - region.start) / page) as usize;
        let mut entries = vec![0_u8; count * 8];
        pagemap
            .read_exact_at(&mut entries, region.start / page * 8)
            .ok()?;
        for entry in entries.as_chunks::<8>().0 {
            let entry = u64::from_ne_bytes(*entry);
            let frame = entry & FRAME;
            if entry & PRESENT == 0 || frame == 0 {
                return None;
            }
            match flags.folio_pages(frame)? {
                1 => self.small += page,
                pages => *self.folios.entry(pages * page).or_default() += page,
            }
        }
        Some(())
    }
}

/// Flags of the frames around the last frame that belonged to a folio.
struct Flags {
    file: File,
    per_range: u64,
    first: u64,
    flags: Vec<u64>,
}

impl Flags {
    fn new(file: File) -> Self {
        Self {
            file,
            per_range: (huge_bytes() / page_bytes()) as u64,
            first: 0,
            flags: Vec::new(),
        }
    }

    /// The number of pages in the folio of a frame. A folio is aligned to its size, so it never extends beyond the
    /// aligned range of a huge page. Single pages can be anywhere, so they are read one by one.
    fn folio_pages(&mut self, frame: u64) -> Option<u64> {
        let first = frame / self.per_range * self.per_range;
        if self.flags.is_empty() || self.first != first {
            if is_single(self.read(frame, 1)?[0]) {
                return Some(1);
            }
            self.flags = self.read(first, self.per_range as usize)?;
            self.first = first;
        }
        let at = (frame - first) as usize;
        if is_single(self.flags[at]) {
            return Some(1);
        }
        let head = (0..=at).rev().find(|&i| self.flags[i] & HEAD != 0)?;
        let tails = self.flags[head + 1..].iter();
        Some(1 + tails.take_while(|flag| **flag & TAIL != 0).count() as u64)
    }

    fn read(&self, first: u64, count: usize) -> Option<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        self.file.read_exact_at(&mut bytes, first * 8).ok()?;
        let (flags, _) = bytes.as_chunks::<8>();
        Some(flags.iter().map(|flag| u64::from_ne_bytes(*flag)).collect())
    }
}

fn is_single(flags: u64) -> bool {
    flags & ZERO_PAGE != 0 || flags & (HEAD | TAIL) == 0
}

fn refused(error: &std::io::Error) -> Reason {
    match error.raw_os_error() {
        Some(libc::ENOTTY | libc::EINVAL) => {
            Reason::NotSupported("/proc/pagemap ioctl PAGEMAP_SCAN (Linux 6.7)".to_owned())
        }
        _ => Reason::Unreadable(format!("PAGEMAP_SCAN: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::{Advice, Align, Region};

    /// A region of small pages with known parts read, written and untouched.
    #[test]
    fn pages_are_told_by_what_was_done_to_them() {
        let page = page_bytes();
        let region = Region::fresh(64, Align::Huge, Advice::Small).expect("memory");
        region.write_part(0, 16 * page);
        // SAFETY: the page is in the region, and readable.
        unsafe { region.start().add(20 * page).read_volatile() };
        let pages = match look(region.start(), 64 * page, Mapped::Anonymous) {
            Ok(pages) => pages,
            Err(reason) => return println!("SKIP pages of a buffer: {reason:?}"),
        };
        let of = |count: usize| (count * page) as u64;
        assert_eq!((pages.zero, pages.absent), (of(1), of(47)));
        assert_eq!(pages.total(), of(64));
        assert_eq!(pages.huge, 0);
    }

    #[test]
    fn huge_pages_are_told() {
        let huge = huge_bytes();
        let region = Region::fresh(2 * huge / page_bytes(), Align::Huge, Advice::Huge);
        let region = region.expect("memory");
        region.write(page_bytes());
        let Ok(pages) = look(region.start(), 2 * huge, Mapped::Anonymous) else {
            return println!("SKIP huge pages of a buffer: no page scan");
        };
        assert_eq!(pages.total(), 2 * huge as u64);
        assert_eq!(pages.absent, 0);
    }
}
