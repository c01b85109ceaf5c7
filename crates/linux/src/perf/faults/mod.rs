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
//! * The call chain is taken at the end of a fault, not at its start: taking it costs about as
//!   much as a small fault, and would be inside the latency.
//! * `PERF_SAMPLE_DATA_PAGE_SIZE` at the end has the kernel look up, at that moment, how large
//!   the page is that maps the address: whether a fault made a huge page is read, not guessed.
//!   It needs no privilege (Linux 5.11).
//! * `PERF_SAMPLE_PHYS_ADDR` is looked up without the zero pages (`gup_fast` refuses special
//!   entries), so that 0 tells them from memory. It needs what kernel mode needs.

mod folio;
mod grade;
pub(super) mod heap;
mod huge_zero;
mod looked_up;
pub(crate) mod maps;
mod open;
pub(super) mod order;
mod target;

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::time::Duration;

use hugewise_model::fault::{Conditions, Counted, Event, Known, Map, Modes, Served};
use hugewise_model::fault::{Sharing, Weight};
use hugewise_model::host::Host;
use hugewise_model::observation::Missing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ring::Ring;
use super::sample::{self, Layout, MapRecord, Record, Sample};
use crate::error::Result;
use grade::Grade;
use looked_up::LookedUp;
use open::{Opened, Role};
use order::Order;

pub(super) use open::monotonic_ns;
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
    order: Order<Event>,
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
        let read_since = monotonic_ns();
        let layouts = layouts(&self.roles, self.grade);
        for ring in &mut self.rings {
            ring.drain(|bytes| match sample::parse_record(bytes, &layouts) {
                Ok(record) => {
                    let mut event = event(record, |id| self.roles.get(&id).copied());
                    if let Some(Event::End(served)) = &mut event {
                        self.looked_up.complete(served);
                    }
                    let heap = event.as_ref().and_then(heap::after_exec);
                    self.order.hold(event);
                    self.order.hold(heap);
                }
                Err(sentence) => {
                    self.malformed.get_or_insert((0, sentence)).0 += 1;
                }
            });
        }
        self.order.release(read_since, take);
    }

    /// Switches the events off, empties the rings for the last time and reads the counters.
    pub fn finish(&mut self, mut take: impl FnMut(Event)) -> Counted {
        self.opened.iter().flatten().for_each(Opened::disable);
        self.drain(&mut take);
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

fn layouts(roles: &HashMap<u64, Role>, grade: Grade) -> impl Fn(u64) -> Option<Layout> {
    move |id| roles.get(&id).map(|role| role.layout(grade))
}

/// A record as the model knows it; `None` for what says nothing.
fn event(record: Record<'_>, role: impl Fn(u64) -> Option<Role>) -> Option<Event> {
    match record {
        Record::Sample(sample) => Some(match role(sample.id)? {
            Role::Starts => Event::Start {
                time_ns: sample.time_ns,
                pid: sample.pid,
                tid: sample.tid,
                address: sample.address,
            },
            Role::Minor => served(sample, Weight::Minor),
            Role::Major => served(sample, Weight::Major),
        }),
        other => announced(other),
    }
}

/// What a record announces of processes and their memory; `None` for samples, and for what says
/// nothing.
pub(super) fn announced(record: Record<'_>) -> Option<Event> {
    Some(match record {
        Record::Map(map) => Event::Map(mapping(&map)),
        Record::Exec { pid, time_ns, name } => Event::Exec {
            time_ns,
            pid,
            name: name.into_owned(),
        },
        Record::Fork(birth) => Event::Fork {
            time_ns: birth.time_ns,
            pid: birth.pid,
            parent: birth.parent,
            tid: birth.tid,
        },
        Record::Exit(birth) => Event::Exit {
            time_ns: birth.time_ns,
            pid: birth.pid,
            tid: birth.tid,
        },
        Record::Lost { count } => Event::Lost { count },
        Record::Sample(_) | Record::Aux(_) | Record::Other => return None,
    })
}

fn served(sample: Sample, weight: Weight) -> Event {
    Event::End(Box::new(Served {
        time_ns: sample.time_ns,
        pid: sample.pid,
        tid: sample.tid,
        address: sample.address,
        weight,
        // The kernel says 0 where it cannot walk the tables.
        page_bytes: sample.page_bytes.filter(|&bytes| bytes > 0),
        physical: sample.physical,
        folio_bytes: None,
        stack: sample.stack,
    }))
}

fn mapping(map: &MapRecord<'_>) -> Map {
    const SHARED: u32 = libc::MAP_SHARED.cast_unsigned();
    const HUGETLB: u32 = libc::MAP_HUGETLB.cast_unsigned();
    Map {
        time_ns: map.time_ns,
        pid: map.pid,
        start: map.start,
        end: map.start.saturating_add(map.bytes),
        offset: map.offset,
        protection: map.protection,
        sharing: if map.flags & HUGETLB != 0 {
            Sharing::Hugetlb
        } else if map.flags & SHARED != 0 {
            Sharing::Shared
        } else {
            Sharing::Private
        },
        name: map.name.clone().into_owned(),
    }
}
