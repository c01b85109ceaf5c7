//! The part of a gain in time that comes from fewer page faults.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::Outcome;
use super::super::context::View;
use super::PartTold;
use super::alone::runs_alone;
use crate::run::compare::Answer;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Draw, mean_ratio};
use crate::run::trial::Trial;

/// The part of a gain that comes from fewer page faults.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct FewerFaults {
    /// Not shown when kernel time did not fall.
    pub outcome: Outcome,
    /// Mean wall time that was gained, in seconds.
    pub gained_seconds: f64,
    /// Mean kernel time that was saved, in seconds.
    pub saved_seconds: f64,
    /// The part of the gain; `None` when threads run side by side, because kernel time is summed over them.
    pub share: Option<Share>,
}

/// A share of a gain.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Share {
    /// The saving over the gain, by means; above 1 the rest was lost elsewhere.
    pub estimate: f64,
    /// Its 95 % interval, from eight rounds on.
    pub interval: Option<[f64; 2]>,
}

impl Share {
    /// A wider interval says no more than that it is a part.
    const WIDEST: f64 = 0.5;

    /// Returns its interval, when that is narrow enough to say more than "part".
    #[must_use]
    pub fn narrow(&self) -> Option<[f64; 2]> {
        self.interval
            .filter(|[low, high]| high - low <= Self::WIDEST)
    }
}

pub(super) fn of(view: &View<'_, '_>) -> PartTold<FewerFaults> {
    // Of mixed runs, half of the story would be told.
    let is_mixed = view.context.answer(view.arm) == Some(Answer::Mixed);
    let gained = view.fell(MetricId::WallSeconds) && view.fell(MetricId::MinorFaultsTotal);
    if is_mixed || !gained {
        return Ok(None);
    }
    view.both(MetricId::MinorFaultsTotal)?;
    let gain = -view.means(MetricId::WallSeconds)?.change();
    let saved = -view.means(MetricId::SystemSeconds)?.change();
    let is_shown = view.fell(MetricId::SystemSeconds) && gain > 0.0;
    let share = (is_shown && runs_alone(view)).then(|| Share {
        estimate: saved / gain,
        interval: interval(view),
    });
    Ok(Some(FewerFaults {
        outcome: Outcome::shown_if(is_shown),
        gained_seconds: gain,
        saved_seconds: saved,
        share,
    }))
}

/// Returns the interval of the share: the ratio of two means over rounds.
fn interval(view: &View<'_, '_>) -> Option<[f64; 2]> {
    let falls = |metric| {
        falls(
            view.context.record,
            view.context.baseline(),
            view.arm,
            metric,
        )
    };
    let (gains, saved) = (falls(MetricId::WallSeconds), falls(MetricId::SystemSeconds));
    let draws = gains.into_iter().filter_map(|(round, gain)| {
        Some(Draw {
            policy: *saved.get(&round)?,
            baseline: gain,
            control: None,
        })
    });
    let draws: Vec<Draw> = draws.collect();
    let (low, high) = mean_ratio(&draws, ALPHA)?.interval?;
    Some([low, high].map(|end| end.clamp(0.0, 1.0)))
}

/// Returns by how much a metric is lower under the arm than under the baseline, by round.
fn falls(record: &Record, baseline: &str, arm: &str, metric: MetricId) -> BTreeMap<u32, f64> {
    let value = |trial: &Trial| trial.succeeded().then(|| trial.value(metric)).flatten();
    let mut before: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in record.trials.iter().filter(|it| it.policy == baseline) {
        before.entry(trial.round).or_default().extend(value(trial));
    }
    let after = arm_trials(record, arm).filter_map(|it| Some((it.round, value(it)?)));
    let fall = |(round, after): (u32, f64)| {
        let before = before.get(&round).filter(|values| !values.is_empty())?;
        let mean = before.iter().sum::<f64>() / before.len() as f64;
        Some((round, mean - after))
    };
    after.filter_map(fall).collect()
}
