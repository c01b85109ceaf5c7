//! Faults whose begin and end programs in the kernel have paired.

use std::os::fd::AsFd;

use hugewise_model::observe::faults::{Event, Modes, Served, Weight};

use super::huge_zero::Mapping;
use super::open;
use crate::bpf::faults::{FaultPrograms, PairedFault};
use crate::perf::access::SampleAccess;

/// Loads the programs, where they can tell all that samples tell: as on a fault of our own.
pub(super) fn load(access: SampleAccess) -> Option<FaultPrograms> {
    if access.modes == Modes::User || !access.page_size {
        return None;
    }
    let mut programs = FaultPrograms::load().ok()?;
    let memory = Mapping::new(1).ok()?;
    let event = open::on_ourselves(access).ok()?;
    programs.attach(event.fd.as_fd(), Weight::Minor).ok()?;
    let place = memory.aligned(1);
    event.enable();
    // SAFETY: the place is mapped, writable, and nobody else's.
    unsafe { place.write_volatile(1) };
    event.disable();
    let mut sound = false;
    // Another namespace of processes has other numbers, and an older kernel looks nothing up.
    programs.drain(|fault| {
        sound |= fault.address == place as u64
            && fault.pid == std::process::id()
            && fault.looked_up
            && fault.page_bytes > 0
            && (1..fault.ended_ns).contains(&fault.begun_ns);
    });
    sound.then_some(programs)
}

/// The begin of a fault, where it was seen.
pub(super) fn start(fault: PairedFault) -> Option<Event> {
    (fault.begun_ns > 0).then_some(Event::Start {
        time_ns: fault.begun_ns,
        pid: fault.pid,
        tid: fault.tid,
        address: fault.address,
    })
}

/// The end of a fault without I/O; one with I/O has a sample of its own, with its call chain.
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
