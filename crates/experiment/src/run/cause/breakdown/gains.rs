//! The parts of a gain in time: fewer page faults, cheaper page walks, less user time.

use serde::Serialize;

use super::super::context::{MissingInput, View};
use super::super::coverage::is_more_huge;
use super::super::paired::{Times, baseline_runs, good_trials};
use super::super::{CauseOutcome, Pair};
use super::PartTold;
use crate::base::missing::Missing;
use crate::run::compare::{Change, PolicyAnswer};
use crate::run::metric::MetricId;
use crate::run::stats::{ALPHA, Draw, mean_ratio, median};
use crate::run::trial::Trial;

/// The part of a gain that comes from fewer page faults.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct FewerFaults {
    /// Not shown if kernel time did not fall.
    pub outcome: CauseOutcome,
    /// Mean gain in wall time, in seconds.
    pub gained_seconds: f64,
    /// Mean saving in kernel time, in seconds.
    pub saved_seconds: f64,
    /// The part of the gain; `None` if threads run in parallel, because kernel time is summed over them.
    pub share: Option<Share>,
}

/// A share of a gain.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Share {
    /// The ratio of mean saving to mean gain; above 1, the rest was lost elsewhere.
    pub estimate: f64,
    /// Its 95 % interval, with at least eight rounds.
    pub interval: Option<[f64; 2]>,
}

impl Share {
    /// A wider interval only shows that it is a part.
    const WIDEST: f64 = 0.5;

    /// Returns its interval, if it is narrow enough to say more than "part".
    #[must_use]
    pub fn narrow(&self) -> Option<[f64; 2]> {
        let is_narrow = |[low, high]: &[f64; 2]| high - low <= Self::WIDEST;
        self.interval.filter(is_narrow)
    }
}

pub(super) fn fewer_faults(view: &View<'_, '_>) -> PartTold<FewerFaults> {
    // Mixed runs have gains and losses; a share of the gain would mislead.
    let is_mixed = view.context.answer(view.arm) == Some(PolicyAnswer::Mixed);
    let gained = view.fell(MetricId::WallSeconds) && view.fell(MetricId::MinorFaultsTotal);
    if is_mixed || !gained {
        return Ok(None);
    }
    view.both(MetricId::MinorFaultsTotal)?;
    let gained_seconds = -view.means(MetricId::WallSeconds)?.change();
    let saved_seconds = -view.means(MetricId::SystemSeconds)?.change();
    let is_shown = view.fell(MetricId::SystemSeconds) && gained_seconds > 0.0;
    let share = (is_shown && runs_alone(view)).then(|| Share {
        estimate: saved_seconds / gained_seconds,
        interval: interval(view),
    });
    Ok(Some(FewerFaults {
        outcome: CauseOutcome::shown_if(is_shown),
        gained_seconds,
        saved_seconds,
        share,
    }))
}

/// Returns the interval of the share: the ratio of two means over rounds.
fn interval(view: &View<'_, '_>) -> Option<[f64; 2]> {
    let record = view.context.record;
    let fall = |trial: &Trial, metric: MetricId| {
        let runs = baseline_runs(record, view.context.baseline(), trial.round);
        let runs: Vec<f64> = runs.filter_map(|run| run.value(metric)).collect();
        let mean = runs.iter().sum::<f64>() / runs.len() as f64;
        Some(mean - trial.value(metric)?).filter(|_| !runs.is_empty())
    };
    let draw = |trial: &Trial| {
        Some(Draw::pair(
            fall(trial, MetricId::SystemSeconds)?,
            fall(trial, MetricId::WallSeconds)?,
        ))
    };
    let draws: Vec<Draw> = good_trials(record, view.arm).filter_map(draw).collect();
    let (low, high) = mean_ratio(&draws, ALPHA)?.interval?;
    Some([low, high].map(|end| end.clamp(0.0, 1.0)))
}

/// Returns true for one thread at a time under both arms, so that parts of CPU time are parts of wall time; false if
/// user time was not read.
///
/// Each trial is checked, because medians of parts do not add up to the median of the whole.
fn runs_alone(view: &View<'_, '_>) -> bool {
    /// CPU time over wall time, up to which a program counts as one thread.
    const ALONE: f64 = 1.05;

    let used = |trial: &Trial| {
        let busy = trial.value(MetricId::UserSeconds)? + trial.value(MetricId::SystemSeconds)?;
        let wall = trial.value(MetricId::WallSeconds)?;
        (wall > 0.0).then(|| busy / wall)
    };
    [view.context.baseline(), view.arm].into_iter().all(|arm| {
        let trials = good_trials(view.context.record, arm);
        let used: Option<Vec<f64>> = trials.map(used).collect();
        let used = used.and_then(|used| median(&used));
        used.is_some_and(|used| used <= ALONE)
    })
}

