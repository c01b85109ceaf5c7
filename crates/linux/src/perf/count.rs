//! Multiplexes groups of counters on one target.
//!
//! There are fewer counters than interesting events. The kernel would multiplex them and extrapolate. Here one group
//! counts at a time, each reports its time, and nothing is extrapolated.

use std::io;

use hugewise_base::missing::Missing;
use hugewise_observe::stat::{Count, Pmu, Refused, Tally, add_counts};

use super::fit::{Chosen, Permitted};
use super::open::{Code, EventGroup, GroupRequest, PerfOpen, RawCount, Switch};
use crate::probe::Grants;
use target::{is_elsewhere, observed, refused};

mod target;

pub use target::CountScope;

/// The plan of a count.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The permitted modes.
    pub permitted: Permitted,
    /// The groups of each source.
    pub sources: Vec<SourceGroups>,
    /// Requested events that cannot be counted.
    pub refused: Vec<Refused>,
}

/// The groups of one source.
#[derive(Clone, Debug)]
pub struct SourceGroups {
    /// The source.
    pub name: String,
    /// The table of its events.
    pub family: Option<String>,
    /// Its groups, in the order of their turns.
    pub groups: Vec<Vec<Chosen>>,
}

impl Plan {
    /// Returns the number of turns until every group has counted.
    #[must_use]
    pub fn turns(&self) -> usize {
        let groups = self.sources.iter().map(|source| source.groups.len());
        groups.max().unwrap_or(0)
    }

    /// Returns true if a group counts in a turn. If a source has fewer groups than another, each has several turns in a
    /// round, so that its processors are never idle while others count.
    fn has_turn(&self, set: &Set, turn: usize) -> bool {
        let groups = self.sources[set.source].groups.len().max(1);
        set.group == turn % groups
    }

    /// Returns the sources as named in a recording.
    #[must_use]
    pub fn pmus(&self) -> Vec<Pmu> {
        let kinds = |group: &Vec<Chosen>| group.iter().map(|event| event.kind.clone()).collect();
        let pmu = |source: &SourceGroups| Pmu {
            name: source.name.clone(),
            family: source.family.clone(),
            groups: source.groups.iter().map(kinds).collect(),
        };
        self.sources.iter().map(pmu).collect()
    }

    /// Returns the plan with only one group of each source, which is the maximum for one trial.
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

/// Multiplexed groups.
pub struct Counters {
    plan: Plan,
    sets: Vec<Set>,
    turn: usize,
    /// Counts since the last collection.
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
    open: Box<dyn EventGroup>,
    last: Vec<RawCount>,
}

impl Counters {
    /// Opens every group on the target; the first one has its turn.
    ///
    /// # Errors
    /// The target has ended, or it may not be observed.
    pub fn attach(
        opener: &dyn PerfOpen,
        plan: Plan,
        target: &CountScope,
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
        if !matches!(target, CountScope::AtExec(_)) {
            let switched = counters.switch(Switch::On);
            switched.map_err(|error| unreadable(&error))?;
        }
        Ok(counters)
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Passes the counters to the next group.
    pub fn next_turn(&mut self) {
        if self.plan.turns() < 2 {
            return;
        }
        // Errors of switching and reading are reported when the counts are collected.
        let _ = self.switch(Switch::Off);
        self.read();
        self.turn = (self.turn + 1) % self.plan.turns();
        let _ = self.switch(Switch::On);
    }

    /// Returns the counts since the last call. A group without a turn is reported as missing.
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

    /// Adds the growth of the active groups.
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

fn count(planned: &SourceGroups, set: &Set, event: &Chosen, tally: Tally) -> Count {
    Count {
        kind: event.kind.clone(),
        event: event.event.clone(),
        pmu: planned.name.clone(),
        group: u32::try_from(set.group).unwrap_or(u32::MAX),
        tally,
    }
}

impl Member {
    /// Returns the growth of each event since its last reading.
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

/// Returns the growth of one counter. A decrease is an error of the kernel or the hypervisor, and makes the value
/// invalid.
fn growth(before: RawCount, now: RawCount, event: &str) -> Tally {
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
            missing: Missing::unreadable(format!(
                "{event} went backwards, from {} to {}",
                before.value, now.value
            )),
        },
    }
}

fn unreadable(error: &io::Error) -> Missing {
    Missing::unreadable(format!("counters: {error}"))
}

fn open_set(
    opener: &dyn PerfOpen,
    permitted: &Permitted,
    events: &[Chosen],
    target: &CountScope,
    group: usize,
    grants: &Grants,
) -> Result<Vec<Member>, Missing> {
    let codes: Vec<Code> = events.iter().map(|event| event.code).collect();
    let mut members = Vec::new();
    for (observed, start) in observed(target, group) {
        let request = GroupRequest {
            events: &codes,
            observed,
            mode: permitted.mode,
            guests: permitted.guests,
            start,
        };
        match opener.open(&request) {
            Ok(open) => members.push(Member {
                open,
                last: vec![RawCount::default(); codes.len()],
            }),
            Err(refusal) if is_elsewhere(&refusal.error, target) => {}
            Err(refusal) => return Err(refused(&refusal.error, permitted.mode, target, grants)),
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests;
