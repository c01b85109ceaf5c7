//! The stacks of a service's threads hold more memory under an arm.

use serde::Serialize;

use super::super::context::{MissingInput, Told, View};
use super::super::{Kind, Outcome, Pair};
use crate::base::missing::Missing;
use crate::run::metric::MetricId;

/// Thread stacks at the end of the load.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ThreadStacksGrew {
    /// Resident memory of the mappings with stack pointers, in bytes.
    pub stack_bytes: Pair,
    /// Threads.
    pub threads: Pair,
    /// Bytes of the stacks in huge pages, when the growth is shown.
    pub huge_bytes: Option<f64>,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    // The report counts failed trials.
    let is_unasked = |it: MissingInput| it.reason == Missing::NotAsked || it.is_of_failed_trials();
    if view
        .here(MetricId::ThreadStacksBytes)
        .is_err_and(is_unasked)
    {
        return Ok(None);
    }
    let mut found = ThreadStacksGrew {
        stack_bytes: view.both(MetricId::ThreadStacksBytes)?,
        threads: view.both(MetricId::ThreadsTotal)?,
        huge_bytes: None,
    };
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    let grew = view.rose(MetricId::ThreadStacksBytes) && found.stack_bytes.change() >= huge_page;
    let outcome = match (grew, view.rose(MetricId::ThreadsTotal)) {
        (false, _) => Outcome::NotShown,
        (true, true) => Outcome::CannotTell,
        (true, false) => {
            found.huge_bytes = Some(view.here(MetricId::ThreadStacksHugeBytes)?);
            Outcome::Shown
        }
    };
    Ok(Some((outcome, Kind::ThreadStacksGrew(found))))
}
