use std::os::fd::AsFd;
use std::{io, ptr};

use super::open::{self, Watch};
use crate::perf::access::SampleAccess;
use crate::perf::ring::Ring;
use crate::perf::sample::{Record, parse_record};

/// The huge zero page, mapped once by ourselves.
///
/// Whether a sample tells it from memory depends on the kernel: newer ones refuse it a physical
/// address as they do the small one, older ones (6.1, 6.12) give it one. It is one page for the
/// whole machine, and stays where it is while anybody maps it: so it is mapped here for as long
/// as the watching lasts, and what has its address is it.
#[derive(Debug)]
pub(super) struct HugeZero {
    /// Its physical address; 0 where the kernel gives it none.
    physical: u64,
    _mapping: Mapping,
}

impl HugeZero {
    /// Maps it; `None` where this process gets none: no huge pages, no huge zero page, or none
    /// for us.
    pub(super) fn map(access: SampleAccess, page_bytes: u64, pmd_bytes: u64) -> Option<Self> {
        let page_bytes = usize::try_from(page_bytes).ok()?;
        let pmd = usize::try_from(pmd_bytes).ok()?;
        let mapping = Mapping::new(2 * pmd).ok()?;
        let place = mapping.aligned(pmd);
        // SAFETY: the aligned part lies within the mapping; the advice changes no content.
        unsafe { libc::madvise(place.cast(), pmd, libc::MADV_HUGEPAGE) };
        let event = open::on_ourselves(Watch::by_samples(access)).ok()?;
        let mut ring = Ring::map(event.fd.as_fd(), page_bytes, page_bytes).ok()?;
        event.enable();
        // SAFETY: the place is mapped and readable.
        unsafe { place.read_volatile() };
        event.disable();
        let layout = event.role.layout(access, 1);
        let mut physical = None;
        ring.drain(|bytes| {
            if let Ok(Record::Sample(sample)) = parse_record(bytes, |_| Some(layout))
                && sample.address == place as u64
                && sample.page_bytes == Some(pmd_bytes)
            {
                physical = sample.physical;
            }
        });
        Some(Self {
            physical: physical?,
            _mapping: mapping,
        })
    }

    /// Whether a huge page at this physical address is it.
    pub(super) fn is_at(&self, physical: u64, pmd_bytes: u64) -> bool {
        physical - physical % pmd_bytes == self.physical
    }
}

#[derive(Debug)]
pub(super) struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and nobody reads it after `map`.
unsafe impl Send for Mapping {}

impl Mapping {
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            bytes,
        })
    }

    pub(super) fn aligned(&self, to: usize) -> *mut u8 {
        let offset = (self.start as usize).next_multiple_of(to) - self.start as usize;
        self.start.wrapping_add(offset)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing refers to it.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
