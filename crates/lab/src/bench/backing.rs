//! Memory for a bench, laid out according to the page policy.
//!
//! The policy comes from outside: from `PR_SET_THP_DISABLE` and the machine's settings, as for every program. The
//! variable `HUGEWISE_LAB_PAGES` adds what a program has to request itself: `advised` (`MADV_HUGEPAGE`, the default),
//! `plain` (nothing), `small` (`MADV_NOHUGEPAGE`), `hugetlb` or `hugetlb-SIZE` (a page of the pool, its size in bytes).

use std::ptr;

use super::memory_budget;
use super::pages::{Mapped, Pages, look};
use crate::Trouble;
use crate::missing::Reason;
use crate::plant::span::Span;
use crate::region::huge_bytes;

/// The program's request for its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// `MADV_HUGEPAGE`.
    Advised,
    /// Nothing.
    Plain,
    /// `MADV_NOHUGEPAGE`.
    Small,
    /// Pages of a hugetlb pool, of this size in bytes.
    Hugetlb(usize),
}

impl Request {
    /// Reads the request from the environment.
    pub(crate) fn from_environment() -> Result<Self, Trouble> {
        let word = std::env::var("HUGEWISE_LAB_PAGES").unwrap_or_default();
        Self::parse(&word).ok_or_else(|| {
            Trouble::Usage(format!(
                "HUGEWISE_LAB_PAGES is `advised`, `plain`, `small`, `hugetlb` or \
                 `hugetlb-BYTES`, not `{word}`"
            ))
        })
    }

    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "" | "advised" => Self::Advised,
            "plain" => Self::Plain,
            "small" => Self::Small,
            "hugetlb" => Self::Hugetlb(huge_bytes()),
            other => {
                let bytes: usize = other.strip_prefix("hugetlb-")?.parse().ok()?;
                Self::Hugetlb(Some(bytes).filter(|bytes| bytes.is_power_of_two())?)
            }
        })
    }

    /// The memory used by a buffer of `bytes`, in bytes: whole pages, at least whole huge ones.
    pub(crate) fn taken(self, bytes: usize) -> u64 {
        let grain = self.grain() as u64;
        (bytes as u64).div_ceil(grain).saturating_mul(grain)
    }

    /// Refuses a size that does not fit, before any of it is allocated.
    pub(crate) fn check_room(self, bytes: u64, of: &str) -> Result<(), Reason> {
        match self {
            Self::Hugetlb(page) => memory_budget::check_pool(bytes, page),
            _ => memory_budget::check(bytes, of),
        }
    }

    /// The alignment of a buffer's start and length.
    fn grain(self) -> usize {
        match self {
            Self::Hugetlb(bytes) => bytes.max(huge_bytes()),
            _ => huge_bytes(),
        }
    }
}

/// An untouched buffer of whole huge pages, aligned to huge pages, unmapped on drop. Other alignments (16 bytes or a
/// page off, as `malloc` and other mappings have) made no difference on a Zen 4.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: *mut u8,
    bytes: usize,
    base: *mut libc::c_void,
    length: usize,
    mapped: Mapped,
}

impl Buffer {
    /// Reserves `bytes`, rounded up to whole huge pages.
    pub(crate) fn fresh(bytes: usize, request: Request) -> Result<Self, Reason> {
        let grain = request.grain();
        let room = bytes
            .checked_next_multiple_of(grain)
            .and_then(|whole| Some((whole, whole.checked_add(2 * grain)?)))
            .filter(|(_, length)| *length < isize::MAX as usize);
        let (bytes, length) =
            room.ok_or_else(|| Reason::NotSupported(format!("a buffer of {bytes} bytes")))?;
        let base = map(
            ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_NORESERVE,
        )?;
        let start = (base as usize).next_multiple_of(grain) as *mut u8;
        let buffer = Self {
            start,
            bytes,
            base,
            length,
            mapped: match request {
                Request::Hugetlb(_) => Mapped::Hugetlb,
                _ => Mapped::Anonymous,
            },
        };
        buffer.lay_out(request)?;
        Ok(buffer)
    }

