//! Claims that a policy did not save a service its page faults, but had them before the load.
//!
//! Evidence: the service is ready later, and takes fewer faults while the load runs. That is what
//! prefaulting does (`AlwaysPreTouch`, `MAP_POPULATE`, `shared_buffers` that are touched): a good
//! bargain for a service that runs for days, and none for one that is started for each request.
//! Refuted by a start that is as long without the faults. Next: the time until it is ready, by
//! policy, beside the latencies.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// See the module.
#[derive(Debug)]
pub(super) struct CostMovedToTheStart;

const READY: MetricId = MetricId::ServiceReadySeconds;
const FAULTS: MetricId = MetricId::MinorFaultsTotal;

impl Rule for CostMovedToTheStart {
    fn id(&self) -> &'static str {
        "cost-moved-to-the-start"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy did not save a service its page faults, but had them before the load. \
         Evidence: the service is decidedly later ready, and takes decidedly fewer faults while the \
         load runs. Refuted by a start that is as long without the faults. Next: whether the \
         service is started so seldom that a longer start is a good bargain."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        if ground.record.header.plan.service.is_none() {
            return Vec::new();
        }
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let (before, after) = look.both(READY)?;
    let (faults_before, faults_after) = look.both(FAULTS)?;
    let times = format!(
        "ready after {} instead of {}",
        told(READY, after),
        told(READY, before)
    );
    let faults = format!(
        "{} faults under the load instead of {}",
        told(FAULTS, faults_after),
        told(FAULTS, faults_before)
    );
    let policy = look.policy;
    Ok(match (look.change(READY), look.change(FAULTS)) {
        (Some(Change::Higher), Some(Change::Lower)) => Said::Shown(format!(
            "{policy}: {times}, and {faults}: the cost of first touches was moved to the start \
             rather than saved"
        )),
        _ => Said::NotShown(format!("{policy}: {times}, {faults}")),
    })
}
