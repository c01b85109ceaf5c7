//! Runs the loops of the laboratory under the events of this machine, for their verification.
//!
//! Every event is counted as `run` counts it: one group at a time, on a running process, in user mode. The process waits
//! between two rounds, so a round contains the accesses of its loop and little else.

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_base::verification::Verification;
use hugewise_observe::stat::kind::{KINDS, is_usual};
use hugewise_observe::stat::{Count, Mode, Tally};
use hugewise_observe::verify::decide::{CountedEvent, CountedEvents, Round};
use hugewise_observe::verify::expect::is_testable;
use hugewise_observe::verify::loops::{ACCESSES, LOOPS, Loop};
use hugewise_observe::verify::{Identity, Planned, VerificationResult, verification};

use crate::machine::root::Root;
use crate::observe::stat;
use crate::observe::stat::plan::WantedEvents;
use crate::perf::count::{CountScope, Counters, Plan, SourceGroups};
use crate::perf::events::sources::members;
use crate::perf::fit::Chosen;
use crate::perf::open::{Code, PerfOpen};
use crate::probe::Grants;

mod process;
#[cfg(test)]
mod tests;

pub use process::LaboratoryProgram;

/// The accesses of the rounds of one loop under one group: short and long ones alternate, so that a slow change of the
/// machine meets both.
const ROUNDS: [u64; 6] = [
    ACCESSES,
    2 * ACCESSES,
    ACCESSES,
    2 * ACCESSES,
    ACCESSES,
    2 * ACCESSES,
];

/// Starts loops.
pub trait Laboratory {
    /// Starts a loop on a processor, or on any.
    ///
    /// # Errors
    /// This machine cannot run the loop.
    fn start(&self, one: &Loop, cpu: Option<u32>) -> Result<Box<dyn RunningLoop>, Missing>;
}

/// A loop that waits for its next round.
pub trait RunningLoop {
    /// Its process.
    fn pid(&self) -> u32;

    /// The instructions of one access.
    fn instructions(&self) -> f64;

    /// Makes so many accesses.
    ///
    /// # Errors
    /// The process has ended.
    fn run(&mut self, accesses: u64) -> Result<(), Missing>;
}

/// Plans to count every event that `stat` and `run` use and every testable one.
///
/// # Errors
/// There is nothing to count, or it is not permitted.
pub fn plan(root: &Root, opener: &dyn PerfOpen) -> Result<Plan, Missing> {
    let kinds = KINDS.iter().map(|kind| kind.name);
    let wanted = kinds.filter(|kind| is_usual(kind) || is_testable(kind));
    let wanted = WantedEvents::Named(wanted.map(str::to_owned).collect());
    stat::plan::plan(root, opener, Some(Mode::User), &wanted)
}

/// Counts the events of the plan in all loops.
#[must_use]
pub fn measure(
    root: &Root,
    opener: &dyn PerfOpen,
    laboratory: &dyn Laboratory,
    planned: &Plan,
) -> CountedEvents {
    let mut measurement = Measurement {
        opener,
        laboratory,
        grants: Grants::read(root),
        counted: CountedEvents {
            refused: planned.refused.clone(),
            ..CountedEvents::default()
        },
    };
    let several = planned.sources.len() > 1;
    for source in &planned.sources {
        let cpus = members(root, &source.name);
        let cpu = cpus.first().copied().filter(|_| several);
        for one in LOOPS {
            measurement.in_loop(planned, source, one, cpu);
        }
    }
    measurement.counted
}

/// A measurement in progress.
struct Measurement<'a> {
    opener: &'a dyn PerfOpen,
    laboratory: &'a dyn Laboratory,
    grants: Grants,
    counted: CountedEvents,
}

