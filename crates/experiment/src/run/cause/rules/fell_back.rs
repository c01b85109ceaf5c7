//! The kernel tried to allocate huge pages at faults and failed.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::run::metric::MetricId;

/// A smaller share of refusals changes no verdict.
const NOTABLE: f64 = 0.01;

/// Huge faults that fell back to small pages, machine-wide.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct HugeAllocationFellBack {
    /// Huge faults that fell back.
    pub refused: f64,
    /// All huge faults.
    pub of: f64,
    /// Those over these.
    pub share: f64,
    /// Those at a memory cgroup's limit.
    pub at_cgroup_limit: Option<f64>,
    /// Huge pages that were free before the trial.
    pub free_before: Option<f64>,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let made = view.here(MetricId::ThpFaultAllocTotal);
    let refused = view.here(MetricId::ThpFaultFallbackTotal);
    // Without the right to any, all of them are other programs'.
    let is_asked = view.context.mode(view.arm) != "never";
    let both = made
        .ok()
        .zip(refused.ok())
        .filter(|(made, refused)| is_asked && made + refused > 0.0);
    let Some((made, refused)) = both else {
        return Ok(None);
    };
    let of = made + refused;
    let found = HugeAllocationFellBack {
        refused,
        of,
        share: refused / of,
        at_cgroup_limit: view.here(MetricId::ThpFaultFallbackChargeTotal).ok(),
        free_before: view.here(MetricId::FreeHugePagesBeforeTotal).ok(),
    };
    let outcome = Outcome::shown_if(found.share >= NOTABLE);
    Ok(Some((outcome, Kind::HugeAllocationFellBack(found))))
}
