use std::os::fd::AsFd;

use super::open::{self, Watch};
use crate::machine::fresh_memory::FreshMemory;
use crate::perf::access::SampleAccess;
use crate::perf::ring::Ring;
use crate::perf::sample::{Record, parse_record};

/// The huge zero page, mapped once by this process.
///
/// Older kernels (6.1, 6.12) report a physical address for the huge zero page, as for ordinary memory; newer ones
/// report none, as for the small zero page. The machine has only one huge zero page, and its address stays the same
/// while anyone maps it. So it is mapped here while faults are watched, and faults at its address are faults on it.
#[derive(Debug)]
pub(super) struct HugeZero {
    /// Its physical address; 0 if the kernel reports none.
    physical: u64,
    _mapping: FreshMemory,
}

impl HugeZero {
    /// Maps it; `None` if this process cannot: there are no huge pages, there is no huge zero page, or this process may
    /// not use it.
    pub(super) fn map(access: SampleAccess, page_bytes: u64, pmd_bytes: u64) -> Option<Self> {
        let page_bytes = usize::try_from(page_bytes).ok()?;
        let pmd = usize::try_from(pmd_bytes).ok()?;
        let mapping = FreshMemory::new(2 * pmd).ok()?;
        let place = mapping.aligned(pmd);
        // SAFETY: the aligned part is within the mapping; the advice changes no content.
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

    /// Returns true if the huge page at this physical address is the huge zero page.
    pub(super) fn is_at(&self, physical: u64, pmd_bytes: u64) -> bool {
        physical - physical % pmd_bytes == self.physical
    }
}