    fn lay_out(&self, request: Request) -> Result<(), Reason> {
        const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
        let place: *mut libc::c_void = self.start.cast();
        let advice = match request {
            Request::Hugetlb(size) => {
                let size_bits = size.ilog2() as i32;
                let flags =
                    libc::MAP_HUGETLB | libc::MAP_FIXED | (size_bits << libc::MAP_HUGE_SHIFT);
                return map(place, self.bytes, READ_WRITE, flags).map(drop);
            }
            Request::Advised => Some(libc::MADV_HUGEPAGE),
            Request::Small => Some(libc::MADV_NOHUGEPAGE),
            Request::Plain => None,
        };
        // SAFETY: the range is in our own reservation, which nothing else refers to.
        if unsafe { libc::mprotect(place, self.bytes, READ_WRITE) } != 0 {
            return Err(refused("making memory accessible"));
        }
        // A kernel without transparent huge pages refuses the advice: pages are then small, and the page scan reports
        // that. SAFETY: advice leaves content and access as they are.
        advice.map(|advice| unsafe { libc::madvise(place, self.bytes, advice) });
        Ok(())
    }

    /// Its first byte, on a huge-page boundary.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Its length in bytes: whole huge pages.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its address range, which must not outlive the buffer.
    pub(crate) fn span(&self) -> Span {
        let start = self.start().expose_provenance();
        Span {
            start,
            end: start + self.bytes,
        }
    }

    /// The pages of its first `bytes`.
    pub(crate) fn pages(&self, bytes: usize) -> Result<Pages, Reason> {
        look(self.start, bytes.min(self.bytes), self.mapped)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the reservation is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.base, self.length) };
    }
}

fn map(
    place: *mut libc::c_void,
    length: usize,
    access: i32,
    flags: i32,
) -> Result<*mut libc::c_void, Reason> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a fresh mapping, or one that replaces a part of our own reservation.
    let base = unsafe { libc::mmap(place, length, access, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(refused("mapping memory"));
    }
    Ok(base)
}

fn refused(doing: &str) -> Reason {
    Reason::Unreadable(format!("{doing}: {}", std::io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_words() {
        let parse = Request::parse;
        assert_eq!(parse(""), Some(Request::Advised));
        assert_eq!(parse("small"), Some(Request::Small));
        assert_eq!(parse("hugetlb-1073741824"), Some(Request::Hugetlb(1 << 30)));
        assert_eq!(parse("hugetlb"), Some(Request::Hugetlb(huge_bytes())));
        for word in ["hugetlb-", "hugetlb-3", "huge", "2m"] {
            assert_eq!(parse(word), None, "{word}");
        }
    }

    #[test]
    fn a_buffer_takes_whole_pages() {
        let huge = huge_bytes() as u64;
        assert_eq!(Request::Small.taken(1), huge);
        assert_eq!(Request::Advised.taken(huge_bytes() + 1), 2 * huge);
        let large = Request::Hugetlb(64 * huge_bytes());
        assert_eq!(large.taken(4096), 64 * huge);
        let buffer = Buffer::fresh(4096, Request::Plain).expect("memory");
        assert_eq!(buffer.bytes() as u64, Request::Plain.taken(4096));
        assert!(large.check_room(u64::MAX, "everything").is_err());
    }

    #[test]
    fn a_buffer_lies_on_a_huge_page_and_is_untouched() {
        let buffer = Buffer::fresh(4096, Request::Advised).expect("memory");
        assert!(buffer.start().addr().is_multiple_of(huge_bytes()));
        assert_eq!(buffer.bytes(), huge_bytes());
        if let Ok(pages) = buffer.pages(buffer.bytes()) {
            assert_eq!(pages.absent, huge_bytes() as u64);
        }
        assert!(Buffer::fresh(usize::MAX, Request::Plain).is_err());
    }
}
