use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::event::{Closing, Conditions, Event, Map, Served, Sharing, Weight};
use super::histogram::Latencies;
use super::kind::Kind;
use super::shape::Counts;
use super::space::{Area, PageState, Space, Units};
use super::stacks::Stacks;

/// Adds events up as they come, in order of time. It holds no fault for longer than it takes to
/// pair it; what grows with the run is a bit or three for each page, and each call chain once.
#[derive(Debug)]
pub struct Analysis {
    pub(super) conditions: Conditions,
    pub(super) closing: Option<Closing>,
    pub(super) book: Book,
    pub(super) kinds: BTreeMap<Kind, Tally>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) stacks: Stacks,
    pub(super) counts: Counts,
    units: Units,
    spaces: HashMap<u32, Space>,
    programs: HashMap<u32, String>,
    /// Faults that have begun, by thread: when, and at which address.
    begun: HashMap<u32, (u64, u64)>,
    pub(super) threads: HashSet<u32>,
}

/// Faults and, where they could be paired, how long they took.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) faults: u64,
    pub(super) latencies: Latencies,
}

/// Faults of one mapping.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) name: String,
    pub(super) anonymous: bool,
    pub(super) sharing: Sharing,
    pub(super) faults: u64,
    pub(super) time_ns: u64,
}

/// What came, event by event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Book {
    pub(super) starts: u64,
    pub(super) minor: u64,
    pub(super) major: u64,
    pub(super) paired: u64,
    /// Begun, and never served: a signal, or the end was lost.
    pub(super) unserved: u64,
    pub(super) lost: u64,
    /// Faults whose call chain was taken.
    pub(super) chains: u64,
    /// Pages whose folio was gone before it could be asked for.
    pub(super) folios_missed: u64,
}

/// The place in [`Analysis::mappings`] of faults outside of every known mapping.
const NOWHERE: usize = 0;

impl Analysis {
    /// An analysis of what was watched under these conditions.
    #[must_use]
    pub fn new(conditions: Conditions) -> Self {
        let page_bytes = conditions.page_bytes.max(1);
        let block_bytes = conditions.pmd_bytes.unwrap_or(page_bytes * 512);
        Self {
            units: Units {
                page_bytes,
                block_bytes: block_bytes.max(page_bytes),
            },
            conditions,
            closing: None,
            book: Book::default(),
            kinds: BTreeMap::new(),
            mappings: vec![Mapping::nowhere()],
            stacks: Stacks::default(),
            counts: Counts::default(),
            spaces: HashMap::new(),
            programs: HashMap::new(),
            begun: HashMap::new(),
            threads: HashSet::new(),
        }
    }

