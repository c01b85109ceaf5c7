use std::collections::{BTreeMap, BTreeSet};

use super::eligibility::Eligibility;
use super::event::{AccessKind, Closing, Conditions, Event, Miss, MissEvent};
use hugewise_observe::faults::processes::Processes;

/// Counts misses as they come, in order of time. Its size grows with mappings and code addresses,
/// not with misses.
#[derive(Debug)]
pub struct Analysis {
    pub(super) conditions: Conditions,
    pub(super) closing: Option<Closing>,
    pub(super) processes: Processes,
    pub(super) mappings: BTreeMap<Whose, Tally>,
    pub(super) standings: BTreeMap<Eligibility, u64>,
    /// By page size; `None` if unknown.
    pub(super) pages: BTreeMap<Option<u64>, u64>,
    pub(super) misses: u64,
    pub(super) stores: u64,
    /// Translation latencies in cycles, with the number of each.
    pub(super) refills: BTreeMap<u64, u64>,
    /// Instruction misses in kernel mode.
    pub(super) kernel_code: u64,
}

/// Misses in one mapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) misses: u64,
    pub(super) huge: u64,
    pub(super) could: u64,
}

/// The owner of the memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    /// A mapping, by its number.
    Mapping(usize),
    /// The kernel's.
    Kernel,
    /// Outside every known mapping.
    Unknown,
}

impl Analysis {
    /// Creates an empty analysis of samples under these conditions.
    #[must_use]
    pub fn new(conditions: Conditions) -> Self {
        Self {
            processes: Processes::new(conditions.page_bytes, conditions.pmd_bytes),
            conditions,
            closing: None,
            mappings: BTreeMap::new(),
            standings: BTreeMap::new(),
            pages: BTreeMap::new(),
            misses: 0,
            stores: 0,
            refills: BTreeMap::new(),
            kernel_code: 0,
        }
    }

    /// Adds the next event.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Misses(MissEvent::Sampling(_)) => {}
            Event::Misses(MissEvent::Miss(miss)) => self.miss(miss),
            Event::Misses(MissEvent::Sampled(closing)) => self.closing = Some((**closing).clone()),
            Event::Space(event) => self.processes.push(event),
        }
    }

    /// Code addresses of misses without a symbol yet, by file.
    #[must_use]
    pub fn nameless(&self) -> BTreeMap<String, BTreeSet<u64>> {
        self.processes.code.nameless()
    }

    fn miss(&mut self, miss: &Miss) {
        self.misses += 1;
        self.stores += u64::from(miss.access == AccessKind::Store);
        let area = self.processes.area(miss.pid, miss.address);
        let eligibility = Eligibility::of(miss, area, &self.conditions);
        let whose = match (area, eligibility) {
            (Some(area), _) => Whose::Mapping(area.tally),
            (None, Eligibility::Kernel) => Whose::Kernel,
            (None, _) => Whose::Unknown,
        };
        let tally = self.mappings.entry(whose).or_default();
        tally.misses += 1;
        tally.huge += u64::from(eligibility == Eligibility::Huge);
        tally.could += u64::from(eligibility == Eligibility::Eligible);
        *self.standings.entry(eligibility).or_default() += 1;
        *self.pages.entry(miss.page_bytes).or_default() += 1;
        if let Some(cycles) = miss.refill_cycles {
            *self.refills.entry(cycles).or_default() += 1;
        }
        if miss.code >= super::eligibility::UPPER_HALF {
            self.kernel_code += 1;
        } else {
            self.processes.ran(miss.pid, &[miss.code], 1);
        }
    }
}
