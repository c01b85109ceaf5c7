//! Programs that run one thread at a time: parts of their CPU time are then parts of their wall time.

use super::super::context::View;
use crate::run::metric::MetricId;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// CPU time over wall time, up to which a program counts as one thread.
const ALONE: f64 = 1.05;

/// Returns true for one thread at a time under both arms; false when user time was not read.
///
/// The question is asked of each trial, because medians of parts do not add up to that of the whole.
pub(super) fn runs_alone(view: &View<'_, '_>) -> bool {
    [view.context.baseline(), view.arm].into_iter().all(|arm| {
        let busy: Option<Vec<f64>> = view.good_trials(arm).map(processors_used).collect();
        busy.as_deref()
            .and_then(median)
            .is_some_and(|busy| busy <= ALONE)
    })
}

/// Returns CPU time over wall time.
fn processors_used(trial: &Trial) -> Option<f64> {
    let busy = trial.value(MetricId::UserSeconds)? + trial.value(MetricId::SystemSeconds)?;
    let wall = trial.value(MetricId::WallSeconds)?;
    (wall > 0.0).then(|| busy / wall)
}
