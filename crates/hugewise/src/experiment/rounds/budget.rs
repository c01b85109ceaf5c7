//! How long rounds go on.

use std::time::{Duration, Instant};

use hugewise_model::run::compare::Progress;
use hugewise_model::run::plan::Plan;
use hugewise_model::run::record::{Record, StopReason};
use hugewise_model::run::trial::{Reading, Trial};

/// Why no further round is needed, if so.
pub(super) fn stop(record: &Record, so_far: &Progress, began: Instant) -> Option<StopReason> {
    let bounds = &record.header.plan.bounds;
    let time_is_up = bounds.max_time.is_some_and(|most| began.elapsed() >= most)
        && bounds
            .least_rounds
            .is_none_or(|least| so_far.rounds >= least);
    let first_rounds = (so_far.rounds >= 2).then(|| nothing_to_judge(record));
    first_rounds
        .flatten()
        .or(so_far.stop)
        .or_else(|| time_is_up.then_some(StopReason::MaxTime))
}

/// How many more rounds there is time for, if they take as long as the `done` ones did.
pub(super) fn rounds_left(plan: &Plan, done: u32, elapsed: Duration) -> u32 {
    let bounds = &plan.bounds;
    let planned = bounds.max_rounds.saturating_sub(done);
    let Some(most) = bounds.max_time else {
        return planned;
    };
    let left = most.saturating_sub(elapsed).as_secs_f64();
    let each = elapsed.as_secs_f64() / f64::from(done);
    planned.min((left / each.max(1e-9)) as u32)
}

/// Why more rounds would bring nothing either.
fn nothing_to_judge(record: &Record) -> Option<StopReason> {
    let metric = &record.header.plan.verdict_metric;
    let judged = |trial: &Trial| match trial.readings.get(metric) {
        Some(Reading::Missing { .. }) | None => false,
        Some(_) => true,
    };
    let mut succeeded = record
        .trials
        .iter()
        .filter(|trial| trial.succeeded())
        .peekable();
    if succeeded.peek().is_none() {
        return Some(StopReason::WorkloadFails);
    }
    (!succeeded.any(judged)).then_some(StopReason::VerdictUnmeasured)
}
