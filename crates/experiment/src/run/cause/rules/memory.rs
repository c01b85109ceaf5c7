//! A program's additional memory under an arm, and its limit.

use serde::Serialize;

use super::super::context::{MissingInput, Told, View};
use super::super::{CauseOutcome, Kind, Pair};
use crate::base::missing::Missing;
use crate::run::compare::Change;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::{Counter, MetricId};
use crate::run::trial::TrialCgroup;

const PEAK: MetricId = MetricId::PeakRssBytes;
const HUGE: MetricId = MetricId::HugeAnonPeakBytes;

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
    /// Killed processes, over all trials.
    pub killed: u64,
}

/// The program reached the memory limit of its policy.
pub(in super::super) fn limit(view: &View<'_, '_>) -> Told {
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
    let is_reached = |group: &&TrialCgroup| {
        let counts = [group.at_max, group.over_high, group.killed];
        counts.iter().flatten().any(|count| *count > 0)
    };
    let found = MemoryLimitReached {
        reached: groups.iter().filter(is_reached).count(),
        read: groups.len(),
        trials,
        hits: sum(|group| group.at_max).saturating_add(sum(|group| group.over_high)),
        killed: sum(|group| group.killed),
    };
    let outcome = match (found.read, found.reached) {
        (0, _) => CauseOutcome::CannotTell,
        (_, 0) => CauseOutcome::NotShown,
        _ => CauseOutcome::Shown,
    };
    Ok(Some((outcome, Kind::MemoryLimitReached(found))))
}

/// Growth of peak memory compared with huge memory.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MemoryBloat {
    /// Growth of peak memory, in bytes.
    pub growth_bytes: f64,
    /// Anonymous memory in huge pages, in bytes.
    pub huge_bytes: Pair,
    /// The part of the growth that comes with huge pages, in bytes, if it is shown.
    pub by_huge_pages_bytes: Option<f64>,
    /// True if huge pages cannot have added as much.
    pub is_beyond: bool,
    /// An arm with the same settings except for huge pages, if this arm changes more than pages.
    pub sibling: Option<Sibling>,
}

/// An arm with the same settings except for huge pages, and with hardly any huge memory.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Sibling {
    /// Its name.
    pub name: String,
    /// Its growth of peak memory over the baseline, in bytes.
    pub growth_bytes: f64,
}

/// Huge pages made the program larger.
pub(in super::super) fn bloat(view: &View<'_, '_>) -> Told {
    if !view.rose(PEAK) {
        return Ok(None);
    }
    let growth_bytes = view.both(PEAK)?.change();
    let huge_bytes = view.both(HUGE)?;
    let more = huge_bytes.change();
    let other = view.context.settings(view.context.baseline());
    let is_of_pages = view.context.settings(view.arm).is_sibling_of(&other);
    let sibling = match is_of_pages || more <= 0.0 {
        true => None,
        false => sibling(view, more)?,
    };
    // Growth that can only come with the additional huge memory.
    let by_pages = |growth: f64| match more < growth {
        true => (CauseOutcome::CannotTell, None, true),
        false => (CauseOutcome::Shown, Some(growth), false),
    };
    let (outcome, by_huge_pages_bytes, is_beyond) = match &sibling {
        _ if more <= 0.0 => (CauseOutcome::NotShown, None, false),
        _ if is_of_pages => by_pages(growth_bytes),
        None => (CauseOutcome::CannotTell, None, more < growth_bytes),
        Some(it) if is_larger(view, &it.name) => by_pages(growth_bytes - it.growth_bytes),
        Some(it) => match view.context.comparison(PEAK, &it.name).map(|it| it.change) {
            Some(Change::Higher) => (CauseOutcome::NotShown, None, false),
            _ => (CauseOutcome::CannotTell, None, false),
        },
    };
    let found = MemoryBloat {
        growth_bytes,
        huge_bytes,
        by_huge_pages_bytes,
        is_beyond,
        sibling,
    };
    Ok(Some((outcome, Kind::MemoryBloat(found))))
}

/// Returns true if peak memory rose beyond that of another arm, both by their own intervals.
///
/// One of two equal peaks may be slightly larger in every round.
fn is_larger(view: &View<'_, '_>, other: &str) -> bool {
    let comparison = |arm: &str| view.context.comparison(PEAK, arm);
    let low = comparison(view.arm).and_then(|it| it.low);
    let high = comparison(other).and_then(|it| it.high);
    let gap = low.zip(high).map(|(low, high)| low - high);
    gap.is_some_and(|gap| gap > view.context.table.verdict.threshold)
}

