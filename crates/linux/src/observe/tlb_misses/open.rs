//! Opening the events that sample addresses, on one processor at a time.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use hugewise_observe::faults::Modes;
use hugewise_tlb::misses::Facility;
use perf_event::events::Raw;
use perf_event::{Builder, Clock, Counter, SampleFlag};

use super::aux::Aux;
use crate::perf::access::{FORMAT_LOST, SAMPLE_DATA_PAGE_SIZE, SampleAccess};
use crate::perf::open::{Code, CountFrom, Switch, announce};
use crate::perf::ring::{IOC_SET_OUTPUT, Ring};
use crate::perf::sample::Layout;

/// `cnt_ctl` of `ibs_op`: operations are counted down, not cycles.
const IBS_COUNT_OPERATIONS: u64 = 1 << 19;
/// `swfilt` of `ibs_op`, in newer kernels: the kernel drops samples of unwanted modes.
const IBS_SOFTWARE_FILTER: u64 = 1;
/// `jitter` of `arm_spe`: slightly random intervals, so that sampling does not resonate with loops.
const SPE_JITTER: u64 = 1 << 16;

/// The scope of the events of one processor.
#[derive(Clone, Copy, Debug)]
pub enum SampleScope<'a> {
    /// The calling thread; used for a test, without a ring.
    Caller,
    /// Threads, and all their future children.
    Threads(&'a [u32]),
    /// Everything on the processor.
    All,
    /// The processes of a cgroup.
    Cgroup(&'a File),
}

/// Events of one processor.
#[derive(Clone, Copy, Debug)]
pub struct SampleRequest<'a> {
    /// The sampling facility.
    pub means: Facility,
    /// The sampled events; the first announces mappings and forks.
    pub events: &'a [Code],
    /// The processor.
    pub cpu: u32,
    /// The scope.
    pub scope: SampleScope<'a>,
    /// The start of sampling.
    pub start: CountFrom,
    /// The data in each sample.
    pub access: SampleAccess,
    /// The sampling period, in events.
    pub every: u64,
    /// The page size in bytes, the unit of ring sizes.
    pub page_bytes: usize,
}

/// The samples of the events of one processor.
pub trait MissSamples: Send {
    /// Returns the ID of each event, and its index in the request.
    fn identities(&self) -> Vec<(u64, usize)>;

    /// Enables or disables all events.
    fn switch(&mut self, to: Switch);

    /// Passes every available record to `take`, whole.
    fn drain(&mut self, take: &mut dyn FnMut(&[u8]));

    /// Copies a piece of the trace announced by a record, and releases it to the hardware.
    fn trace(&mut self, offset: u64, bytes: u64) -> Vec<u8>;

    /// Returns the number of samples lost because the ring was full, if the kernel counts them.
    fn lost(&mut self) -> Option<u64>;
}

/// Opens sampling events.
pub trait SampleOpen {
    /// Opens the events of one processor, disabled.
    ///
    /// # Errors
    /// The kernel's error; `ESRCH` if all threads have ended.
    fn open(&self, request: &SampleRequest<'_>) -> io::Result<Box<dyn MissSamples>>;
}

/// The running kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelSampler;

impl SampleOpen for KernelSampler {
    fn open(&self, request: &SampleRequest<'_>) -> io::Result<Box<dyn MissSamples>> {
        let mut opened = Vec::new();
        let scope: Vec<Option<u32>> = match request.scope {
            SampleScope::Threads(threads) => threads.iter().copied().map(Some).collect(),
            SampleScope::Caller | SampleScope::All | SampleScope::Cgroup(_) => vec![None],
        };
        for thread in scope {
            match open_all(request, thread) {
                Ok(events) => opened.extend(events),
                // The thread has ended in the interval.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        if opened.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let (ring, aux) = match request.scope {
            SampleScope::Caller => (None, None),
            _ => map(request, &opened)?,
        };
        Ok(Box::new(OpenEvent { ring, aux, opened }))
    }
}

/// Open events: rings first, because they are unmapped before their events are closed.
#[derive(Debug)]
struct OpenEvent {
    aux: Option<Aux>,
    ring: Option<Ring>,
    opened: Vec<(Counter, usize)>,
}

fn open_all(request: &SampleRequest<'_>, thread: Option<u32>) -> io::Result<Vec<(Counter, usize)>> {
    let open = |(index, &code): (usize, &Code)| {
        let builder = builder(request, code, index, thread)?;
        Ok((builder.build()?, index))
    };
    request.events.iter().enumerate().map(open).collect()
}

/// Returns the layout of the samples of these events.
pub(super) fn layout(means: Facility, access: SampleAccess) -> Layout {
    Layout {
        code: true,
        raw: means == Facility::Ibs,
        page_size: access.page_size,
        ..Layout::default()
    }
}

fn builder<'a>(
    request: &'a SampleRequest<'_>,
    code: Code,
    index: usize,
    thread: Option<u32>,
) -> io::Result<Builder<'a>> {
    let mut builder = Builder::new(Raw::new(code.config));
    let user = request.access.modes == Modes::User;
    let layout = layout(request.means, request.access);
    let mut wanted = SampleFlag::IDENTIFIER | SampleFlag::IP | SampleFlag::TID;
    wanted |= SampleFlag::TIME | SampleFlag::ADDR;
    wanted.set(SampleFlag::RAW, layout.raw);
    builder
        .exclude_kernel(user)
        .exclude_hv(user)
        .enable_on_exec(request.start == CountFrom::AtExec)
        .sample(wanted)
        .sample_period(request.every)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC);
    if index == 0 {
        announce(&mut builder);
    }
    observe(&mut builder, request, thread)?;
    attributes(&mut builder, request, code, layout);
    Ok(builder)
}

