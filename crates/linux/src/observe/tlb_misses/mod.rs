//! Finds the sources of TLB misses: the hardware samples the addresses of accesses, and each sampled miss becomes a
//! [`Miss`](hugewise_tlb::misses::Miss) with its page and its code address.
//!
//! Three facilities do this, each with its own format. With Intel's PEBS, a sample is a retired instruction that
//! missed. With AMD's IBS, a sample is any operation, and only the raw registers describe it. Arm's SPE writes packets
//! to a separate area. Two PEBS fields are not used. `PERF_SAMPLE_DATA_SRC` would repeat the event, a load or store
//! that missed. `PERF_SAMPLE_WEIGHT` is the duration of the load, not of its translation.
//!
//! The decoders were checked against the documented formats. No processor with any of the three facilities was
//! available.
//!
//! To add a sampling facility, add a variant of `misses::Facility`, a pure decoder here, its attributes to `open.rs`,
//! its search to `sampler.rs`, and `[addresses]` to the files of its families.

mod aux;
mod decoded;
mod ibs;
mod open;
mod page_now;
mod sampler;
mod spe;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_observe::faults as fault;
use hugewise_observe::faults::Known;
use hugewise_tlb::misses::{AccessKind, Closing, Conditions, Event, Facility, Miss, MissEvent};

use crate::machine::clock::monotonic_ns;
use crate::machine::root::Root;
use crate::observe::faults::{self, TaskSet};
use crate::perf::access::SampleAccess;
use crate::perf::heap;
use crate::perf::open::{CountFrom, Switch};
use crate::perf::order::{Order, Timed};
use crate::perf::sample::{self, Piece, Record, Sample};
use crate::proc::maps;
use decoded::{executed, retired, walked};
use page_now::PageNow;

pub use open::{KernelSampler, MissSamples, SampleOpen, SampleRequest, SampleScope};
pub use sampler::{Instrument, explain, find};

impl Timed for Event {
    fn time_ns(&self) -> Option<u64> {
        self.time_ns()
    }
}

/// The target of the samples.
#[derive(Clone, Debug)]
pub enum MissTarget {
    /// A process before its exec.
    BeforeExec {
        /// The process.
        pid: u32,
    },
    /// Running threads and all their future children.
    Running(TaskSet),
    /// Everything on the machine.
    Machine,
    /// The processes of a cgroup, given by its directory.
    Cgroup(Arc<File>),
}

/// Miss samples being taken from a target. Dropping it closes all events; the kernel keeps nothing.
pub struct Misses {
    streams: Vec<Stream>,
    order: Order<Event>,
    pages: Option<PageNow>,
    samples: u64,
    without_address: u64,
    /// The number of records that could not be parsed, and the error of the first.
    malformed: Option<(u64, String)>,
}

/// The events of one instrument on one processor.
struct Stream {
    samples: Box<dyn MissSamples>,
    means: Facility,
    access: SampleAccess,
    identities: HashMap<u64, usize>,
}

impl std::fmt::Debug for Misses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Misses")
            .field("streams", &self.streams.len())
            .field("samples", &self.samples)
            .finish_non_exhaustive()
    }
}

impl Misses {
    /// Opens every instrument on its processors, and starts sampling now or at the exec.
    ///
    /// # Errors
    /// The kernel's error: the target is gone (`ESRCH`), or may not be observed. SPE does not record which process an
    /// address belongs to, so a target of several programs is refused.
    pub fn open(
        root: &Root,
        host: &Host,
        opener: &dyn SampleOpen,
        instruments: &[Instrument],
        target: &MissTarget,
        cpus: &[u32],
    ) -> io::Result<Self> {
        let mut streams = Vec::new();
        for instrument in instruments {
            let own = |cpu: &&u32| {
                let cpus = instrument.cpus.as_ref();
                cpus.is_none_or(|cpus| cpus.contains(cpu))
            };
            for &cpu in cpus.iter().filter(own) {
                streams.push(stream(opener, instrument, target, cpu, host)?);
            }
        }
        if streams.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let mut order = Order::default();
        if !matches!(target, MissTarget::BeforeExec { .. }) {
            for stream in &mut streams {
                stream.samples.switch(Switch::On);
            }
            order.begin(known_mappings(root, target));
        }
        let unsaid = instruments.iter().any(|one| !one.access.page_size);
        Ok(Self {
            streams,
            order,
            pages: unsaid.then(|| PageNow::on(root, host)),
            samples: 0,
            without_address: 0,
            malformed: None,
        })
    }

    /// Empties the rings and passes on the events old enough, in order of time.
    pub fn drain(&mut self, take: impl FnMut(Event)) {
        let read_since = monotonic_ns();
        for index in 0..self.streams.len() {
            self.drain_stream(index);
        }
        self.order.release(read_since, take);
    }

    fn drain_stream(&mut self, index: usize) {
        let mut records = Vec::new();
        self.streams[index]
            .samples
            .drain(&mut |bytes| records.push(bytes.to_vec()));
        for bytes in records {
            if let Err(sentence) = self.record(index, &bytes) {
                self.malformed.get_or_insert((0, sentence)).0 += 1;
            }
        }
    }

    fn record(&mut self, index: usize, bytes: &[u8]) -> Result<(), String> {
        let stream = &self.streams[index];
        let layout = open::layout(stream.means, stream.access);
        let known = |id| stream.identities.contains_key(&id).then_some(layout);
        match sample::parse_record(bytes, known)? {
            Record::Sample(sample) => self.sample(index, &sample),
            Record::Aux(piece) => self.piece(index, piece),
            other => {
                self.happened(other);
                Ok(())
            }
        }
    }

