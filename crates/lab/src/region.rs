//! Fresh anonymous memory with exact bounds, and a fault counter.

use std::{io, ptr};

use crate::Trouble;

/// The alignment of a region's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// On a huge-page boundary.
    Huge,
    /// One page after such a boundary.
    Page,
}

/// The advice for a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Nothing.
    None,
    /// `MADV_HUGEPAGE`.
    Huge,
    /// `MADV_NOHUGEPAGE`.
    Small,
}

/// Writable private memory of an exact length between two inaccessible guards.
///
/// The guards keep the kernel from merging the mapping with a neighbour, which would let a huge page extend beyond it.
/// It is never unmapped except by [`Region::unmap`]: workloads end holding their memory.
pub(crate) struct Region {
    start: *mut u8,
    bytes: usize,
    reservation: (*mut libc::c_void, usize),
}

impl Region {
    /// Maps `pages` pages that have never been touched.
    pub(crate) fn fresh(pages: usize, align: Align, advice: Advice) -> Result<Self, Trouble> {
        let too_large = || Trouble::Usage(format!("{pages} pages are more than fit"));
        let bytes = pages.checked_mul(page_bytes()).ok_or_else(too_large)?;
        let length = bytes
            .checked_add(3 * huge_bytes())
            .filter(|&length| length < isize::MAX as usize)
            .ok_or_else(too_large)?;
        let base = reserve(length)?;
        let boundary = (base as usize + page_bytes()).next_multiple_of(huge_bytes());
        let offset = boundary - base as usize
            + match align {
                Align::Huge => 0,
                Align::Page => page_bytes(),
            };
        let region = Self {
            start: base.cast::<u8>().wrapping_add(offset),
            bytes,
            reservation: (base, length),
        };
        region.open(0, bytes)?;
        region.advise(advice)?;
        Ok(region)
    }

    /// Reserves address space for `bytes` without access; see [`Region::open`].
    pub(crate) fn reserved(bytes: usize) -> Result<Self, Trouble> {
        let length = bytes + 2 * huge_bytes();
        let base = reserve(length)?;
        let boundary = (base as usize + page_bytes()).next_multiple_of(huge_bytes());
        Ok(Self {
            start: base.cast::<u8>().wrapping_add(boundary - base as usize),
            bytes,
            reservation: (base, length),
        })
    }

    /// Makes a part of the region accessible.
    pub(crate) fn open(&self, offset: usize, bytes: usize) -> Result<(), Trouble> {
        if bytes == 0 {
            return Ok(());
        }
        let start = self.start.wrapping_add(offset).cast();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is in our own reservation, which nothing else refers to.
        match unsafe { libc::mprotect(start, bytes, access) } {
            0 => Ok(()),
            _ => Err(Trouble::last("making memory accessible")),
        }
    }

    /// Makes one page read-only. The mapping of a huge page there is split into small ones, while the page stays whole.
    pub(crate) fn protect_page(&self, offset: usize) -> Result<(), Trouble> {
        let start = self.start.wrapping_add(offset).cast();
        // SAFETY: the page is in our own reservation, and nobody writes to it afterwards.
        match unsafe { libc::mprotect(start, page_bytes(), libc::PROT_READ) } {
            0 => Ok(()),
            _ => Err(Trouble::last("protecting memory")),
        }
    }

    /// Frees all pages; the next touch of each faults again.
    pub(crate) fn discard(&self) -> Result<(), Trouble> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the region is ours, and nobody relies on what it holds.
        match unsafe { libc::madvise(self.start.cast(), self.bytes, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(Trouble::last("giving memory back")),
        }
    }

    /// Gives the kernel advice for the whole region.
    pub(crate) fn advise(&self, advice: Advice) -> Result<(), Trouble> {
        let advice = match advice {
            Advice::None => return Ok(()),
            Advice::Huge => libc::MADV_HUGEPAGE,
            Advice::Small => libc::MADV_NOHUGEPAGE,
        };
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: both kinds of advice leave content and access as they are.
        match unsafe { libc::madvise(self.start.cast(), self.bytes, advice) } {
            0 => Ok(()),
            _ => Err(Trouble::last("advising memory")),
        }
    }

