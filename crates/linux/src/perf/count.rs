//! Groups that take turns on one target.
//!
//! There are fewer counters than events worth counting. The kernel would share them out by
//! itself and stretch what it saw; here one group counts at a time, each says for how long, and
//! nothing is stretched.

use std::fs::File;
use std::io;
use std::sync::Arc;

use hugewise_model::observation::Missing;
use hugewise_model::stat::{Count, Mode, Pmu, Refused, Tally, add_counts};

use super::fit::{Chosen, Permitted, missing};
use super::open::{Code, Group, Observed, PerfOpen, Raws, Request, Start, Switch};
use crate::probe::Grants;

/// What is going to be counted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In which modes.
    pub permitted: Permitted,
    /// The groups of each source.
    pub sources: Vec<Planned>,
    /// What was wanted and cannot be counted.
    pub refused: Vec<Refused>,
}

/// The groups of one source.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The source.
    pub name: String,
    /// The table of its events.
    pub family: Option<String>,
    /// Its groups, in the order of their turns.
    pub groups: Vec<Vec<Chosen>>,
}

impl Plan {
    /// How many turns it takes until every group has counted.
    #[must_use]
    pub fn turns(&self) -> usize {
        let groups = self.sources.iter().map(|source| source.groups.len());
        groups.max().unwrap_or(0)
    }

    /// Whether a group counts in a turn. Of a source with fewer groups than another, each has several
    /// turns in a round: its processors never idle while others are counted.
    fn has_turn(&self, set: &Set, turn: usize) -> bool {
        let groups = self.sources[set.source].groups.len().max(1);
        set.group == turn % groups
    }

    /// The sources as a recording names them.
    #[must_use]
    pub fn pmus(&self) -> Vec<Pmu> {
        let kinds = |group: &Vec<Chosen>| group.iter().map(|event| event.kind.clone()).collect();
        let pmu = |source: &Planned| Pmu {
            name: source.name.clone(),
            family: source.family.clone(),
            groups: source.groups.iter().map(kinds).collect(),
        };
        self.sources.iter().map(pmu).collect()
    }

    /// The same with only one of its groups of each source: what one trial can count.
    #[must_use]
    pub fn only(&self, turn: usize) -> Self {
        let mut plan = self.clone();
        for source in &mut plan.sources {
            let groups = source.groups.len().max(1);
            source.groups = source
                .groups
                .get(turn % groups)
                .cloned()
                .into_iter()
                .collect();
        }
        plan
    }
}

/// Whom the groups observe.
#[derive(Clone, Debug)]
pub enum Target {
    /// Threads that run, and what they will start.
    Tasks(Vec<u32>),
    /// A process that is about to become a command; counting begins at its exec.
    AtExec(u32),
    /// Processors, whatever runs there.
    Cpus(Vec<u32>),
    /// A cgroup, on these processors.
    Cgroup(Arc<File>, Vec<u32>),
}

/// Groups that take turns.
pub struct Counters {
    plan: Plan,
    sets: Vec<Set>,
    turn: usize,
    /// What was counted since it was last collected.
    pending: Vec<Count>,
}

impl std::fmt::Debug for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counters")
            .field("plan", &self.plan)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

/// One group of one source, on every thread or processor.
struct Set {
    source: usize,
    group: usize,
    members: Vec<Member>,
}

struct Member {
    open: Box<dyn Group>,
    last: Vec<Raws>,
}

impl Counters {
    /// Opens every group on the target; the first has its turn.
    ///
    /// # Errors
    /// The target is gone, or it may not be observed.
    pub fn attach(
        opener: &dyn PerfOpen,
        plan: Plan,
        target: &Target,
        grants: &Grants,
    ) -> Result<Self, Missing> {
        let mut sets = Vec::new();
        for (source, planned) in plan.sources.iter().enumerate() {
            for (group, events) in planned.groups.iter().enumerate() {
                let members = open_set(opener, &plan.permitted, events, target, group, grants)?;
                sets.push(Set {
                    source,
                    group,
                    members,
                });
            }
        }
        if sets.iter().all(|set| set.members.is_empty()) && !sets.is_empty() {
            return Err(Missing::TooShort);
        }
        let mut counters = Self {
            plan,
            sets,
            turn: 0,
            pending: Vec::new(),
        };
        if !matches!(target, Target::AtExec(_)) {
            let switched = counters.switch(Switch::On);
            switched.map_err(|error| unreadable(&error))?;
        }
        Ok(counters)
    }

