//! Page faults that an arm did not save a service, but moved to its start.

use serde::Serialize;

use super::super::context::View;
use super::super::{Outcome, Pair};
use super::PartTold;
use crate::run::metric::MetricId;

/// The start of a service beside the faults under its load.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct MovedToStart {
    /// Shown when the service is ready later and its load has fewer faults.
    pub outcome: Outcome,
    /// Seconds until the service is ready.
    pub ready_seconds: Pair,
    /// Minor faults while the load runs.
    pub faults: Pair,
}

pub(super) fn of(view: &View<'_, '_>) -> PartTold<MovedToStart> {
    if view.context.record.header.plan.service.is_none() {
        return Ok(None);
    }
    let (ready_seconds, faults) = (
        view.both(MetricId::ServiceReadySeconds)?,
        view.both(MetricId::MinorFaultsTotal)?,
    );
    let is_later = view.rose(MetricId::ServiceReadySeconds);
    Ok(Some(MovedToStart {
        outcome: Outcome::shown_if(is_later && view.fell(MetricId::MinorFaultsTotal)),
        ready_seconds,
        faults,
    }))
}
