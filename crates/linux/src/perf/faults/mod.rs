//! Page faults of a program, from perf software events.
//!
//! `PERF_COUNT_SW_PAGE_FAULTS` fires when the architecture's handler begins
//! (arch/x86/mm/fault.c, arch/arm64/mm/fault.c), `_MIN` or `_MAJ` when `handle_mm_fault` is
//! through (`mm_account_fault`, mm/memory.c). Both carry thread and address, so that a pair is
//! a latency. What has no registers of a program has no event: `MAP_POPULATE`,
//! `MADV_POPULATE_*`, get_user_pages; those are in `ru_minflt` only.
//!
//! What is done, and why not the obvious:
//!
//! * One ring on each processor. A ring for an inherited event on any processor is `EINVAL`.
//! * No event group: groups switched on as such lose counts on some kernels while their times
//!   say that they ran all the time.
//! * The call chain is taken at the end of a fault, not at its start: it would be inside the
//!   latency. Taking it costs as much as the two other samples of a fault together, however short
//!   it is: a walk ends where it reads what is no frame, and that read is a fault of its own, in
//!   vain (`perf_callchain_user`, arch/x86/events/core.c). So chains come from events of their
//!   own ([`chains`]): of all faults at first, and of one in many when there have been enough.
//! * `PERF_SAMPLE_DATA_PAGE_SIZE` at the end has the kernel look up, at that moment, how large
//!   the page is that maps the address: whether a fault made a huge page is read, not guessed.
//!   It needs no privilege (Linux 5.11).
//! * `PERF_SAMPLE_PHYS_ADDR` is looked up without the zero pages (`gup_fast` refuses special
//!   entries), so that 0 tells them from memory. It needs what kernel mode needs.

mod chains;
mod folio;
mod grade;
mod heap;
mod huge_zero;
mod looked_up;
mod maps;
mod open;
mod order;
mod said;
mod target;

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::time::Duration;

use hugewise_model::fault::{Conditions, Counted, Event, Known, Modes};
use hugewise_model::host::Host;
use hugewise_model::observation::Missing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ring::Ring;
use super::sample::{self, Layout, Record};
use crate::error::Result;
use chains::Chains;
use grade::Grade;
use looked_up::LookedUp;
use open::{Opened, Role};
use order::Order;
use said::{Said, event, said};

pub use target::{Crowd, Target};

/// The least grant that lets an ordinary user watch processes of their own.
pub const LEAST_GRANT: &str = "CAP_PERFMON, or kernel.perf_event_paranoid at most 2";
/// The least grant that shows faults in kernel mode and tells zero pages apart.
pub const FULL_GRANT: &str = "CAP_PERFMON, or kernel.perf_event_paranoid at most 1";

/// Events of a program, being recorded. Dropping it closes them all; the kernel keeps nothing.
#[derive(Debug)]
pub struct Faults {
    // Rings first: they are unmapped before their events are closed.
    rings: Vec<Ring>,
    opened: Vec<Vec<Opened>>,
    roles: HashMap<u64, Role>,
    grade: Grade,
    every: u64,
    order: Order,
    chains: Chains,
    looked_up: LookedUp,
    /// Records that could not be understood, and the first sentence about them.
    malformed: Option<(u64, String)>,
    /// Events whose task is gone, which poll(2) would report for ever.
    hung_up: Vec<bool>,
}

impl Faults {
    /// Opens the events and maps the rings. `every` is 1 for every fault; larger numbers look
    /// at one in so many, without their latencies.
    ///
    /// # Errors
    /// The kernel refuses ([`LEAST_GRANT`]), has no such events, or the process is gone.
    pub fn open(target: &Target, cpus: &[u32], every: u64, host: &Host) -> Result<Self> {
        let grade = grade::negotiate(grade::try_on_ourselves)?;
        let opened = open::open_all(target, cpus, grade, every)?;
        let rings = open::map_rings(&opened, host.page_bytes)?;
        let mut order = Order::default();
        if let Target::Running(_) = target {
            // Only now, because a record without a ring is nowhere.
            opened.iter().flatten().for_each(Opened::enable);
            order.begin(target.known_mappings());
        }
        let all = opened.iter().flatten();
        let roles = all.map(|one| (one.id, one.role)).collect();
        Ok(Self {
            hung_up: vec![false; cpus.len()],
            chains: Chains::of(rings.len()),
            looked_up: LookedUp::on(host, grade),
            rings,
            opened,
            roles,
            grade,
            every,
            order,
            malformed: None,
        })
    }

