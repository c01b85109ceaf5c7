//! The one-time part of an effect, when memory is faulted in, and the lasting part.

use serde::Serialize;

use super::super::context::View;
use super::super::{CauseOutcome, Pair};
use super::PartTold;
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// One-time changes, and lasting changes. Kernel time is mostly for faulting memory in, user time for work.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Lasting {
    /// Not shown if neither changed, or one is not known well enough.
    pub outcome: CauseOutcome,
    /// The direction of the one-time change: kernel time.
    pub once: Option<Way>,
    /// The direction of the lasting change: user time.
    pub lasting: Option<Way>,
    /// The mean change of kernel time, in seconds.
    pub once_seconds: f64,
    /// User time, as a ratio to the baseline's.
    pub lasting_ratio: f64,
    /// The mean wall time under the baseline, in seconds.
    pub wall_seconds: f64,
    /// The run time at which the lasting effect outweighs the one-time effect, in seconds; `None` if both have one
    /// direction.
    pub break_even_seconds: Option<f64>,
    /// The time until memory was faulted in; `None` if the program did not run for another second.
    pub arrival: Option<Arrival>,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Less time.
    Less,
    /// As much.
    Same,
    /// More time.
    More,
}

/// Mean changes until nine tenths of memory were faulted in, and after that.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Arrival {
    /// Seconds until memory was faulted in.
    pub seconds: Pair,
    /// The change of kernel time until then, in seconds.
    pub system_until: f64,
    /// The change of kernel time after that, in seconds.
    pub system_after: f64,
    /// The change of user time until then, in seconds.
    pub user_until: f64,
    /// The change of user time after that, in seconds.
    pub user_after: f64,
    /// Faults a second after that.
    pub faults_per_second: Pair,
}

pub(super) fn lasting(view: &View<'_, '_>) -> PartTold<Lasting> {
    // The readings of a service cover only its load, without one-time costs.
    if view.context.record.header.plan.service.is_some() {
        return Ok(None);
    }
    let once_seconds = view.means(MetricId::SystemSeconds)?.change();
    let user = view.means(MetricId::UserSeconds)?.change();
    let wall_seconds = view.means(MetricId::WallSeconds)?.baseline;
    let row = view.context.comparison(MetricId::UserSeconds, view.arm);
    let Some(lasting_ratio) = row.and_then(|row| row.ratio) else {
        return Ok(None);
    };
    let once = way(view.change(MetricId::SystemSeconds));
    let lasting = way(view.change(MetricId::UserSeconds));
    let ways = once.zip(lasting);
    let is_shown = ways.is_some_and(|ways| ways != (Way::Same, Way::Same));
    let is_opposed = matches!(ways, Some((Way::More, Way::Less) | (Way::Less, Way::More)));
    Ok(Some(Lasting {
        outcome: CauseOutcome::shown_if(is_shown),
        once,
        lasting,
        once_seconds,
        lasting_ratio,
        wall_seconds,
        break_even_seconds: is_opposed.then(|| once_seconds.abs() * wall_seconds / user.abs()),
        arrival: arrival(view).ok().flatten().filter(|_| is_shown),
    }))
}

/// Returns `None` if it is unknown.
fn way(change: Option<Change>) -> Option<Way> {
    match change? {
        Change::Lower => Some(Way::Less),
        Change::Higher => Some(Way::More),
        Change::NoDifference => Some(Way::Same),
        Change::CannotTell => None,
    }
}

fn arrival(view: &View<'_, '_>) -> PartTold<Arrival> {
    /// Shorter times are too short for a clock of 10 ms, in seconds.
    const LEAST_AFTER: f64 = 1.0;

    let seconds = view.means(MetricId::ArrivalSeconds)?;
    let early = view.means(MetricId::ArrivalFaultsTotal)?;
    let faults = view.means(MetricId::MinorFaultsTotal)?;
    let wall = view.means(MetricId::WallSeconds)?;
    let after = [wall.baseline - seconds.baseline, wall.arm - seconds.arm];
    let rate = |faults: f64, seconds: f64| (faults / seconds).max(0.0).round();
    let change = |metric: MetricId| Ok(view.means(metric)?.change());
    let system_until = change(MetricId::ArrivalSystemSeconds)?;
    let user_until = change(MetricId::ArrivalUserSeconds)?;
    let found = Arrival {
        seconds,
        system_until,
        system_after: change(MetricId::SystemSeconds)? - system_until,
        user_until,
        user_after: change(MetricId::UserSeconds)? - user_until,
        faults_per_second: Pair {
            baseline: rate(faults.baseline - early.baseline, after[0]),
            arm: rate(faults.arm - early.arm, after[1]),
        },
    };
    Ok((after[0].min(after[1]) >= LEAST_AFTER).then_some(found))
}
