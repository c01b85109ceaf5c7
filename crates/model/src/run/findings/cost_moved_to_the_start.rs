//! Claims that a policy did not save a service its page faults, but had them before the load.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// The rule of this module.
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
         Evidence: the service is significantly later ready, and takes significantly fewer faults while the \
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
            "{policy}: page faults moved from the load to the start. The service was {times}; {faults}"
        )),
        _ => Said::NotShown(format!(
            "{policy}: page faults did not move to the start. The service was {times}; {faults}"
        )),
    })
}
