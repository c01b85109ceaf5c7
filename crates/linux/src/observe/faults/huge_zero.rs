use std::os::fd::AsFd;

use super::open::{self, Watch};
use crate::machine::fresh_memory::FreshMemory;
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
    _mapping: FreshMemory,
}

impl HugeZero {
    /// Maps it; `None` where this process gets none: no huge pages, no huge zero page, or none
    /// for us.
    pub(super) fn map(access: SampleAccess, page_bytes: u64, pmd_bytes: u64) -> Option<Self> {
        let page_bytes = usize::try_from(page_bytes).ok()?;
        let pmd = usize::try_from(pmd_bytes).ok()?;
        let mapping = FreshMemory::new(2 * pmd).ok()?;
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
