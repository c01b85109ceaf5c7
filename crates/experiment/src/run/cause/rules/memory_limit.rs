//! The program ran into the memory limit of its policy.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::run::compare::medians::arm_trials;
use crate::run::trial::TrialCgroup;

/// The memory limit of an arm, by the counters of each trial's cgroup.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct MemoryLimitReached {
    /// Trials that reached it.
    pub reached: usize,
    /// Trials whose counters were read.
    pub read: usize,
    /// All trials.
    pub trials: usize,
    /// How often it was hit, over all trials.
    pub hits: u64,
    /// Processes that were killed, over all trials.
    pub killed: u64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let record = view.context.record;
    let set = record.header.realisations.get(view.arm);
    let trials = arm_trials(record, view.arm).count();
    if trials == 0 || set.is_none_or(|set| set.limits.is_none()) {
        return Ok(None);
    }
    let groups = arm_trials(record, view.arm).filter_map(|trial| trial.read_back.cgroup);
    let groups: Vec<TrialCgroup> = groups.collect();
    let sum = |count: fn(&TrialCgroup) -> Option<u64>| -> u64 {
        groups.iter().filter_map(count).fold(0, u64::saturating_add)
    };
    let found = MemoryLimitReached {
        reached: groups.iter().filter(|group| is_reached(group)).count(),
        read: groups.len(),
        trials,
        hits: sum(|group| group.at_max).saturating_add(sum(|group| group.over_high)),
        killed: sum(|group| group.killed),
    };
    let outcome = match (found.read, found.reached) {
        (0, _) => Outcome::CannotTell,
        (_, 0) => Outcome::NotShown,
        _ => Outcome::Shown,
    };
    Ok(Some((outcome, Kind::MemoryLimitReached(found))))
}

fn is_reached(group: &TrialCgroup) -> bool {
    let counts = [group.at_max, group.over_high, group.killed];
    counts.iter().flatten().any(|count| *count > 0)
}
