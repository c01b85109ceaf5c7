//! Making huge pages, above all zeroing them, against the faults that they saved.

use serde::Serialize;

use super::super::context::View;
use super::super::{Outcome, Pair};
use super::PartTold;
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// The cost of making huge pages beside the faults that they saved: at most half of the faults remain.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Zeroing {
    /// Shown when kernel time did not fall all the same; not shown when it fell and the time did not.
    pub outcome: Outcome,
    /// Returns true when kernel time rose: making them cost more than the faults that they saved.
    pub is_dearer: bool,
    /// Mean kernel time, in seconds.
    pub system_seconds: Pair,
    /// Huge faults in a typical run, machine-wide.
    pub huge_faults: Option<f64>,
    /// Additional kernel time for each huge fault, in seconds. Its cost is that and its part of the saved faults.
    pub growth_per_huge_fault_seconds: Option<f64>,
    /// Zeroing in a typical run, in seconds, when it was timed.
    pub zeroing_seconds: Option<f64>,
    /// Direct compaction in a typical run, in seconds, when it was timed.
    pub compaction_seconds: Option<f64>,
    /// Direct reclaim in a typical run, in seconds, when it was timed.
    pub reclaim_seconds: Option<f64>,
    /// Compaction stalls, machine-wide: may be part of it.
    pub compaction_stalls: Option<f64>,
    /// Reclaim stalls, machine-wide: may be part of it.
    pub reclaim_stalls: Option<f64>,
    /// The hypervisor, which may have to back memory at first touch.
    pub hypervisor: Option<String>,
}

pub(super) fn of(view: &View<'_, '_>) -> PartTold<Zeroing> {
    let faults = view.both(MetricId::MinorFaultsTotal);
    let is_halved =
        view.fell(MetricId::MinorFaultsTotal) && faults.is_ok_and(|it| it.arm * 2.0 <= it.baseline);
    if !is_halved {
        return Ok(None);
    }
    let system_seconds = view.means(MetricId::SystemSeconds)?;
    let change = view.change(MetricId::SystemSeconds);
    let outcome = match change {
        Some(Change::NoDifference | Change::Higher) => Outcome::Shown,
        Some(Change::Lower) if view.fell(MetricId::WallSeconds) => return Ok(None),
        Some(Change::Lower) => Outcome::NotShown,
        Some(Change::CannotTell) | None => Outcome::CannotTell,
    };
    let here = |metric: MetricId| view.here(metric).ok();
    let huge_faults = here(MetricId::ThpFaultAllocTotal);
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
        compaction_stalls: here(MetricId::CompactStallTotal),
        reclaim_stalls: here(MetricId::AllocstallTotal),
        hypervisor: view.context.host().hypervisor.clone(),
    }))
}
