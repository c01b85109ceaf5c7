//! Claims that a policy did not save a service its page faults, but had them before the load.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
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

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        if context.record.header.plan.service.is_none() {
            return Vec::new();
        }
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let (before, after) = view.both(READY)?;
    let (faults_before, faults_after) = view.both(FAULTS)?;
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
    let policy = view.policy;
    Ok(match (view.change(READY), view.change(FAULTS)) {
        (Some(Change::Higher), Some(Change::Lower)) => Claim::Shown(format!(
            "{policy}: page faults moved from the load to the start. The service was {times}; {faults}"
        )),
        _ => Claim::NotShown(format!(
            "{policy}: page faults did not move to the start. The service was {times}; {faults}"
        )),
    })
}
