//! The part of a loss that comes from compaction and reclaim for the program's own allocations.

use serde::Serialize;

use super::super::Outcome;
use super::super::context::View;
use super::PartTold;
use crate::run::metric::MetricId;

/// The share of the loss from which stalls are a cause worth naming.
const WORTH: f64 = 0.1;

/// Compaction and reclaim beside a loss, by medians.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Stalls {
    /// Shown from a tenth of the loss.
    pub outcome: Outcome,
    /// Wall time that was lost, in seconds.
    pub lost_seconds: f64,
    /// Growth of direct compaction, in seconds; `None` when it was not timed.
    pub compaction_seconds: Option<f64>,
    /// Growth of direct reclaim, in seconds.
    pub reclaim_seconds: Option<f64>,
    /// Growth of reclaim at a cgroup's limit, in seconds.
    pub cgroup_reclaim_seconds: Option<f64>,
    /// All these over the loss.
    pub share_of_loss: f64,
}

impl Stalls {
    pub(super) fn seconds(&self) -> f64 {
        self.share_of_loss * self.lost_seconds
    }
}

pub(super) fn of(view: &View<'_, '_>) -> PartTold<Stalls> {
    if !view.rose(MetricId::WallSeconds) {
        return Ok(None);
    }
    let lost_seconds = view.both(MetricId::WallSeconds)?.change();
    let timed = [
        MetricId::DirectCompactionSeconds,
        MetricId::DirectReclaimSeconds,
        MetricId::CgroupReclaimSeconds,
    ];
    let risen = timed.map(|metric| Some(view.both(metric).ok()?.change()));
    let stalled: f64 = risen.iter().flatten().sum();
    if risen.iter().all(Option::is_none) || lost_seconds <= 0.0 {
        return Ok(None);
    }
    let [compaction_seconds, reclaim_seconds, cgroup_reclaim_seconds] = risen;
    Ok(Some(Stalls {
        outcome: Outcome::shown_if(stalled >= WORTH * lost_seconds),
        lost_seconds,
        compaction_seconds,
        reclaim_seconds,
        cgroup_reclaim_seconds,
        share_of_loss: stalled / lost_seconds,
    }))
}