    /// What is counted.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Gives the counters to the next group.
    pub fn next_turn(&mut self) {
        if self.plan.turns() < 2 {
            return;
        }
        // What cannot be switched or read says so when it is collected.
        let _ = self.switch(Switch::Off);
        self.read();
        self.turn = (self.turn + 1) % self.plan.turns();
        let _ = self.switch(Switch::On);
    }

    /// What was counted since the last call. A group whose turn did not come says so.
    pub fn collect(&mut self) -> Vec<Count> {
        self.read();
        let mut counts = std::mem::take(&mut self.pending);
        for set in &self.sets {
            let planned = &self.plan.sources[set.source];
            let known = |count: &&Count| count.pmu == planned.name && same(count, set);
            if counts.iter().find(known).is_none() {
                let waiting = Tally::Missing {
                    missing: Missing::NotItsTurn,
                };
                let events = planned.groups[set.group].iter();
                counts.extend(events.map(|event| count(planned, set, event, waiting.clone())));
            }
        }
        counts.sort_by(|a, b| (&a.pmu, a.group).cmp(&(&b.pmu, b.group)));
        counts
    }

    fn switch(&mut self, to: Switch) -> io::Result<()> {
        let (plan, turn) = (&self.plan, self.turn);
        let sets = self.sets.iter_mut().filter(|set| plan.has_turn(set, turn));
        for member in sets.flat_map(|set| &mut set.members) {
            member.open.switch(to)?;
        }
        Ok(())
    }

    /// Takes the growth of the groups whose turn it is.
    fn read(&mut self) {
        let (plan, turn) = (&self.plan, self.turn);
        for set in self.sets.iter_mut().filter(|set| plan.has_turn(set, turn)) {
            let planned = &plan.sources[set.source];
            let events = &planned.groups[set.group];
            let grown: Vec<Vec<Tally>> = set.members.iter_mut().map(|m| m.grown(events)).collect();
            for (index, event) in events.iter().enumerate() {
                let tallies = grown.iter().map(|tallies| tallies[index].clone());
                if let Some(tally) = tallies.reduce(|sum, tally| sum.plus(&tally)) {
                    let more = count(planned, set, event, tally);
                    add_counts(&mut self.pending, &[more]);
                }
            }
        }
    }
}

fn same(count: &Count, set: &Set) -> bool {
    usize::try_from(count.group) == Ok(set.group)
}

fn count(planned: &Planned, set: &Set, event: &Chosen, tally: Tally) -> Count {
    Count {
        kind: event.kind.clone(),
        event: event.event.clone(),
        pmu: planned.name.clone(),
        group: u32::try_from(set.group).unwrap_or(u32::MAX),
        tally,
    }
}

impl Member {
    /// How much each event has grown since it was last read.
    fn grown(&mut self, events: &[Chosen]) -> Vec<Tally> {
        let now = match self.open.read() {
            Ok(now) => now,
            Err(error) => {
                let missing = unreadable(&error);
                return vec![Tally::Missing { missing }; events.len()];
            }
        };
        let before = std::mem::replace(&mut self.last, now.clone());
        let pairs = now.iter().zip(&before).zip(events);
        pairs
            .map(|((now, before), event)| growth(*before, *now, &event.event))
            .collect()
    }
}

/// The growth of one counter. One that goes backwards is a fault of the kernel or of the
/// hypervisor, and what it says is nothing.
fn growth(before: Raws, now: Raws, event: &str) -> Tally {
    let parts = (
        now.value.checked_sub(before.value),
        now.enabled_ns.checked_sub(before.enabled_ns),
        now.running_ns.checked_sub(before.running_ns),
    );
    match parts {
        (Some(value), Some(enabled_ns), Some(running_ns)) => Tally::Counted {
            value,
            enabled_ns,
            running_ns,
        },
        _ => Tally::Missing {
            missing: Missing::Unreadable {
                error: format!(
                    "{event} went backwards, from {} to {}",
                    before.value, now.value
                ),
            },
        },
    }
}

fn unreadable(error: &io::Error) -> Missing {
    Missing::Unreadable {
        error: format!("counters: {error}"),
    }
}