fn observe<'a>(
    builder: &mut Builder<'a>,
    request: &'a SampleRequest<'_>,
    thread: Option<u32>,
) -> io::Result<()> {
    match (request.scope, thread) {
        (SampleScope::Threads(_), Some(thread)) => {
            let number = i32::try_from(thread).map_err(io::Error::other)?;
            builder.observe_pid(number).inherit(true);
            builder.one_cpu(request.cpu as usize);
        }
        (SampleScope::Cgroup(folder), _) => {
            builder.observe_cgroup(folder).one_cpu(request.cpu as usize);
        }
        (SampleScope::All, _) => {
            builder.any_pid().one_cpu(request.cpu as usize);
        }
        (SampleScope::Caller | SampleScope::Threads(_), _) => {
            builder.observe_self().any_cpu();
        }
    }
    Ok(())
}

/// Sets the attributes specific to each facility. `inherit` may have changed the read format.
fn attributes(builder: &mut Builder<'_>, request: &SampleRequest<'_>, code: Code, layout: Layout) {
    let attributes = builder.attrs_mut();
    attributes.type_ = code.source;
    attributes.read_format = if request.access.lost { FORMAT_LOST } else { 0 };
    if layout.page_size {
        attributes.sample_type |= SAMPLE_DATA_PAGE_SIZE;
    }
    match request.means {
        // An address in a guest has no meaning in the address spaces of the host.
        Facility::Pebs => {
            attributes.set_precise_ip(2);
            attributes.set_exclude_guest(1);
        }
        Facility::Ibs => {
            attributes.config |= IBS_COUNT_OPERATIONS;
            if request.access.modes == Modes::User {
                attributes.__bindgen_anon_4.config2 = IBS_SOFTWARE_FILTER;
            }
        }
        Facility::Spe => {
            attributes.config |= SPE_JITTER;
            attributes.__bindgen_anon_3.config1 = 1 << super::spe::WALK | 1 << super::spe::RETIRED;
        }
    }
}

/// The largest ring to try on each processor, in bytes.
const LARGEST_RING: usize = 4 << 20;
/// The size in bytes of the smallest ring.
const SMALLEST_RING: usize = 64 << 10;

/// Maps the ring on the first event, as large as the kernel allows, and redirects the others to it.
fn map(
    request: &SampleRequest<'_>,
    opened: &[(Counter, usize)],
) -> io::Result<(Option<Ring>, Option<Aux>)> {
    let Some(((leader, _), others)) = opened.split_first() else {
        return Ok((None, None));
    };
    let mut bytes = LARGEST_RING;
    let mapped = loop {
        match map_on(request, leader, bytes) {
            Ok(mapped) => break mapped,
            Err(_) if bytes > SMALLEST_RING.max(request.page_bytes) => bytes /= 2,
            Err(error) => return Err(error),
        }
    };
    for (other, _) in others {
        let (fd, to) = (other.as_raw_fd(), leader.as_raw_fd());
        // SAFETY: an ioctl on our own descriptors.
        if unsafe { libc::ioctl(fd, IOC_SET_OUTPUT, to) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(mapped)
}

fn map_on(
    request: &SampleRequest<'_>,
    leader: &Counter,
    bytes: usize,
) -> io::Result<(Option<Ring>, Option<Aux>)> {
    let fd = leader.as_raw_fd();
    // SAFETY: the counter holds the descriptor open for longer than this borrow.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let mut ring = Ring::map(borrowed, request.page_bytes, bytes)?;
    let aux = match request.means {
        Facility::Spe => Some(Aux::map(fd, &mut ring, bytes)?),
        Facility::Pebs | Facility::Ibs => None,
    };
    Ok((Some(ring), aux))
}

impl MissSamples for OpenEvent {
    fn identities(&self) -> Vec<(u64, usize)> {
        let all = self.opened.iter();
        all.map(|(counter, index)| (counter.id(), *index)).collect()
    }

    fn switch(&mut self, to: Switch) {
        for (counter, _) in &mut self.opened {
            // On failure the task has ended, and its events are gone too.
            let _ = match to {
                Switch::On => counter.enable(),
                Switch::Off => counter.disable(),
            };
        }
    }

    fn drain(&mut self, take: &mut dyn FnMut(&[u8])) {
        if let Some(ring) = &mut self.ring {
            ring.drain(take);
        }
    }

    fn trace(&mut self, offset: u64, bytes: u64) -> Vec<u8> {
        let (Some(aux), Some(ring)) = (&self.aux, &mut self.ring) else {
            return Vec::new();
        };
        let piece = aux.copy(offset, bytes);
        ring.release_aux(offset.saturating_add(bytes));
        piece
    }

    fn lost(&mut self) -> Option<u64> {
        let all = self.opened.iter_mut();
        all.map(|(counter, _)| counter.read_full().ok()?.lost())
            .sum()
    }
}
