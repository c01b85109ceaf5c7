//! Claims that the program ran into the memory limit of its policy.

use super::context::{Claim, Context, MissingInput, PolicyView};
use super::{Finding, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::trial::TrialCgroup;
use crate::text::number::counted;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct MemoryLimitReached;

impl Rule for MemoryLimitReached {
    fn id(&self) -> &'static str {
        "memory-limit-reached"
    }

    fn explain(&self) -> &'static str {
        "Claims that the program reached the limit of memory-max or memory-high, so that its time \
         holds reclaim and its huge pages may have been refused. Evidence: the counters of the \
         trial's cgroup (memory.failcnt and memory.oom_control, or memory.events). Refuted where \
         page cache alone filled the group: the counters do not tell it from the program's memory. \
         Next: the time in cgroup reclaim, the huge faults that the cgroup refused, and the same \
         policies under another limit (--matrix memory-max=…)."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let record = view.context.record;
    let set = record.header.realisations.get(view.policy);
    if set.is_none_or(|set| set.limits.is_none()) {
        return Ok(Claim::Nothing);
    }
    let trials: Vec<_> = arm_trials(record, view.policy).collect();
    let groups = trials.iter().filter_map(|trial| trial.read_back.cgroup);
    let groups: Vec<TrialCgroup> = groups.collect();
    let reached = groups.iter().filter(|group| is_reached(group)).count();
    view.evidence.figure("trials", trials.len());
    view.evidence.figure("trials_read", groups.len());
    view.evidence.figure("trials_at_limit", reached);
    let policy = view.policy;
    let read = counted(groups.len() as u64, "trial");
    Ok(match (trials.len(), groups.len(), reached) {
        (0, ..) => Claim::Nothing,
        (_, 0, _) => Claim::CannotTell(format!(
            "{policy}: it is unknown whether its memory limit was reached. The counters of its \
             cgroup were not read"
        )),
        (.., 0) => Claim::NotShown(format!(
            "{policy}: its memory limit was reached in none of {read}"
        )),
        _ => Claim::Shown(format!(
            "{policy}: its memory limit was reached in {reached} of {read}. {}",
            counts(&groups)
        )),
    })
}

fn is_reached(group: &TrialCgroup) -> bool {
    [group.at_max, group.over_high, group.killed]
        .into_iter()
        .any(|count| count.is_some_and(|count| count > 0))
}

fn counts(groups: &[TrialCgroup]) -> String {
    let sum = |count: fn(&TrialCgroup) -> Option<u64>| -> u64 {
        groups.iter().filter_map(count).fold(0, u64::saturating_add)
    };
    let killed = match sum(|group| group.killed) {
        0 => "no process was killed".to_owned(),
        1 => "1 process was killed".to_owned(),
        more => format!("{} were killed", counted(more, "process")),
    };
    let times = sum(|group| group.at_max).saturating_add(sum(|group| group.over_high));
    format!("It was hit {}; {killed}", counted(times, "time"))
}