fn open_set(
    opener: &dyn PerfOpen,
    permitted: &Permitted,
    events: &[Chosen],
    target: &Target,
    group: usize,
    grants: &Grants,
) -> Result<Vec<Member>, Missing> {
    let codes: Vec<Code> = events.iter().map(|event| event.code).collect();
    let mut members = Vec::new();
    for (observed, start) in observed(target, group) {
        let request = Request {
            events: &codes,
            observed,
            mode: permitted.mode,
            guests: permitted.guests,
            start,
        };
        match opener.open(&request) {
            Ok(open) => members.push(Member {
                open,
                last: vec![Raws::default(); codes.len()],
            }),
            Err(refusal) if is_elsewhere(&refusal.error, target) => {}
            Err(refusal) => return Err(refused(&refusal.error, permitted.mode, target, grants)),
        }
    }
    Ok(members)
}

fn observed(target: &Target, group: usize) -> Vec<(Observed, Start)> {
    match target {
        Target::Tasks(threads) => threads
            .iter()
            .map(|&thread| (Observed::Task(thread), Start::Switched))
            .collect(),
        Target::AtExec(pid) => {
            let start = if group == 0 {
                Start::AtExec
            } else {
                Start::Switched
            };
            vec![(Observed::Task(*pid), start)]
        }
        Target::Cpus(cpus) => cpus
            .iter()
            .map(|&cpu| (Observed::Cpu(cpu), Start::Switched))
            .collect(),
        Target::Cgroup(folder, cpus) => cpus
            .iter()
            .map(|&cpu| (Observed::Cgroup(Arc::clone(folder), cpu), Start::Switched))
            .collect(),
    }
}

/// A thread has ended since it was listed, a processor has gone, or belongs to another source.
fn is_elsewhere(error: &io::Error, target: &Target) -> bool {
    match target {
        Target::Tasks(_) | Target::AtExec(_) => error.raw_os_error() == Some(libc::ESRCH),
        Target::Cpus(_) | Target::Cgroup(..) => {
            matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENOENT))
        }
    }
}

fn refused(error: &io::Error, mode: Mode, target: &Target, grants: &Grants) -> Missing {
    let denied = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    match target {
        Target::Cpus(_) | Target::Cgroup(..) if denied => Missing::NotPermitted {
            grant: grants.perf_machine(),
        },
        _ => missing(error, mode, grants),
    }
}

#[cfg(test)]
mod tests {
    use super::super::open::{Guests, HARDWARE};
    use super::super::table::Table;
    use super::*;

    fn event(kind: &str, config: u64) -> Chosen {
        Chosen {
            kind: kind.to_owned(),
            event: kind.to_uppercase(),
            code: Code {
                source: HARDWARE,
                config,
            },
        }
    }

    fn plan(groups: Vec<Vec<Chosen>>) -> Plan {
        Plan {
            permitted: Permitted {
                mode: Mode::UserAndKernel,
                guests: Guests::Excluded,
            },
            sources: vec![Planned {
                name: "cpu".to_owned(),
                family: None,
                groups,
            }],
            refused: Vec::new(),
        }
    }

    fn attach(
        table: &Table,
        groups: Vec<Vec<Chosen>>,
        target: &Target,
    ) -> Result<Counters, Missing> {
        Counters::attach(table, plan(groups), target, &Grants::unknown())
    }

    fn value(counts: &[Count], kind: &str, group: u32) -> Result<u64, Missing> {
        let found = counts.iter().find(|c| c.kind == kind && c.group == group);
        match &found.unwrap().tally {
            Tally::Counted { value, .. } => Ok(*value),
            Tally::Missing { missing } => Err(missing.clone()),
        }
    }

    fn two_groups() -> Vec<Vec<Chosen>> {
        vec![
            vec![event("cycles", 0), event("a", 1)],
            vec![event("cycles", 0), event("b", 2)],
        ]
    }

