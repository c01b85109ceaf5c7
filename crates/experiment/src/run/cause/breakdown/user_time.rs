//! Gains that are mostly user time, when nothing counted the TLB misses that may be the reason.

use serde::Serialize;

use super::super::context::{MissingInput, View};
use super::super::coverage;
use super::super::paired::Times;
use super::PartTold;
use super::alone::runs_alone;
use crate::base::missing::Missing;
use crate::run::compare::Answer;
use crate::run::metric::MetricId;

/// A gain that is mostly user time, probably by fewer TLB misses. It is always shown.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct UserTime {
    /// User time, as a ratio to the baseline's.
    pub ratio: f64,
    /// The part of the gain, by means; `None` when threads run side by side.
    pub share_of_gain: Option<f64>,
    /// Why page walks were not counted.
    pub uncounted: Missing,
}

pub(super) fn of(view: &View<'_, '_>) -> PartTold<UserTime> {
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

/// Another allocator changes user time by itself; so does an effect that depends on the order of the runs.
fn pages_alone_are_the_reason(view: &View<'_, '_>) -> Result<bool, MissingInput> {
    let context = view.context;
    let baseline = context.settings(context.baseline());
    let is_alike = context.settings(view.arm).is_sibling_of(&baseline);
    if !is_alike || context.answer(view.arm) != Some(Answer::Better) {
        return Ok(false);
    }
    let covered = coverage::compare(view)?;
    Ok(!covered.is_equal && covered.bytes.change() > 0.0)
}