/// Page walks compared with those of the baseline.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Walks {
    /// Not shown if wall time did not fall.
    pub outcome: CauseOutcome,
    /// The meaning of the change.
    pub effect: WalksFell,
    /// Data page walks in a typical run.
    pub walks: Pair,
    /// The largest part of the saved cycles that walks can explain.
    pub part_of_gain_at_most: Option<f64>,
}

/// The meaning of a change of page walks.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum WalksFell {
    /// There are fewer walks.
    Cheaper,
    /// There are as many although more memory was huge: the misses are elsewhere.
    Elsewhere,
}

pub(super) fn walks(view: &View<'_, '_>) -> PartTold<Walks> {
    // The rule on translation explains why they were not counted.
    let Ok(_) = view.here(MetricId::DtlbWalksTotal) else {
        return Ok(None);
    };
    let walks = view.both(MetricId::DtlbWalksTotal)?;
    let is_gain = view.fell(MetricId::WallSeconds);
    match view.change(MetricId::DtlbWalksTotal) {
        Some(Change::Lower) => Ok(Some(Walks {
            outcome: CauseOutcome::shown_if(is_gain),
            effect: WalksFell::Cheaper,
            walks,
            part_of_gain_at_most: part_of_gain(view).filter(|_| is_gain),
        })),
        Some(Change::NoDifference) => Ok(is_more_huge(view)?.then_some(Walks {
            outcome: CauseOutcome::Shown,
            effect: WalksFell::Elsewhere,
            walks,
            part_of_gain_at_most: None,
        })),
        _ => Ok(None),
    }
}

/// Returns the saved cycles of walks over all saved cycles.
fn part_of_gain(view: &View<'_, '_>) -> Option<f64> {
    let share = view.both(MetricId::DataWalkCyclesRatio).ok()?;
    let cycles = view.both(MetricId::CyclesTotal).ok()?;
    let saved = (share.baseline * cycles.baseline - share.arm * cycles.arm).max(0.0);
    let gained = -cycles.change();
    let part = match gained > 0.0 {
        true => (saved / gained).min(1.0),
        false => 0.0,
    };
    view.fell(MetricId::CyclesTotal).then_some(part)
}

/// A gain that is mostly user time, probably by fewer TLB misses. It is always shown.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct UserTime {
    /// User time, as a ratio to the baseline's.
    pub ratio: f64,
    /// The part of the gain, as a ratio of means; `None` if threads run in parallel.
    pub share_of_gain: Option<f64>,
    /// Why page walks were not counted.
    pub uncounted: Missing,
}

pub(super) fn user_time(view: &View<'_, '_>) -> PartTold<UserTime> {
    let Err(uncounted) = view.here(MetricId::DtlbWalksTotal) else {
        return Ok(None);
    };
    let Some(change) = view.paired().times().filter(is_mostly_user_time) else {
        return Ok(None);
    };
    let fell = view.fell(MetricId::WallSeconds) && view.fell(MetricId::UserSeconds);
    if !(fell && pages_alone_are_the_reason(view)?) {
        return Ok(None);
    }
    let row = view.context.comparison(MetricId::UserSeconds, view.arm);
    Ok(row.and_then(|row| row.ratio).map(|ratio| UserTime {
        ratio,
        share_of_gain: runs_alone(view).then(|| change.user / change.wall),
        uncounted: uncounted.reason,
    }))
}

fn is_mostly_user_time(change: &Times) -> bool {
    let Times { wall, user, system } = *change;
    wall < 0.0 && user <= wall / 2.0 && user < system
}

/// Returns false if something other than pages may change user time: another allocator, or an effect of the order of
/// runs.
fn pages_alone_are_the_reason(view: &View<'_, '_>) -> Result<bool, MissingInput> {
    let context = view.context;
    let baseline = context.settings(context.baseline());
    let is_alike = context.settings(view.arm).is_sibling_of(&baseline);
    if !is_alike || context.answer(view.arm) != Some(PolicyAnswer::Better) {
        return Ok(false);
    }
    is_more_huge(view)
}