    /// Fills in what the events can tell.
    pub fn describe(&self, conditions: &mut Conditions) {
        conditions.modes = self.grade.modes;
        conditions.every = self.every;
        conditions.page_size = known(self.grade.page_size, || Missing::NotSupported {
            what: "PERF_SAMPLE_DATA_PAGE_SIZE (Linux 5.11)".to_owned(),
        });
        self.looked_up.describe(conditions);
        conditions.physical = known(self.grade.modes == Modes::All, || Missing::NotPermitted {
            grant: FULL_GRANT.to_owned(),
        });
    }

    /// Room of each ring, in bytes.
    #[must_use]
    pub fn ring_bytes(&self) -> usize {
        self.rings.first().map_or(0, Ring::data_bytes)
    }

    /// Waits until a ring is a quarter full, `limit` at most; much less where folios are asked
    /// for, which must not be gone by then.
    pub fn wait(&mut self, limit: Duration) {
        const BEFORE_FOLIOS_GO: Duration = Duration::from_millis(1);
        let limit = if self.looked_up.asks_for_folios() {
            limit.min(BEFORE_FOLIOS_GO)
        } else {
            limit
        };
        let leaders: Vec<(usize, &Opened)> = self
            .opened
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.hung_up[*index])
            .filter_map(|(index, of_cpu)| Some((index, of_cpu.first()?)))
            .collect();
        let mut polled: Vec<PollFd<'_>> = leaders
            .iter()
            .map(|(_, leader)| PollFd::from_borrowed_fd(leader.fd.as_fd(), PollFlags::IN))
            .collect();
        let limit = Timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // Interrupted: the caller looks at its flags and comes again.
        let _ = poll(&mut polled, Some(&limit));
        let gone: Vec<usize> = polled
            .iter()
            .zip(&leaders)
            .filter(|(polled, _)| polled.revents().intersects(PollFlags::HUP | PollFlags::ERR))
            .map(|(_, (index, _))| *index)
            .collect();
        for index in gone {
            self.hung_up[index] = true;
        }
    }

    /// Empties the rings and gives what is old enough to be in order of time.
    pub fn drain(&mut self, take: impl FnMut(Event)) {
        let read_since = open::monotonic_ns();
        self.empty_rings();
        self.order.release(read_since, take);
        if self.chains.are_enough() {
            self.take_few_chains();
        }
    }

    fn empty_rings(&mut self) {
        let layouts = layouts(&self.roles, self.grade, self.every);
        let (chains, order) = (&mut self.chains, &mut self.order);
        for (index, ring) in self.rings.iter_mut().enumerate() {
            chains.begin(index);
            ring.drain(|bytes| match sample::parse_record(bytes, &layouts) {
                Ok(Record::Sample(sample)) => {
                    let role = self.roles.get(&sample.id).copied();
                    match role.map(|role| said(sample, role, self.every)) {
                        Some(Said::Start(start)) => order.hold(Some(start)),
                        Some(Said::Chain(chain)) => chains.chain(index, chain, order),
                        Some(Said::End(mut end)) => {
                            self.looked_up.complete(&mut end);
                            chains.end(index, end, order);
                        }
                        None => {}
                    }
                }
                Ok(record) => {
                    let event = event(record);
                    let heap = event.as_ref().and_then(heap::after_exec);
                    order.hold(event);
                    order.hold(heap);
                }
                Err(sentence) => {
                    self.malformed.get_or_insert((0, sentence)).0 += 1;
                }
            });
            chains.pause(index, order);
        }
    }

    fn take_few_chains(&mut self) {
        let all = self.opened.iter().flatten();
        all.filter(|one| one.role == Role::Chains)
            .for_each(Opened::disable);
        self.chains.few_since(open::monotonic_ns());
    }

    /// Switches the events off, empties the rings for the last time and reads the counters.
    pub fn finish(&mut self, mut take: impl FnMut(Event)) -> Counted {
        self.opened.iter().flatten().for_each(Opened::disable);
        self.drain(&mut take);
        self.chains.finish(&mut self.order);
        self.order.release_all(take);
        open::read_counters(&self.opened, self.grade)
    }

    /// How many records were not understood, and what the first of them was.
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

fn layouts(roles: &HashMap<u64, Role>, grade: Grade, every: u64) -> impl Fn(u64) -> Option<Layout> {
    move |id| roles.get(&id).map(|role| role.layout(grade, every))
}