impl Measurement<'_> {
    /// Counts all groups of a source in one loop. A loop that cannot run, or that ends early, is absent.
    fn in_loop(
        &mut self,
        planned: &Plan,
        source: &SourceGroups,
        one: &'static Loop,
        cpu: Option<u32>,
    ) {
        let ran = self.laboratory.start(one, cpu).and_then(|mut running| {
            self.counted
                .instructions
                .insert(one.name, running.instructions());
            let mut groups = source.groups.iter();
            groups.try_for_each(|group| self.group(planned, source, group, (one, &mut *running)))
        });
        if let Err(missing) = ran {
            self.counted.absent.insert(one.name, missing);
        }
    }

    /// Counts the rounds of one group.
    fn group(
        &mut self,
        planned: &Plan,
        source: &SourceGroups,
        group: &[Chosen],
        (one, running): (&'static Loop, &mut dyn RunningLoop),
    ) -> Result<(), Missing> {
        let only = Plan {
            permitted: planned.permitted,
            sources: vec![SourceGroups {
                groups: vec![group.to_vec()],
                ..source.clone()
            }],
            refused: Vec::new(),
        };
        let target = CountScope::Tasks(vec![running.pid()]);
        let mut counters = match Counters::attach(self.opener, only, &target, &self.grants) {
            Ok(counters) => counters,
            Err(missing) => {
                for event in group {
                    let tally = Tally::Missing {
                        missing: missing.clone(),
                    };
                    self.push(&source.name, event, one, Round { accesses: 0, tally });
                }
                return Ok(());
            }
        };
        for accesses in ROUNDS {
            counters.collect();
            running.run(accesses)?;
            for count in counters.collect() {
                if let Some(event) = group.iter().find(|event| is_of(&count, event)) {
                    let tally = count.tally.clone();
                    self.push(&source.name, event, one, Round { accesses, tally });
                }
            }
        }
        Ok(())
    }

    /// Adds a round. Cycles and instructions are in every group: those of the first one are enough.
    fn push(&mut self, pmu: &str, event: &Chosen, one: &'static Loop, round: Round) {
        let events = &mut self.counted.events;
        let known = events
            .iter()
            .position(|known| known.pmu == pmu && known.kind == event.kind);
        let place = known.unwrap_or_else(|| {
            events.push(CountedEvent {
                pmu: pmu.to_owned(),
                kind: event.kind.clone(),
                event: event.event.clone(),
                code: code(event.code),
                rounds: Default::default(),
            });
            events.len() - 1
        });
        let rounds = events[place].rounds.entry(one.name).or_default();
        if rounds.len() < ROUNDS.len() {
            rounds.push(round);
        }
    }
}

fn is_of(count: &Count, event: &Chosen) -> bool {
    count.kind == event.kind
}

/// The code of an event, as a result keeps it.
fn code(code: Code) -> String {
    format!("{:#x}", code.config)
}

/// The machine, as a result depends on it.
#[must_use]
pub fn identity(root: &Root, host: &Host) -> Identity {
    Identity {
        cpu_model: host.cpu_model.clone(),
        kernel: host.kernel.clone(),
        microcode: root
            .read("proc/cpuinfo")
            .ok()
            .and_then(|content| microcode(&content)),
    }
}

/// Parses the revision of the microcode of the first processor (arch/x86/kernel/cpu/proc.c).
fn microcode(cpuinfo: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(cpuinfo);
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find_map(|(key, value)| (key.trim() == "microcode").then(|| value.trim().to_owned()))
}

/// The identity of an event in a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventIdentity {
    /// The event source.
    pub pmu: String,
    /// The kind of event.
    pub kind: String,
    /// The processor's name for the event.
    pub event: String,
    /// Its code for the kernel.
    pub code: Code,
}

/// The events of a plan.
#[must_use]
pub fn events_of(plan: &Plan) -> Vec<EventIdentity> {
    let events = plan.sources.iter().flat_map(|source| {
        let groups = source.groups.iter().flatten();
        groups.map(|event| EventIdentity {
            pmu: source.name.clone(),
            kind: event.kind.clone(),
            event: event.event.clone(),
            code: event.code,
        })
    });
    events.collect()
}

/// Applies a result to the events of a measurement.
#[must_use]
pub fn standing(
    events: &[EventIdentity],
    result: Option<&VerificationResult>,
    here: &Identity,
) -> Verification {
    let codes: Vec<String> = events.iter().map(|event| code(event.code)).collect();
    let planned = events.iter().zip(&codes);
    let planned = planned
        .map(|(event, code)| -> Planned<'_> { (&event.pmu, &event.kind, &event.event, code) });
    verification(result, here, planned)
}
