//! Address ranges: mapping, advising, touching.

use std::ptr;

use crate::Trouble;
use crate::region::{huge_bytes, page_bytes};

/// Read and write.
pub(crate) const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// A part of the address space that a plant owns: no Rust object is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    /// Reserves inaccessible space for this many huge pages on a huge-page boundary, with inaccessible space of at
    /// least one huge page on both sides: no neighbour merges with it, and no later mapping comes close.
    pub(crate) fn reserve(huge_pages: usize) -> Result<Self, Trouble> {
        let huge = huge_bytes();
        let bytes = huge_pages * huge;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let length = bytes + 3 * huge;
        // SAFETY: a fresh private mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(Trouble::last("reserving memory"));
        }
        let start = (base as usize + huge).next_multiple_of(huge);
        Ok(Self {
            start,
            end: start + bytes,
        })
    }

    /// Private anonymous memory for this many huge pages, readable and writable, untouched.
    pub(crate) fn fresh(huge_pages: usize) -> Result<Self, Trouble> {
        let span = Self::reserve(huge_pages)?;
        span.protect(READ_WRITE)?;
        span.name();
        Ok(span)
    }

    pub(crate) fn bytes(self) -> usize {
        self.end - self.start
    }

    /// The number of base pages.
    pub(crate) fn pages(self) -> usize {
        self.bytes() / page_bytes()
    }

    /// The number of whole huge pages.
    pub(crate) fn huge_pages(self) -> usize {
        self.bytes() / huge_bytes()
    }

    /// The part of `bytes` that begins `offset` bytes after the start.
    pub(crate) fn part(self, offset: usize, bytes: usize) -> Self {
        let start = self.start + offset;
        Self {
            start,
            end: start + bytes,
        }
    }

    /// The parts of `bytes` each, in order; a shorter rest is left out.
    pub(crate) fn pieces(self, bytes: usize) -> impl Iterator<Item = Self> {
        (0..self.bytes() / bytes).map(move |index| self.part(index * bytes, bytes))
    }

    /// One page in the middle of every huge page.
    pub(crate) fn middles(self) -> impl Iterator<Item = Self> {
        let huge = huge_bytes();
        self.pieces(huge)
            .map(move |each| each.part(huge / 2, page_bytes()))
    }

    pub(crate) fn pointer(self) -> *mut libc::c_void {
        ptr::with_exposed_provenance_mut(self.start)
    }

    pub(crate) fn protect(self, access: i32) -> Result<(), Trouble> {
        // SAFETY: the plant owns the memory, and touches it only through this type.
        match unsafe { libc::mprotect(self.pointer(), self.bytes(), access) } {
            0 => Ok(()),
            _ => Err(Trouble::last("changing the access to memory")),
        }
    }

    /// The result of `madvise`.
    pub(crate) fn try_advise(self, advice: i32) -> std::io::Result<()> {
        // SAFETY: the plant owns the memory; what it held does not matter to it.
        match unsafe { libc::madvise(self.pointer(), self.bytes(), advice) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    pub(crate) fn advise(self, advice: i32) -> Result<(), Trouble> {
        self.try_advise(advice)
            .map_err(|error| Trouble::Kernel("advising memory", error))
    }

    /// Replaces it by another mapping.
    pub(crate) fn map(self, access: i32, flags: i32, file: i32, at: i64) -> Result<(), Trouble> {
        let flags = flags | libc::MAP_FIXED;
        // SAFETY: the plant owns the replaced memory.
        let mapped = unsafe { libc::mmap(self.pointer(), self.bytes(), access, flags, file, at) };
        if mapped == libc::MAP_FAILED {
            return Err(Trouble::last("mapping memory"));
        }
        Ok(())
    }

    pub(crate) fn unmap(self) -> Result<(), Trouble> {
        // SAFETY: the plant owns the memory and does not touch it again.
        match unsafe { libc::munmap(self.pointer(), self.bytes()) } {
            0 => Ok(()),
            _ => Err(Trouble::last("unmapping memory")),
        }
    }

    /// Writes one byte to every page. The byte is not zero, so that neither KSM nor the shrinker of underused huge
    /// pages takes a page for an empty one.
    pub(crate) fn write(self) {
        for page in self.pieces(page_bytes()) {
            // SAFETY: the caller has made the memory writable.
            unsafe { page.pointer().cast::<u8>().write_volatile(1) };
        }
    }

    /// Reads one byte of every page.
    pub(crate) fn read(self) {
        for page in self.pieces(page_bytes()) {
            // SAFETY: the caller has made the memory readable.
            unsafe { page.pointer().cast::<u8>().read_volatile() };
        }
    }

    /// Fills every page with small pages: the advice forbids huge pages. Then advises the memory for huge
    /// pages, too late for the existing pages.
    pub(crate) fn write_small_then_advise(self) -> Result<(), Trouble> {
        self.advise(libc::MADV_NOHUGEPAGE)?;
        self.write();
        self.advise(libc::MADV_HUGEPAGE)
    }

    /// Names the memory in `maps` (Linux 5.17 with `CONFIG_ANON_VMA_NAME`). The name only helps readers; without it
    /// nothing changes.
    fn name(self) {
        // SAFETY: the name is a string of C, which the kernel copies.
        unsafe {
            libc::prctl(
                libc::PR_SET_VMA,
                libc::PR_SET_VMA_ANON_NAME,
                self.start,
                self.bytes(),
                c"hugewise-plant".as_ptr(),
            )
        };
    }
}