    /// Writes one byte at every multiple of `stride`.
    ///
    /// Not inlined, so that a dry run over another region warms the same code that is measured.
    #[inline(never)]
    pub(crate) fn write(&self, stride: usize) {
        for offset in (0..self.bytes).step_by(stride) {
            // SAFETY: offset < bytes, and the whole region is writable.
            unsafe { self.start.add(offset).write_volatile(1) };
        }
    }

    /// Does the same, and calls `between` after each write.
    pub(crate) fn write_with(&self, stride: usize, between: impl Fn()) {
        for offset in (0..self.bytes).step_by(stride) {
            // SAFETY: offset < bytes, and the whole region is writable.
            unsafe { self.start.add(offset).write_volatile(1) };
            between();
        }
    }

    /// Reads one byte at every multiple of `stride`.
    #[inline(never)]
    pub(crate) fn read(&self, stride: usize) {
        for offset in (0..self.bytes).step_by(stride) {
            // SAFETY: offset < bytes, and the whole region is readable; fresh anonymous memory
            // is zero.
            unsafe { self.start.add(offset).read_volatile() };
        }
    }

    /// Adds 0 atomically to the word at every multiple of `stride`, with the processor's single instruction for it.
    #[inline(never)]
    pub(crate) fn add_0(&self, stride: usize) {
        for offset in (0..self.bytes).step_by(stride) {
            // SAFETY: offset < bytes, the whole region is writable, and a stride of pages keeps
            // the word aligned and inside.
            unsafe { add_0(self.start.add(offset).cast()) };
        }
    }

    /// Writes one byte to every page of an opened part.
    pub(crate) fn write_part(&self, offset: usize, bytes: usize) {
        let part = Self {
            start: self.start.wrapping_add(offset),
            bytes,
            reservation: (ptr::null_mut(), 0),
        };
        part.write(page_bytes());
    }

    /// Frees the pages of a part; it reads as zero afterwards.
    pub(crate) fn forget(&self, offset: usize, bytes: usize) -> Result<(), Trouble> {
        let start = self.start.wrapping_add(offset).cast();
        // SAFETY: the part is in our own private mapping, to which nothing else refers.
        match unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(Trouble::last("giving memory back")),
        }
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Unmaps the memory.
    pub(crate) fn unmap(self) {
        let (base, length) = self.reservation;
        // SAFETY: the reservation is ours, and `self` is consumed.
        unsafe { libc::munmap(base, length) };
    }
}

/// Checks that this processor has the instruction of [`add_0`].
pub(crate) fn can_add_0() -> io::Result<()> {
    #[cfg(target_arch = "aarch64")]
    if !std::arch::is_aarch64_feature_detected!("lse") {
        return Err(io::Error::other("this processor has no LSE atomics"));
    }
    Ok(())
}

/// `lock add`, which faults as a write.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn add_0(word: *mut u32) {
    // SAFETY: the caller gives a valid, aligned word; adding 0 leaves its value.
    unsafe {
        std::arch::asm!("lock add dword ptr [{word}], 0", word = in(reg) word, options(nostack));
    }
}

/// `ldadd`, written out because a library may choose load-exclusive loops instead, which fault differently.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn add_0(word: *mut u32) {
    // SAFETY: the caller gives a valid, aligned word, and has asked for LSE; adding 0 leaves
    // its value.
    unsafe {
        std::arch::asm!(
            ".arch_extension lse",
            "ldadd wzr, {old:w}, [{word}]",
            old = out(reg) _,
            word = in(reg) word,
            options(nostack)
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe fn add_0(word: *mut u32) {
    // SAFETY: the caller gives a valid, aligned word that only this thread uses.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(word) }
        .fetch_add(0, std::sync::atomic::Ordering::Relaxed);
}

fn reserve(length: usize) -> Result<*mut libc::c_void, Trouble> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(Trouble::last("mapping memory"));
    }
    Ok(base)
}

/// Size of a base page.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("the kernel has a page size")
}

/// The size of a PMD-mapped huge page; 2 MiB if the kernel does not report it.
pub(crate) fn huge_bytes() -> usize {
    std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|size: &usize| size.is_power_of_two())
        .unwrap_or(2 << 20)
}

/// Page faults of this process so far, minor and major.
#[inline(never)]
pub(crate) fn faults() -> i64 {
    // SAFETY: rusage is a plain structure of integers, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_minflt + usage.ru_majflt
}
