//! An event stream as a test writes it, and its summary.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::faults::{
    Accounted, Analysis, Closing, Conditions, Counted, Event, FaultKind, FaultSummary, Known, Map,
    Modes, Served, Sharing, Weight,
};

pub const PAGE: u64 = 4096;
pub const HUGE: u64 = 512 * PAGE;
/// An address at a huge page boundary.
pub const BASE: u64 = 0x7f00_0000_0000;

pub fn conditions() -> Conditions {
    Conditions {
        hugewise: "0.0.0".to_owned(),
        subject: "test".to_owned(),
        started_unix_ms: 0,
        kernel: "6.18".to_owned(),
        hypervisor: Some("kvm".to_owned()),
        page_bytes: PAGE,
        pmd_bytes: Some(HUGE),
        folio_sizes: Vec::new(),
        modes: Modes::All,
        page_size: Known::Yes,
        physical: Known::Yes,
        huge_zero: Known::Yes,
        folios: Known::Yes,
        every: 1,
    }
}

pub fn unprivileged() -> Conditions {
    let not_permitted = Known::No(Missing::not_permitted("CAP_PERFMON"));
    Conditions {
        modes: Modes::User,
        physical: not_permitted.clone(),
        huge_zero: not_permitted,
        ..conditions()
    }
}

/// The end of a fault of a small page by the only thread of a process.
pub fn served(tid: u32, address: u64, time_ns: u64) -> Served {
    Served {
        time_ns,
        pid: tid,
        tid,
        address,
        weight: Weight::Minor,
        page_bytes: Some(PAGE),
        physical: Some(1),
        folio_bytes: None,
        stack: Vec::new(),
        stands_for: 1,
    }
}

/// A script of events, with a clock that advances automatically.
pub struct Script {
    conditions: Conditions,
    now_ns: u64,
    pub events: Vec<Event>,
}

impl Script {
    pub fn new(conditions: Conditions) -> Self {
        Self {
            conditions,
            now_ns: 0,
            events: Vec::new(),
        }
    }

    pub fn tick(&mut self) -> u64 {
        self.now_ns += 1000;
        self.now_ns
    }

    pub fn map_as(
        &mut self,
        name: &str,
        sharing: Sharing,
        start: u64,
        bytes: u64,
        protection: u32,
    ) {
        let time_ns = self.tick();
        self.events.push(Event::Map(Map {
            time_ns,
            pid: 1,
            start,
            end: start + bytes,
            offset: 0,
            protection,
            sharing,
            name: name.to_owned(),
        }));
    }

    pub fn map(&mut self, start: u64, bytes: u64) {
        self.map_as("//anon", Sharing::Private, start, bytes, 3);
    }

    /// A fault of `pid` whose latency is `took_ns`.
    pub fn fault(&mut self, pid: u32, address: u64, page_bytes: u64, physical: u64, took_ns: u64) {
        let time_ns = self.tick();
        self.events.push(Event::Start {
            time_ns,
            pid,
            tid: pid,
            address,
        });
        let physical = self.conditions.physical.is_yes().then_some(physical);
        let mut end = served(pid, address, time_ns + took_ns);
        end.page_bytes = Some(page_bytes);
        end.physical = physical;
        end.stack = vec![0x40_1000, 0x40_2000];
        self.events.push(Event::End(Box::new(end)));
    }

    /// The most recently served fault.
    pub fn last(&mut self) -> &mut Served {
        match self.events.last_mut() {
            Some(Event::End(served)) => served,
            other => panic!("{other:?}"),
        }
    }

    pub fn small(&mut self, address: u64) {
        self.fault(1, address, PAGE, 0x1000, 100);
    }

    pub fn fork(&mut self, parent: u32, pid: u32) {
        let time_ns = self.tick();
        self.events.push(Event::Fork {
            time_ns,
            pid,
            parent,
            tid: pid,
        });
    }

    pub fn exec(&mut self, pid: u32, name: &str) {
        let time_ns = self.tick();
        self.events.push(Event::Exec {
            time_ns,
            pid,
            name: name.to_owned(),
        });
    }

    pub fn exit(&mut self, pid: u32) {
        let time_ns = self.tick();
        self.events.push(Event::Exit {
            time_ns,
            pid,
            tid: pid,
        });
    }

    pub fn analysis(&self) -> Analysis {
        let mut analysis = Analysis::new(self.conditions.clone());
        self.events.iter().for_each(|event| analysis.push(event));
        analysis
    }

    pub fn summary(&self) -> FaultSummary {
        let ends = self
            .events
            .iter()
            .filter(|event| matches!(event, Event::End(_)));
        let minor = ends.count() as u64;
        self.closed(minor, 0, minor)
    }

    /// The summary with these numbers of counted, lost and accounted faults.
    pub fn closed(&self, counted: u64, lost: u64, accounted: u64) -> FaultSummary {
        let counted = Counted {
            starts: counted,
            minor: counted,
            major: 0,
            lost: Some(lost),
        };
        self.counted(counted, accounted)
    }

    /// The summary with these counters.
    pub fn counted(&self, counted: Counted, accounted: u64) -> FaultSummary {
        let mut analysis = self.analysis();
        analysis.push(&Event::Closing(Box::new(Closing {
            wall_ns: 1_000_000,
            outcome: Some(Outcome::Exited { code: 0 }),
            outlived: 0,
            counted,
            accounted: Ok(Accounted {
                minor: accounted,
                major: 0,
            }),
            system_ns: Ok(1000),
            own_cpu_ns: 1000,
        })));
        analysis.summary().expect("a closing")
    }

    pub fn kinds(&self) -> Vec<(FaultKind, u64)> {
        let mut kinds: Vec<(FaultKind, u64)> = self
            .summary()
            .kinds
            .iter()
            .map(|row| (row.kind, row.row.faults))
            .collect();
        kinds.sort();
        kinds
    }
}
