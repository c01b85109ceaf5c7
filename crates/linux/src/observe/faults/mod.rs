//! Page faults of a program, from perf software events.
//!
//! `PERF_COUNT_SW_PAGE_FAULTS` fires when the architecture's handler begins (arch/x86/mm/fault.c,
//! arch/arm64/mm/fault.c), `_MIN` or `_MAJ` when `handle_mm_fault` is through (`mm_account_fault`, mm/memory.c). Both
//! carry thread and address, so that a pair is a latency. Faults without a program's registers trigger no event:
//! `MAP_POPULATE`, `MADV_POPULATE_*`, get_user_pages. They are counted in `ru_minflt` only.
//!
//! Design decisions:
//!
//! * One ring per processor. A ring for an inherited event on any processor is refused with `EINVAL`.
//! * No event group: on some kernels, groups that are enabled together lose counts while their times claim that they
//!   ran all the time.
//! * The call chain is taken at the end of a fault; at its start it would add to the measured latency. Taking it costs
//!   as much as the two other samples of a fault together, however short the chain. A walk ends where it reads
//!   something that is not a frame, and that read causes another, unsuccessful fault (`perf_callchain_user`,
//!   arch/x86/events/core.c). So chains come from separate events (`chains.rs`): first for all faults, and after enough
//!   of them for one fault in many.
//! * With `PERF_SAMPLE_DATA_PAGE_SIZE`, the kernel looks up the size of the page that maps the address when the fault
//!   ends. So whether a fault created a huge page is read, not guessed. It needs no privilege (Linux 5.11).
//! * If BPF is available (so far x86, Linux 6.3), the kernel pairs begin and end (`bpf/faults.h`), and writes one
//!   record instead of two samples. Counting, announcing mappings and taking call chains work the same way.
//! * `PERF_SAMPLE_PHYS_ADDR` is not looked up for the zero pages (`gup_fast` refuses special entries), so 0
//!   distinguishes them from memory. It needs the same privilege as kernel mode.

mod chains;
mod decode;
mod folio;
mod huge_zero;
mod open;
mod paired;
mod physical;
mod target;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_observe::faults::{Conditions, Counted, Event, Known, Modes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bpf::faults::FaultPrograms;
use crate::machine::clock::monotonic_ns;
use crate::machine::error::{Error, Kind, Result};
use crate::perf::access::SampleAccess;
use crate::perf::heap;
use crate::perf::order::Order;
use crate::perf::sample::{self, Record};
use chains::Chains;
pub(in crate::observe) use decode::event as announced;
use decode::{FaultSample, decode};
use open::{OpenEvent, Rings, Role, Watch};
use physical::PhysicalLookup;

pub use target::{FaultTarget, TaskSet};

/// The smallest grant that lets ordinary users watch their own processes.
pub const LEAST_GRANT: &str = "CAP_PERFMON, or kernel.perf_event_paranoid at most 2";
/// The smallest grant that shows faults in kernel mode and distinguishes zero pages.
pub const FULL_GRANT: &str = "CAP_PERFMON, or kernel.perf_event_paranoid at most 1";

/// Events of a program, during recording. Dropping it closes them all; the kernel keeps nothing.
#[derive(Debug)]
pub struct Faults {
    // Rings first: they are unmapped before their events are closed.
    rings: Rings,
    opened: Vec<Vec<OpenEvent>>,
    roles: HashMap<u64, Role>,
    access: SampleAccess,
    every: u64,
    /// The programs that pair faults in the kernel, if they are used.
    programs: Option<FaultPrograms>,
    /// Processors, in the order of the rings.
    cpus: Vec<u32>,
    order: Order<Event>,
    chains: Chains,
    looked_up: PhysicalLookup,
    /// The number of records that could not be parsed, and the error of the first.
    malformed: Option<(u64, String)>,
    /// True for events whose task has ended, which poll(2) would report forever.
    hung_up: Vec<bool>,
}

impl Faults {
    /// Opens the events and maps the rings. `every` is 1 to record every fault; N records one fault in N, without
    /// latencies.
    ///
    /// # Errors
    /// The kernel refuses ([`LEAST_GRANT`]), does not have such events, or the process has ended.
    pub fn open(target: &FaultTarget, cpus: &[u32], every: u64, host: &Host) -> Result<Self> {
        let access = SampleAccess::FULL
            .negotiate(|access| open::on_ourselves(Watch::by_samples(access)).map(drop))
            .map_err(|(_, error)| refused(error))?;
        // Before any event is opened, because this causes a fault.
        let looked_up = PhysicalLookup::on(host, access);
        let programs = (every == 1).then(|| paired::load(access)).flatten();
        let watch = Watch {
            access,
            every,
            programs: programs.as_ref(),
        };
        let opened = open::open_all(target, cpus, watch)?;
        let rings = open::map_rings(&opened, host.page_bytes)?;
        let mut order = Order::default();
        if let FaultTarget::Running(_) = target {
            // Only now, because a record without a ring is lost. Ends are enabled first, and begins are disabled first:
            // every counted begin has its end.
            let all = opened.iter().flatten().rev();
            all.filter(|one| one.role.is_on_from_the_start())
                .for_each(OpenEvent::enable);
            order.begin(target.known_mappings());
        }
        let all = opened.iter().flatten();
        // A minor end may carry the identity of an event that takes its chain; see `Chains`.
        let roles = all.map(|one| (one.id, one.role.of_events())).collect();
        Ok(Self {
            hung_up: vec![false; rings.events.len() + rings.chains.len()],
            chains: Chains::of(rings.events.len()),
            looked_up,
            rings,
            opened,
            roles,
            access,
            every,
            programs,
            cpus: cpus.to_vec(),
            order,
            malformed: None,
        })
    }

