use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::event::{Closing, Conditions, Event, Served, Weight};
use super::kind::FaultKind;
use super::latency;
use super::processes::Processes;
use super::shape::Counts;
use super::space::{Area, PageState};
use hugewise_base::histogram::durations::Durations;

/// Sums up events in time order. It holds a fault only until it is paired. Memory that grows with the run: one to three
/// bits per page, and each call chain once.
#[derive(Debug)]
pub struct Analysis {
    pub(super) conditions: Conditions,
    pub(super) closing: Option<Closing>,
    pub(super) book: Book,
    pub(super) kinds: BTreeMap<FaultKind, Tally>,
    pub(super) processes: Processes,
    /// Indexed by the position of the mapping in [`Processes::mappings`].
    pub(super) mappings: Vec<Sums>,
    /// Faults outside every known mapping.
    pub(super) elsewhere: Sums,
    pub(super) counts: Counts,
    /// Open faults by thread: start time and address.
    begun: HashMap<u32, (u64, u64)>,
    pub(super) threads: HashSet<u32>,
}

/// A number of faults and, for those that were paired, their latencies.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) faults: u64,
    pub(super) latencies: Durations,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            faults: 0,
            latencies: Durations::new(latency::BITS),
        }
    }
}

/// Faults of one mapping.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) faults: u64,
    pub(super) time_ns: u64,
}

/// Counts of the received events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Book {
    pub(super) starts: u64,
    pub(super) minor: u64,
    pub(super) major: u64,
    pub(super) paired: u64,
    /// Faults that began and were never served, because of a signal or because the end was lost.
    pub(super) unserved: u64,
    pub(super) lost: u64,
    /// Faults with a sampled call chain.
    pub(super) chains: u64,
    /// Pages whose folio was gone before it could be queried.
    pub(super) folios_missed: u64,
}

impl Analysis {
    /// Returns an empty analysis of a program watched under these conditions.
    #[must_use]
    pub fn new(conditions: Conditions) -> Self {
        Self {
            processes: Processes::new(conditions.page_bytes, conditions.pmd_bytes),
            conditions,
            closing: None,
            book: Book::default(),
            kinds: BTreeMap::new(),
            mappings: Vec::new(),
            elsewhere: Sums::default(),
            counts: Counts::default(),
            begun: HashMap::new(),
            threads: HashSet::new(),
        }
    }

    /// Adds the next event.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Fork { pid, parent, .. } if pid != parent => self.counts.fork(*parent, *pid),
            Event::Exit { tid, .. } => self.exit(*tid),
            Event::Start {
                time_ns,
                tid,
                address,
                ..
            } => self.start(*time_ns, *tid, *address),
            Event::End(served) => self.end(served),
            Event::Lost { count } => self.book.lost += count,
            Event::Closing(closing) => self.closing = Some((**closing).clone()),
            _ => {}
        }
        self.processes.push(event);
    }

    /// Returns the places in files that occur in call chains and have no name yet.
    #[must_use]
    pub fn nameless(&self) -> BTreeMap<String, BTreeSet<u64>> {
        self.processes.code.nameless()
    }

    fn exit(&mut self, tid: u32) {
        if self.begun.remove(&tid).is_some() {
            self.book.unserved += 1;
        }
    }

    fn start(&mut self, time_ns: u64, tid: u32, address: u64) {
        self.book.starts += 1;
        if self.begun.insert(tid, (time_ns, address)).is_some() {
            self.book.unserved += 1;
        }
    }

    fn end(&mut self, served: &Served) {
        match served.weight {
            Weight::Minor => self.book.minor += 1,
            Weight::Major => self.book.major += 1,
        }
        self.threads.insert(served.tid);
        let latency = self.pair(served);
        let (area, state) = self.surroundings(served);
        let kind = FaultKind::of(served, area.as_ref(), state, &self.conditions);
        if kind == FaultKind::Page && self.folio_is_missing(served) {
            self.book.folios_missed += 1;
        }
        let tally = self.kinds.entry(kind).or_default();
        tally.faults += 1;
        if let Some(latency) = latency {
            tally.latencies.add(latency);
        }
        let time_ns = latency.unwrap_or(0);
        let sums = self.sums(area.as_ref());
        sums.faults += 1;
        sums.time_ns += time_ns;
        let chain = self.chain(served, time_ns);
        self.shapes(served, kind, area.as_ref(), state, time_ns, chain);
        self.remember(served);
    }

    fn sums(&mut self, area: Option<&Area>) -> &mut Sums {
        self.mappings
            .resize_with(self.processes.mappings.len(), Sums::default);
        area.and_then(|area| self.mappings.get_mut(area.tally))
            .unwrap_or(&mut self.elsewhere)
    }

    /// Returns true if the folio size should have been reported and is missing.
    fn folio_is_missing(&self, served: &Served) -> bool {
        let asked = !self.conditions.folio_sizes.is_empty() && self.conditions.folios.is_yes();
        asked && served.folio_bytes.is_none()
    }

    /// Returns the latency, if the start was seen.
    fn pair(&mut self, served: &Served) -> Option<u64> {
        let (begun_ns, address) = self.begun.remove(&served.tid)?;
        if address != served.address {
            self.book.unserved += 1;
            return None;
        }
        self.book.paired += 1;
        Some(served.time_ns.saturating_sub(begun_ns))
    }

    fn surroundings(&self, served: &Served) -> (Option<Area>, PageState) {
        let Some(space) = self.processes.space(served.pid) else {
            return (None, PageState::default());
        };
        let area = space.area(served.address).cloned();
        (area, space.state(served.address, self.processes.units))
    }

    /// Returns the index of the call chain, if it was sampled.
    fn chain(&mut self, served: &Served, time_ns: u64) -> Option<usize> {
        if served.stands_for == 0 {
            return None;
        }
        self.book.chains += 1;
        let weight = served.stands_for;
        let chain = self.processes.ran(served.pid, &served.stack, weight);
        let time_ns = time_ns.saturating_mul(weight);
        self.processes.code.add_time(chain, time_ns);
        Some(chain)
    }

    fn shapes(
        &mut self,
        served: &Served,
        kind: FaultKind,
        area: Option<&Area>,
        state: PageState,
        time_ns: u64,
        chain: Option<usize>,
    ) {
        let again = matches!(kind, FaultKind::Again | FaultKind::AfterZero);
        // If zero pages are known, any other earlier page was given back.
        let after_read = state.zero || !self.conditions.physical.is_yes();
        if after_read && (again || kind == FaultKind::Huge && state.seen) {
            let doubles = &mut self.counts.doubles;
            doubles.faults += 1;
            doubles.certain += u64::from(state.zero);
            doubles.time_ns += time_ns;
            if let Some(chain) = chain {
                *doubles.by_chain.entry(chain).or_default() += served.stands_for;
            }
        }
        if again && state.by_huge {
            self.counts.broken_up += 1;
        }
        if kind == FaultKind::Copy {
            self.counts.copy(served.pid, served.time_ns, time_ns);
        }
        let block_bytes = self.processes.units.block_bytes;
        let block = served.address / block_bytes;
        let fits = area.is_some_and(|area| area.covers(block * block_bytes, block_bytes));
        if kind == FaultKind::Page && fits && self.conditions.pmd_bytes.is_some() {
            self.counts.small(served.pid, block, time_ns);
        }
    }

    fn remember(&mut self, served: &Served) {
        let units = self.processes.units;
        let zero = served.physical == Some(0);
        let space = self.processes.space_mut(served.pid);
        space.touch(served.address, served.bytes(units.page_bytes), zero, units);
    }
}
