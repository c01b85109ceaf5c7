//! The memory of the loops: separate small pages, or one huge page at many addresses.

use std::os::fd::{FromRawFd, OwnedFd};
use std::{fs, io, ptr};

use super::LINE;
use crate::Trouble;
use crate::memory_budget;
use crate::missing::Reason;
use crate::region::{Advice, Align, Region, huge_bytes, page_bytes};

/// `MADV_COLLAPSE` (Linux 6.1).
const COLLAPSE: libc::c_int = 25;

/// The pages below the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// Base pages, with this distance between places, in bytes.
    Small { stride: usize },
    /// A huge page for each place. All are the same memory.
    Huge,
}

/// Zeroed memory with one place for each access, all present, written and mapped as requested. It is never unmapped.
#[derive(Debug)]
pub(super) struct Backing {
    pub(super) start: *mut u8,
    pub(super) stride: usize,
    pub(super) places: usize,
}

impl Backing {
    pub(super) fn new(pages: Pages, places: usize) -> Result<Self, Trouble> {
        match pages {
            Pages::Small { stride } => Self::small(stride, places),
            Pages::Huge => Self::huge(places),
        }
    }

    /// Each place in a separate base page, unless the stride is smaller than a page.
    fn small(stride: usize, places: usize) -> Result<Self, Trouble> {
        let page = page_bytes();
        check((places * page.min(stride)) as u64)?;
        let span = stride.checked_mul(places).map(|it| it.div_ceil(page) + 1);
        let span = span.ok_or_else(|| Trouble::Usage("more pages than fit".to_owned()))?;
        let region = Region::fresh(span, Align::Huge, Advice::Small)?;
        let backing = Self {
            start: region.start(),
            stride,
            places,
        };
        backing.write();
        Ok(backing)
    }

    /// One huge page of shared memory, mapped once for each place. Translations belong to addresses, so every mapping
    /// needs its own entry of the TLB. The places use different lines of the page.
    fn huge(places: usize) -> Result<Self, Trouble> {
        let huge = huge_bytes();
        if places * LINE > huge {
            return Err(Trouble::Usage("more lines than a huge page has".to_owned()));
        }
        check(huge as u64)?;
        let file = file(huge)?;
        let start = reserve((places + 1) * huge)?;
        for place in 0..places {
            map(start.wrapping_add(place * huge), huge, &file)?;
            if place == 0 {
                collapse(start, huge)?;
            }
        }
        let backing = Self {
            start,
            stride: huge + LINE,
            places,
        };
        backing.write();
        let mapped = mapped_huge()?;
        if mapped < (places * huge) as u64 {
            return Err(Trouble::NotHere(format!(
                "shared memory in huge pages: {} of {places} mappings are huge",
                mapped / huge as u64
            )));
        }
        Ok(backing)
    }

    /// Writes a zero to each place, so that its page is present and dirty.
    fn write(&self) {
        for place in 0..self.places {
            // SAFETY: every place is inside the mapping, which is writable and this thread's alone.
            unsafe { self.start.add(place * self.stride).write_volatile(0) };
        }
    }
}

fn check(bytes: u64) -> Result<(), Trouble> {
    memory_budget::check(bytes, "the pages of this loop").map_err(|reason| {
        Trouble::NotHere(match reason {
            Reason::NotSupported(what) | Reason::Unreadable(what) => what,
            Reason::NotPermitted(grant) => grant,
        })
    })
}

/// A file in memory of this length.
fn file(bytes: usize) -> Result<OwnedFd, Trouble> {
    // SAFETY: the name is a string that ends with a zero.
    let number = unsafe { libc::memfd_create(c"hugewise-tlb".as_ptr(), libc::MFD_CLOEXEC) };
    if number < 0 {
        return Err(Trouble::last("making a file in memory"));
    }
    // SAFETY: the descriptor is new, and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(number) };
    // SAFETY: the descriptor is open.
    match unsafe { libc::ftruncate(number, bytes as libc::off_t) } {
        0 => Ok(file),
        _ => Err(Trouble::last("making a file in memory")),
    }
}

/// Reserves address space; returns its first huge-page boundary.
fn reserve(bytes: usize) -> Result<*mut u8, Trouble> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(Trouble::last("reserving addresses"));
    }
    let boundary = (base as usize).next_multiple_of(huge_bytes());
    Ok(base.cast::<u8>().wrapping_add(boundary - base as usize))
}

/// Maps the file at this address of the reservation.
fn map(at: *mut u8, bytes: usize, file: &OwnedFd) -> Result<(), Trouble> {
    use std::os::fd::AsRawFd;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    // SAFETY: the range is in our own reservation, to which nothing refers.
    let mapped = unsafe { libc::mmap(at.cast(), bytes, access, flags, file.as_raw_fd(), 0) };
    match mapped == libc::MAP_FAILED {
        false => Ok(()),
        true => Err(Trouble::last("mapping a huge page")),
    }
}

/// Makes the file one huge page.
fn collapse(start: *mut u8, bytes: usize) -> Result<(), Trouble> {
    for page in 0..bytes / page_bytes() {
        // SAFETY: the first mapping is that long, and writable.
        unsafe { start.add(page * page_bytes()).write_volatile(0) };
    }
    // SAFETY: the advice leaves content and access as they are.
    match unsafe { libc::madvise(start.cast(), bytes, COLLAPSE) } {
        0 => Ok(()),
        _ => Err(Trouble::NotHere(format!(
            "shared memory in a huge page (MADV_COLLAPSE, Linux 6.1): {}",
            io::Error::last_os_error()
        ))),
    }
}

/// The bytes of this process that are shared memory in huge pages.
fn mapped_huge() -> Result<u64, Trouble> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")
        .map_err(|error| Trouble::Kernel("reading smaps_rollup", error))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("ShmemPmdMapped:"));
    let kib = line.and_then(|rest| {
        rest.trim()
            .trim_end_matches(" kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    Ok(kib.unwrap_or(0) << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::faults;

    #[test]
    fn each_place_has_a_base_page_of_its_own() {
        let before = faults();
        let stride = 3 * page_bytes() + LINE;
        let backing = Backing::new(Pages::Small { stride }, 256).expect("memory");
        // Page tables and the allocator fault too, but no place shares a page.
        assert!(faults() - before >= 256);
        let mut pages: Vec<usize> = (0..256)
            .map(|place| (backing.start as usize + place * stride) / page_bytes())
            .collect();
        pages.dedup();
        assert_eq!(pages.len(), 256);
    }

    #[test]
    fn one_huge_page_is_mapped_at_every_place() {
        let backing = match Backing::new(Pages::Huge, 64) {
            Ok(backing) => backing,
            Err(Trouble::NotHere(reason)) => return eprintln!("SKIP {reason}"),
            Err(other) => panic!("{other:?}"),
        };
        assert!(mapped_huge().expect("a rollup") >= 64 * huge_bytes() as u64);
        // All places are the same memory.
        // SAFETY: both bytes are in mappings of this test.
        let seen = unsafe {
            backing.start.add(8).write_volatile(7);
            backing.start.add(63 * huge_bytes() + 8).read_volatile()
        };
        assert_eq!(seen, 7);
    }
}