    /// Fills in which data the events can provide.
    pub fn describe(&self, conditions: &mut Conditions) {
        conditions.modes = self.access.modes;
        conditions.every = self.every;
        conditions.page_size = known(self.access.page_size, || {
            Missing::not_supported("PERF_SAMPLE_DATA_PAGE_SIZE (Linux 5.11)")
        });
        self.looked_up.describe(conditions);
        conditions.physical = known(self.access.modes == Modes::All, || {
            Missing::not_permitted(FULL_GRANT.to_owned())
        });
    }

    /// Waits until a ring is half full, but at most `limit`; much less if folios are looked up, because they must still
    /// exist.
    pub fn wait(&mut self, limit: Duration) {
        const BEFORE_FOLIOS_GO: Duration = Duration::from_millis(1);
        // Records that BPF programs write wake nobody.
        const BEFORE_THE_RING_IS_FULL: Duration = Duration::from_millis(10);
        let limit = if self.looked_up.asks_for_folios() {
            limit.min(BEFORE_FOLIOS_GO)
        } else if self.programs.is_some() {
            limit.min(BEFORE_THE_RING_IS_FULL)
        } else {
            limit
        };
        let owners: Vec<(usize, &OpenEvent)> = open::owners(&self.opened)
            .enumerate()
            .filter(|(index, _)| !self.hung_up[*index])
            .collect();
        let mut polled: Vec<PollFd<'_>> = owners
            .iter()
            .map(|(_, owner)| PollFd::from_borrowed_fd(owner.fd.as_fd(), PollFlags::IN))
            .collect();
        let limit = Timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // Interrupted: the caller checks its flags and calls again.
        let _ = poll(&mut polled, Some(&limit));
        let gone: Vec<usize> = polled
            .iter()
            .zip(&owners)
            .filter(|(polled, _)| polled.revents().intersects(PollFlags::HUP | PollFlags::ERR))
            .map(|(_, (index, _))| *index)
            .collect();
        for index in gone {
            self.hung_up[index] = true;
        }
    }

    /// Empties the rings and passes on the events old enough, in order of time.
    pub fn drain(&mut self, take: impl FnMut(Event)) {
        let read_since = monotonic_ns();
        self.empty_rings();
        self.order.release(read_since, take);
        if self.chains.are_enough() {
            self.take_few_chains();
        }
    }

