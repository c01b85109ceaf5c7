//! Whether a program runs one thread at a time: parts of its processor time are then parts of its wall
//! time.

use super::context::PolicyView;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// Processor time over wall time, up to which a program counts as one thread.
const ALONE: f64 = 1.05;

/// Whether processor time is time of the wall: one thread at a time, under both policies. The
/// question is asked of each trial, because medians of parts do not add up to that of the whole.
/// Where user time was not read this is not known, and nothing may be worked out.
pub(super) fn runs_alone(view: &mut PolicyView<'_, '_>) -> bool {
    let policies = [view.context.baseline(), view.policy];
    policies.into_iter().all(|policy| {
        let trials = arm_trials(view.context.record, policy).filter(|trial| trial.succeeded());
        let busy: Option<Vec<f64>> = trials.map(processors_used).collect();
        let Some(busy) = busy.as_deref().and_then(median) else {
            return false;
        };
        view.evidence.reading("processors_used", policy, busy);
        busy <= ALONE
    })
}

/// Processor time over wall time.
fn processors_used(trial: &Trial) -> Option<f64> {
    let busy = trial.value(MetricId::UserSeconds)? + trial.value(MetricId::SystemSeconds)?;
    Some(
        busy / trial
            .value(MetricId::WallSeconds)
            .filter(|&wall| wall > 0.0)?,
    )
}
