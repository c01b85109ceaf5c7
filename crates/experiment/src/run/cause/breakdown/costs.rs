//! The costs of an arm: making huge pages, stalls for them, and faults that come earlier.

use serde::Serialize;

use super::super::context::View;
use super::super::{CauseOutcome, Pair};
use super::PartTold;
use crate::run::compare::Change;
use crate::run::metric::{Counter, MetricId};

/// The cost of making huge pages compared with the saved faults: at most half of the faults remain.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Zeroing {
    /// Shown if kernel time did not fall nevertheless; not shown if it fell and the wall time did not.
    pub outcome: CauseOutcome,
    /// True if kernel time rose: making them cost more than the saved faults.
    pub is_dearer: bool,
    /// Mean kernel time, in seconds.
    pub system_seconds: Pair,
    /// Huge faults in a typical run, machine-wide.
    pub huge_faults: Option<f64>,
    /// Additional kernel time for each huge fault, in seconds. Its cost is this plus its share of the saved faults.
    pub growth_per_huge_fault_seconds: Option<f64>,
    /// Zeroing in a typical run, in seconds, if it was timed.
    pub zeroing_seconds: Option<f64>,
    /// Direct compaction in a typical run, in seconds, if it was timed.
    pub compaction_seconds: Option<f64>,
    /// Direct reclaim in a typical run, in seconds, if it was timed.
    pub reclaim_seconds: Option<f64>,
    /// Compaction stalls, machine-wide: may be part of it.
    pub compaction_stalls: Option<f64>,
    /// Reclaim stalls, machine-wide: may be part of it.
    pub reclaim_stalls: Option<f64>,
    /// The hypervisor, which may have to back memory at first touch.
    pub hypervisor: Option<String>,
}

pub(super) fn zeroing(view: &View<'_, '_>) -> PartTold<Zeroing> {
    let faults = view.both(MetricId::MinorFaultsTotal);
    let is_halved =
        view.fell(MetricId::MinorFaultsTotal) && faults.is_ok_and(|it| it.arm * 2.0 <= it.baseline);
    if !is_halved {
        return Ok(None);
    }
    let system_seconds = view.means(MetricId::SystemSeconds)?;
    let change = view.change(MetricId::SystemSeconds);
    let outcome = match change {
        Some(Change::NoDifference | Change::Higher) => CauseOutcome::Shown,
        Some(Change::Lower) if view.fell(MetricId::WallSeconds) => return Ok(None),
        Some(Change::Lower) => CauseOutcome::NotShown,
        Some(Change::CannotTell) | None => CauseOutcome::CannotTell,
    };
    let here = |metric: MetricId| view.here(metric).ok();
    let huge_faults = here(MetricId::Counter(Counter::ThpFaultAlloc));
    let growth =
        Some(system_seconds.change()).filter(|it| change == Some(Change::Higher) && *it > 0.0);
    let per_fault = growth.zip(huge_faults.filter(|it| *it > 0.0));
    Ok(Some(Zeroing {
        outcome,
        is_dearer: change == Some(Change::Higher),
        system_seconds,
        huge_faults,
        growth_per_huge_fault_seconds: per_fault.map(|(growth, faults)| growth / faults),
        zeroing_seconds: here(MetricId::ZeroingSeconds),
        compaction_seconds: here(MetricId::DirectCompactionSeconds),
        reclaim_seconds: here(MetricId::DirectReclaimSeconds),
        compaction_stalls: here(MetricId::Counter(Counter::CompactStall)),
        reclaim_stalls: here(MetricId::Counter(Counter::Allocstall)),
        hypervisor: view.context.host().hypervisor.clone(),
    }))
}

/// Compaction and reclaim compared with a loss, by medians.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Stalls {
    /// Shown if at least a tenth of the loss.
    pub outcome: CauseOutcome,
    /// Lost wall time, in seconds.
    pub lost_seconds: f64,
    /// Growth of direct compaction, in seconds; `None` if it was not timed.
    pub compaction_seconds: Option<f64>,
    /// Growth of direct reclaim, in seconds.
    pub reclaim_seconds: Option<f64>,
    /// Growth of reclaim at a cgroup's limit, in seconds.
    pub cgroup_reclaim_seconds: Option<f64>,
    /// The sum of these over the loss.
    pub share_of_loss: f64,
}

impl Stalls {
    pub(super) fn seconds(&self) -> f64 {
        self.share_of_loss * self.lost_seconds
    }
}

pub(super) fn stalls(view: &View<'_, '_>) -> PartTold<Stalls> {
    /// The share of the loss above which stalls are reported as a cause.
    const WORTH: f64 = 0.1;

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
        outcome: CauseOutcome::shown_if(stalled >= WORTH * lost_seconds),
        lost_seconds,
        compaction_seconds,
        reclaim_seconds,
        cgroup_reclaim_seconds,
        share_of_loss: stalled / lost_seconds,
    }))
}

/// The start of a service compared with the faults under its load.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct MovedToStart {
    /// Shown if the service is ready later and its load has fewer faults.
    pub outcome: CauseOutcome,
    /// Seconds until the service is ready.
    pub ready_seconds: Pair,
    /// Minor faults while the load runs.
    pub faults: Pair,
}

pub(super) fn start(view: &View<'_, '_>) -> PartTold<MovedToStart> {
    if view.context.record.header.plan.service.is_none() {
        return Ok(None);
    }
    let ready_seconds = view.both(MetricId::ServiceReadySeconds)?;
    let faults = view.both(MetricId::MinorFaultsTotal)?;
    let is_later = view.rose(MetricId::ServiceReadySeconds);
    Ok(Some(MovedToStart {
        outcome: CauseOutcome::shown_if(is_later && view.fell(MetricId::MinorFaultsTotal)),
        ready_seconds,
        faults,
    }))
}