    #[test]
    fn only_one_group_counts_at_a_time() {
        let table = Table::with_counters(4);
        let mut counters = attach(&table, two_groups(), &Target::Tasks(vec![1])).unwrap();
        let counts = counters.collect();
        assert_eq!(value(&counts, "a", 0), Ok(1000));
        assert_eq!(value(&counts, "b", 1), Err(Missing::NotItsTurn));
        counters.next_turn();
        let counts = counters.collect();
        // What the first group saw before it was switched off is not lost.
        assert_eq!(value(&counts, "a", 0), Ok(1000));
        assert_eq!(value(&counts, "b", 1), Ok(1000));
        let leader = event("cycles", 0).code;
        assert_eq!(
            *table.log.borrow(),
            [
                (leader, Switch::On),
                (leader, Switch::Off),
                (leader, Switch::On)
            ]
        );
    }

    /// Small cores have fewer events than large ones, and so fewer groups.
    #[test]
    fn a_source_with_one_group_counts_in_every_turn() {
        let table = Table::with_counters(4);
        let mut plan = plan(two_groups());
        plan.sources.push(Planned {
            name: "cpu_atom".to_owned(),
            family: None,
            groups: vec![vec![event("cycles", 0), event("small", 3)]],
        });
        let task = Target::Tasks(vec![1]);
        let mut counters = Counters::attach(&table, plan, &task, &Grants::unknown()).unwrap();
        counters.next_turn();
        counters.collect();
        let counts = counters.collect();
        assert_eq!(value(&counts, "a", 0), Err(Missing::NotItsTurn));
        assert_eq!(value(&counts, "b", 1), Ok(1000));
        assert_eq!(value(&counts, "small", 0), Ok(1000));
    }

    #[test]
    fn threads_are_summed_and_those_that_ended_are_left_out() {
        let table = Table {
            ended: [2].into(),
            ..Table::with_counters(4)
        };
        let group = vec![vec![event("cycles", 0)]];
        let mut counters = attach(&table, group.clone(), &Target::Tasks(vec![1, 2, 3])).unwrap();
        assert_eq!(value(&counters.collect(), "cycles", 0), Ok(2000));
        let gone = attach(&table, group, &Target::Tasks(vec![2])).err();
        assert_eq!(gone, Some(Missing::TooShort));
    }

    #[test]
    fn a_counter_that_goes_backwards_says_nothing() {
        // Its times go on all the while: only the value gives it away.
        let says = |value, ns| Raws {
            value,
            enabled_ns: ns,
            running_ns: ns,
        };
        let code = event("cycles", 0).code;
        let table = Table {
            says: [(code, vec![says(500, 500), says(400, 1000), says(450, 1500)])].into(),
            ..Table::with_counters(4)
        };
        let group = vec![vec![event("cycles", 0)]];
        let mut counters = attach(&table, group, &Target::Cpus(vec![0])).unwrap();
        assert_eq!(value(&counters.collect(), "cycles", 0), Ok(500));
        let why = value(&counters.collect(), "cycles", 0).unwrap_err();
        assert_eq!(
            why.to_string(),
            "unreadable: CYCLES went backwards, from 500 to 400"
        );
        assert_eq!(value(&counters.collect(), "cycles", 0), Ok(50));
    }

    #[test]
    fn what_was_never_on_the_hardware_is_told_by_its_times() {
        let table = Table {
            fixed: false,
            reserved: 4,
            ..Table::with_counters(4)
        };
        let group = vec![vec![event("cycles", 0), event("instructions", 1)]];
        let mut counters = attach(&table, group, &Target::Cpus(vec![0])).unwrap();
        let counts = counters.collect();
        let derived = hugewise_model::stat::derive(&counts, None);
        let missing = hugewise_model::observation::Reading::missing(Missing::NeverScheduled);
        assert_eq!(derived["instructions_per_cycle"], missing);
    }

    #[test]
    fn a_refused_machine_names_its_own_grant() {
        let table = Table {
            kernel_permitted: false,
            ..Table::with_counters(4)
        };
        let group = vec![vec![event("cycles", 0)]];
        let why = attach(&table, group, &Target::Cpus(vec![0])).err().unwrap();
        assert!(matches!(&why, Missing::NotPermitted { grant } if grant.contains("CAP_PERFMON")));
    }

    #[test]
    fn a_trial_counts_one_group_and_the_next_one_another() {
        let plan = plan(two_groups());
        assert_eq!(plan.turns(), 2);
        let kinds = |turn| plan.only(turn).pmus()[0].groups.clone();
        assert_eq!(kinds(0), [["cycles", "a"]]);
        assert_eq!(kinds(3), [["cycles", "b"]]);
    }
}