    /// Handles a record other than a sample: a mapping, a fork or an exit.
    fn happened(&mut self, record: Record<'_>) {
        let event = faults::announced(record);
        if let (Some(pages), Some(fault::Event::Exec { pid, .. })) = (&mut self.pages, &event) {
            pages.forget(*pid);
        }
        let heap = event.as_ref().and_then(heap::after_exec);
        self.order.hold(event.map(Event::Space));
        self.order.hold(heap.map(Event::Space));
    }

    fn sample(&mut self, index: usize, sample: &Sample) -> Result<(), String> {
        self.samples += 1;
        let stream = &self.streams[index];
        let miss = match stream.means {
            // The second event samples stores.
            Facility::Pebs => Some(match stream.identities.get(&sample.id) {
                Some(0) => retired(sample, AccessKind::Load),
                _ => retired(sample, AccessKind::Store),
            }),
            Facility::Ibs => executed(sample)?,
            Facility::Spe => None,
        };
        if let Some(miss) = miss {
            self.miss(miss);
        }
        Ok(())
    }

    fn piece(&mut self, index: usize, piece: Piece) -> Result<(), String> {
        let trace = self.streams[index].samples.trace(piece.offset, piece.bytes);
        let mut operations = Vec::new();
        let parsed = spe::parse_trace(&trace, |operation| operations.push(operation));
        self.samples += operations.len() as u64;
        for operation in operations {
            if operation.walked && operation.memory {
                self.miss(walked(&operation, piece));
            }
        }
        parsed
    }

    /// The kernel writes address 0 if the hardware recorded none.
    fn miss(&mut self, mut miss: Miss) {
        if miss.address == 0 {
            self.without_address += 1;
            return;
        }
        if let (None, Some(pages)) = (miss.page_bytes, &mut self.pages) {
            miss.page_bytes = pages.bytes(miss.pid, miss.address);
        }
        self.order.hold(Some(Event::Misses(MissEvent::Miss(miss))));
    }

    /// Switches the events off and passes on all remaining events; returns the counts.
    pub fn finish(&mut self, mut take: impl FnMut(Event)) -> Closing {
        for stream in &mut self.streams {
            stream.samples.switch(Switch::Off);
        }
        self.drain(&mut take);
        self.order.release_all(take);
        let lost = self.streams.iter_mut().map(|stream| stream.samples.lost());
        Closing {
            wall_ns: 0,
            outcome: None,
            outlived: 0,
            samples: self.samples,
            without_address: self.without_address,
            lost: lost.sum(),
            malformed: self.malformed.as_ref().map_or(0, |(count, _)| *count),
        }
    }

    /// Returns the error of the first record that could not be parsed.
    #[must_use]
    pub fn malformed(&self) -> Option<&str> {
        self.malformed.as_ref().map(|(_, first)| first.as_str())
    }
}

/// Fills in which data the instruments provide; instruments of different processor types are equal in this.
pub fn describe(instruments: &[Instrument], conditions: &mut Conditions) {
    let Some(first) = instruments.first() else {
        return;
    };
    conditions.means = first.means;
    conditions.sampled.clone_from(&first.sampled);
    conditions.every = first.every;
    conditions.modes = first.access.modes;
    conditions.page_size = match (first.access.page_size, first.means) {
        // With SPE, each page is looked up when its packet is read.
        (true, _) | (_, Facility::Spe) => Known::Yes,
        (false, _) => Known::No(Missing::not_supported(
            "PERF_SAMPLE_DATA_PAGE_SIZE (Linux 5.11)",
        )),
    };
}

fn stream(
    opener: &dyn SampleOpen,
    instrument: &Instrument,
    target: &MissTarget,
    cpu: u32,
    host: &Host,
) -> io::Result<Stream> {
    let several = matches!(target, MissTarget::Machine | MissTarget::Cgroup(_));
    if several && instrument.means == Facility::Spe {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let threads: Vec<u32> = match target {
        MissTarget::BeforeExec { pid } => vec![*pid],
        MissTarget::Running(crowd) => crowd.tids.iter().copied().collect(),
        MissTarget::Machine | MissTarget::Cgroup(_) => Vec::new(),
    };
    let request = SampleRequest {
        means: instrument.means,
        events: &instrument.events,
        cpu,
        scope: match target {
            MissTarget::BeforeExec { .. } | MissTarget::Running(_) => {
                SampleScope::Threads(&threads)
            }
            MissTarget::Machine => SampleScope::All,
            MissTarget::Cgroup(folder) => SampleScope::Cgroup(folder),
        },
        start: match target {
            MissTarget::BeforeExec { .. } => CountFrom::AtExec,
            _ => CountFrom::Switched,
        },
        access: instrument.access,
        every: instrument.every,
        page_bytes: usize::try_from(host.page_bytes).unwrap_or(usize::MAX),
    };
    let samples = opener.open(&request)?;
    Ok(Stream {
        identities: samples.identities().into_iter().collect(),
        samples,
        means: instrument.means,
        access: instrument.access,
    })
}

/// Returns the existing mappings, as events that precede all others.
fn known_mappings(root: &Root, target: &MissTarget) -> Vec<Event> {
    let pids: Vec<u32> = match target {
        MissTarget::BeforeExec { .. } => Vec::new(),
        MissTarget::Running(crowd) => crowd.pids.iter().copied().collect(),
        MissTarget::Machine | MissTarget::Cgroup(_) => {
            let names = root.list("proc").unwrap_or_default();
            names.iter().filter_map(|name| name.parse().ok()).collect()
        }
    };
    let maps = pids.into_iter().flat_map(|pid| maps::read(root, pid));
    maps.map(|map| Event::Space(fault::Event::Map(map)))
        .collect()
}