    fn take_paired(&mut self) {
        let Some(programs) = &mut self.programs else {
            return;
        };
        for (place, &cpu) in self.cpus.iter().enumerate() {
            programs.drain(cpu, |fault| {
                self.order.hold(paired::start(fault));
                if let Some(mut end) = paired::end(fault) {
                    self.looked_up.complete(&mut end);
                    self.chains.end(place, end);
                }
            });
        }
    }

    fn empty_rings(&mut self) {
        self.take_paired();
        let layouts = |id| {
            self.roles
                .get(&id)
                .map(|role| role.layout(self.access, self.every))
        };
        for (cpu, ring) in self.rings.events.iter_mut().enumerate() {
            ring.drain(|bytes| match sample::parse_record(bytes, layouts) {
                Ok(Record::Sample(sample)) => {
                    match self.roles.get(&sample.id).map(|role| decode(sample, *role)) {
                        Some(FaultSample::Start(start)) => self.order.hold(Some(start)),
                        Some(FaultSample::End(mut end)) => {
                            self.looked_up.complete(&mut end);
                            self.chains.end(cpu, end);
                        }
                        None => {}
                    }
                }
                Ok(record) => {
                    let event = announced(record);
                    let heap = event.as_ref().and_then(heap::after_exec);
                    self.order.hold(event);
                    self.order.hold(heap);
                }
                Err(sentence) => note(&mut self.malformed, sentence),
            });
        }
        let layout = |_| Some(Role::Chains.layout(self.access, self.every));
        for (cpu, ring) in self.rings.chains.iter_mut().enumerate() {
            ring.drain(|bytes| match sample::parse_record(bytes, layout) {
                Ok(Record::Sample(sample)) => self.chains.chain(cpu, sample.into()),
                // Lost chains are visible from the number that arrived.
                Ok(_) => {}
                Err(sentence) => note(&mut self.malformed, sentence),
            });
        }
        for cpu in 0..self.rings.events.len() {
            self.chains.join(cpu, &mut self.order);
        }
    }

    /// The chains still in the rings count for one fault each, and are read before the sampled ones begin.
    fn take_few_chains(&mut self) {
        let of = |role| {
            let all = self.opened.iter().flatten();
            all.filter(move |one| one.role == role)
        };
        of(Role::Chains).for_each(OpenEvent::disable);
        self.empty_rings();
        self.chains.are_few();
        let all = self.opened.iter().flatten();
        all.filter(|one| one.role == Role::FewChains)
            .for_each(OpenEvent::enable);
    }

    /// Switches the events off, empties the rings for the last time and reads the counters.
    pub fn finish(&mut self, mut take: impl FnMut(Event)) -> Counted {
        self.opened.iter().flatten().for_each(OpenEvent::disable);
        self.drain(&mut take);
        self.chains.finish(&mut self.order);
        self.order.release_all(take);
        let mut counted = open::read_counters(&self.opened, self.access);
        if let Some(programs) = &self.programs {
            *counted.lost.get_or_insert(0) += programs.lost();
        }
        counted
    }

    /// Returns the number of records that could not be parsed, and the error of the first.
    #[must_use]
    pub fn malformed(&self) -> Option<(u64, &str)> {
        self.malformed
            .as_ref()
            .map(|(count, first)| (*count, first.as_str()))
    }
}

fn known(yes: bool, why_not: impl FnOnce() -> Missing) -> Known {
    if yes {
        Known::Yes
    } else {
        Known::No(why_not())
    }
}

fn note(malformed: &mut Option<(u64, String)>, sentence: String) {
    malformed.get_or_insert((0, sentence)).0 += 1;
}

/// The error of opening an event.
fn refused(error: io::Error) -> Error {
    let kind = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Kind::NotPermitted,
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS) => Kind::NotFound,
        _ => Kind::Other(String::new()),
    };
    Error {
        kind,
        doing: "opening page fault events".to_owned(),
        path: None,
        source: Some(error),
    }
}
