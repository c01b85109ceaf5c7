//! Faults whose begin and end are paired by programs in the kernel.

use hugewise_observe::faults::{Event, Modes, Served, Weight};

use super::open::{self, Watch};
use crate::bpf::faults::{FaultPrograms, PairedFault};
use crate::machine::fresh_memory::FreshMemory;
use crate::perf::access::SampleAccess;

/// Loads the programs if they record everything that samples would; tests this with a fault of this process.
pub(super) fn load(access: SampleAccess) -> Option<FaultPrograms> {
    if access.modes == Modes::User || !access.page_size {
        return None;
    }
    let mut programs = FaultPrograms::load().ok()?;
    let watch = Watch {
        programs: Some(&programs),
        ..Watch::by_samples(access)
    };
    let event = open::on_ourselves(watch).ok()?;
    // In the middle of a page, so that no other number resembles its physical address.
    let memory = FreshMemory::new(2 * MIDDLE).ok()?;
    let place = memory.aligned(1).wrapping_add(MIDDLE);
    event.enable();
    // SAFETY: the place is mapped, writable, and nobody else's.
    unsafe { place.write_volatile(1) };
    event.disable();
    let mut sound = false;
    programs.drain_all(|fault| sound |= is_whole(&fault, place as u64));
    sound.then_some(programs)
}

/// An offset within the first page.
const MIDDLE: usize = 0x5a8;

/// Returns true if a record fully describes a write to an address. In another PID namespace the PIDs differ, and an
/// older kernel does not look up the page.
fn is_whole(fault: &PairedFault, place: u64) -> bool {
    let within = |address: u64| address % fault.page_bytes;
    fault.address == place
        && fault.pid == std::process::id()
        && fault.page_bytes.is_power_of_two()
        && fault.physical > fault.page_bytes
        && within(fault.physical) == within(place)
        && (1..fault.ended_ns).contains(&fault.begun_ns)
}

/// Returns the begin of a fault, if it was seen.
pub(super) fn start(fault: PairedFault) -> Option<Event> {
    (fault.begun_ns > 0).then_some(Event::Start {
        time_ns: fault.begun_ns,
        pid: fault.pid,
        tid: fault.tid,
        address: fault.address,
    })
}

/// Returns the end of a fault without I/O; one with I/O has a separate sample, with its call chain.
pub(super) fn end(fault: PairedFault) -> Option<Box<Served>> {
    let served = || Served {
        time_ns: fault.ended_ns,
        pid: fault.pid,
        tid: fault.tid,
        address: fault.address,
        weight: Weight::Minor,
        page_bytes: Some(fault.page_bytes).filter(|&bytes| bytes > 0),
        physical: Some(fault.physical),
        folio_bytes: None,
        stands_for: 0,
        stack: Vec::new(),
    };
    (fault.weight == Weight::Minor).then(|| Box::new(served()))
}