    /// Takes the next event in.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Begin(_) => {}
            Event::Map(map) => self.map(map),
            Event::Exec { pid, name, .. } => self.exec(*pid, name),
            Event::Heap { pid, address, .. } => {
                self.spaces.entry(*pid).or_default().heap = Some(*address);
            }
            Event::Fork { pid, parent, .. } => self.fork(*pid, *parent),
            Event::Exit { pid, tid, .. } => self.exit(*pid, *tid),
            Event::Start {
                time_ns,
                tid,
                address,
                ..
            } => self.start(*time_ns, *tid, *address),
            Event::End(served) => self.end(served),
            Event::Lost { count } => self.book.lost += count,
            Event::Symbol {
                file,
                offset,
                frames,
            } => self.stacks.name(file, *offset, frames),
            Event::Closing(closing) => self.closing = Some((**closing).clone()),
        }
    }

    /// Places in files that call chains went through and that have no name yet.
    #[must_use]
    pub fn nameless(&self) -> BTreeMap<String, BTreeSet<u64>> {
        self.stacks.nameless()
    }

    fn map(&mut self, map: &Map) {
        const EXECUTABLE: u32 = 4;
        if map.protection & EXECUTABLE != 0 {
            self.stacks.forget(map.pid);
        }
        let space = self.spaces.entry(map.pid).or_default();
        let mappings = &mut self.mappings;
        let mut map = map.clone();
        if space.heap == Some(map.start) && map.name == "//anon" {
            "[heap]".clone_into(&mut map.name);
        }
        space.map(&map, self.units, || {
            mappings.push(Mapping::of(&map));
            mappings.len() - 1
        });
        if let Some(area) = space.area(map.start) {
            let mapping = &mut mappings[area.tally];
            let shared = area.sharing == Sharing::Shared && area.is_shared_memory();
            mapping.anonymous = shared || area.is_anonymous();
            mapping.start = mapping.start.min(map.start);
            mapping.end = mapping.end.max(map.end);
        }
    }

    fn exec(&mut self, pid: u32, name: &str) {
        self.spaces.remove(&pid);
        self.stacks.forget(pid);
        self.programs.insert(pid, name.to_owned());
    }

    fn fork(&mut self, pid: u32, parent: u32) {
        if pid == parent {
            return;
        }
        if let Some(space) = self.spaces.get_mut(&parent) {
            let child = space.fork();
            self.spaces.insert(pid, child);
        }
        if let Some(program) = self.programs.get(&parent).cloned() {
            self.programs.insert(pid, program);
        }
        self.stacks.forget(pid);
        self.counts.fork(parent, pid);
    }

    fn exit(&mut self, pid: u32, tid: u32) {
        if self.begun.remove(&tid).is_some() {
            self.book.unserved += 1;
        }
        // The first thread may end before the others; then its space comes again with the next
        // mapping only. That is rare, and the memory of dead processes is not.
        if pid == tid {
            self.spaces.remove(&pid);
            self.stacks.forget(pid);
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
        let kind = Kind::of(served, area.as_ref(), state, &self.conditions);
        if kind == Kind::Page && self.folio_is_missing(served) {
            self.book.folios_missed += 1;
        }
        let tally = self.kinds.entry(kind).or_default();
        tally.faults += 1;
        if let Some(latency) = latency {
            tally.latencies.add(latency);
        }
        let time_ns = latency.unwrap_or(0);
        let mapping = &mut self.mappings[area.as_ref().map_or(NOWHERE, |area| area.tally)];
        mapping.faults += 1;
        mapping.time_ns += time_ns;
        let chain = self.chain(served, time_ns);
        self.shapes(served, kind, area.as_ref(), state, time_ns, chain);
        self.remember(served);
    }

    /// Whether a folio should have been told and was not.
    fn folio_is_missing(&self, served: &Served) -> bool {
        let asked = !self.conditions.folio_sizes.is_empty() && self.conditions.folios.is_yes();
        asked && served.folio_bytes.is_none()
    }

    /// How long it took, where its beginning was seen.
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
        let Some(space) = self.spaces.get(&served.pid) else {
            return (None, PageState::default());
        };
        let area = space.area(served.address).cloned();
        (area, space.state(served.address, self.units))
    }

    /// The number of its call chain, where that was taken.
    fn chain(&mut self, served: &Served, time_ns: u64) -> Option<usize> {
        if served.stands_for == 0 {
            return None;
        }
        self.book.chains += 1;
        let program = self.programs.get(&served.pid);
        let program = program.map_or("[program]", String::as_str);
        let space = self.spaces.get(&served.pid);
        let weight = served.stands_for;
        let stack = &served.stack;
        let chain = self.stacks.add(served.pid, program, stack, space, weight);
        let time_ns = time_ns.saturating_mul(weight);
        self.stacks.add_time(chain, time_ns);
        Some(chain)
    }

    fn shapes(
        &mut self,
        served: &Served,
        kind: Kind,
        area: Option<&Area>,
        state: PageState,
        time_ns: u64,
        chain: Option<usize>,
    ) {
        let again = matches!(kind, Kind::Again | Kind::AfterZero);
        // Where zero pages are known, anything else that was there before was given back.
        let after_read = state.zero || !self.conditions.physical.is_yes();
        if after_read && (again || kind == Kind::Huge && state.seen) {
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
        if kind == Kind::Copy {
            self.counts.copy(served.pid, served.time_ns, time_ns);
        }
        let block = served.address / self.units.block_bytes;
        let start = block * self.units.block_bytes;
        let fits = area.is_some_and(|area| area.covers(start, self.units.block_bytes));
        if kind == Kind::Page && fits && self.conditions.pmd_bytes.is_some() {
            self.counts.small(served.pid, block, time_ns);
        }
    }

    fn remember(&mut self, served: &Served) {
        let bytes = served.bytes(self.units.page_bytes);
        let zero = served.physical == Some(0);
        let space = self.spaces.entry(served.pid).or_default();
        space.touch(served.address, bytes, zero, self.units);
    }
}

impl Mapping {
    fn nowhere() -> Self {
        Self {
            pid: 0,
            start: 0,
            end: 0,
            name: String::new(),
            anonymous: false,
            sharing: Sharing::Private,
            faults: 0,
            time_ns: 0,
        }
    }

    fn of(map: &Map) -> Self {
        Self {
            pid: map.pid,
            start: map.start,
            end: map.end,
            name: map.name.clone(),
            sharing: map.sharing,
            ..Self::nowhere()
        }
    }
}