/// Returns the sibling with the least huge memory: at most 5 % of the additional amount.
fn sibling(view: &View<'_, '_>, more: f64) -> Result<Option<Sibling>, MissingInput> {
    let own = view.context.settings(view.arm);
    let before = view.there(HUGE)?;
    let policies = view.context.policies().iter();
    let others = policies.filter(|it| it.name != view.arm && it.settings.is_sibling_of(&own));
    let huge = others.filter_map(|it| Some((view.median(&it.name, HUGE).ok()?, &it.name)));
    let huge = huge.filter(|(huge, _)| huge - before <= more * 0.05);
    let Some((_, name)) = huge.min_by(|(one, _), (other, _)| one.total_cmp(other)) else {
        return Ok(None);
    };
    Ok(Some(Sibling {
        growth_bytes: view.median(name, PEAK)? - view.there(PEAK)?,
        name: name.clone(),
    }))
}

/// Memory that khugepaged may have filled.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct KhugepagedFilledGaps {
    /// Huge pages that khugepaged made, machine-wide.
    pub collapsed: f64,
    /// Empty pages that it may fill in one huge page; `None` if unknown.
    pub max_ptes_none: Option<u64>,
    /// Peak memory, in bytes.
    pub peak_bytes: Option<Pair>,
    /// Huge pages made at faults, machine-wide.
    pub huge_faults: Option<Pair>,
    /// Why it is undecidable.
    pub doubt: Option<GapsDoubt>,
}

/// Why growth cannot be attributed to khugepaged.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum GapsDoubt {
    /// `max_ptes_none` is unknown.
    UnknownSetting,
    /// Peak memory rose by more than khugepaged can have filled.
    Beyond,
    /// Huge pages made at faults could also explain it.
    HugeFaults,
}

/// khugepaged made memory resident that a program never touched, or had given back.
pub(in super::super) fn gaps(view: &View<'_, '_>) -> Told {
    // If khugepaged created nothing, or this was not read, the rule does not apply.
    let collapsed = view
        .here(MetricId::Counter(Counter::KhugepagedCollapsed))
        .unwrap_or(0.0);
    let (Some(huge_page), true) = (view.context.host().pmd_bytes(), collapsed > 0.0) else {
        return Ok(None);
    };
    let mut found = KhugepagedFilledGaps {
        collapsed,
        max_ptes_none: view.context.khugepaged(view.arm, "max_ptes_none"),
        peak_bytes: None,
        huge_faults: None,
        doubt: None,
    };
    let told = |outcome, found| Ok(Some((outcome, Kind::KhugepagedFilledGaps(found))));
    let Some(gaps) = found.max_ptes_none else {
        found.doubt = Some(GapsDoubt::UnknownSetting);
        return told(CauseOutcome::CannotTell, found);
    };
    let peak = view.both(PEAK)?;
    found.peak_bytes = Some(peak);
    if gaps == 0 || !view.rose(PEAK) {
        return told(CauseOutcome::NotShown, found);
    }
    let faults = view.both(MetricId::Counter(Counter::ThpFaultAlloc))?;
    found.huge_faults = Some(faults);
    let growth = peak.change() / huge_page as f64;
    // The rest of the program varies in size too.
    if collapsed + 1.0 < growth {
        found.doubt = Some(GapsDoubt::Beyond);
    } else if faults.change() >= growth {
        found.doubt = Some(GapsDoubt::HugeFaults);
    }
    match found.doubt {
        Some(_) => told(CauseOutcome::CannotTell, found),
        None => told(CauseOutcome::Shown, found),
    }
}

/// Thread stacks at the end of the load.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ThreadStacksGrew {
    /// Resident memory of the mappings with stack pointers, in bytes.
    pub stack_bytes: Pair,
    /// Threads.
    pub threads: Pair,
    /// Bytes of the stacks in huge pages, if the growth is shown.
    pub huge_bytes: Option<f64>,
}

/// The stacks of a service's threads hold more memory under an arm.
pub(in super::super) fn stacks(view: &View<'_, '_>) -> Told {
    const STACKS: MetricId = MetricId::ThreadStacksBytes;

    // The report counts failed trials.
    let is_unasked = |it: MissingInput| it.reason == Missing::NotAsked || it.is_of_failed_trials();
    if view.here(STACKS).is_err_and(is_unasked) {
        return Ok(None);
    }
    let mut found = ThreadStacksGrew {
        stack_bytes: view.both(STACKS)?,
        threads: view.both(MetricId::ThreadsTotal)?,
        huge_bytes: None,
    };
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    let grew = view.rose(STACKS) && found.stack_bytes.change() >= huge_page;
    let outcome = match (grew, view.rose(MetricId::ThreadsTotal)) {
        (false, _) => CauseOutcome::NotShown,
        (true, true) => CauseOutcome::CannotTell,
        (true, false) => CauseOutcome::Shown,
    };
    if outcome == CauseOutcome::Shown {
        found.huge_bytes = Some(view.here(MetricId::ThreadStacksHugeBytes)?);
    }
    Ok(Some((outcome, Kind::ThreadStacksGrew(found))))
}
