//! The slowest requests were slow while the kernel stalled the service.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::paired::good_trials;
use super::super::{CauseOutcome, Context, Kind};
use super::Found;
use crate::run::stats::{ALPHA, holm};
use crate::run::timeline::{Pooled, pool};
use crate::run::trial::Trial;
use crate::run::trial::timeline::{Held, Slowest, Unrelated};

/// The slowest thousandth of requests compared with stalls of the service's threads.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(untagged)]
pub enum SlowRequestsStalled {
    /// They were compared with stalls.
    Held {
        /// Slow requests.
        slow: u64,
        /// Duration of the fastest of these, in seconds.
        slow_from_seconds: f64,
        /// Number of those that overlapped with a stall.
        in_stall: u64,
        /// The number expected by chance.
        by_chance: f64,
        /// Both ends of the range expected by chance.
        chance_range: [u64; 2],
        /// p-value, corrected for the number of arms.
        p: f64,
        /// Number that overlapped with each cause, by its metric.
        by_cause: BTreeMap<String, u64>,
    },
    /// They could not be compared, although the requests have times.
    Unrelated {
        /// Why.
        unrelated: Unrelated,
    },
}

pub(in super::super) fn check(context: &Context<'_>) -> Vec<Found> {
    let policies = context.policies().iter();
    let held = policies.filter_map(|policy| {
        let held = held(context, &policy.name);
        let pooled = pool(&held)?;
        Some((policy.name.clone(), held, pooled))
    });
    let held: Vec<(String, Vec<&Held>, Pooled)> = held.collect();
    if held.is_empty() {
        let why = why_not(context).map(|unrelated| {
            let found = SlowRequestsStalled::Unrelated { unrelated };
            (
                None,
                CauseOutcome::CannotTell,
                Kind::SlowRequestsStalled(found),
            )
        });
        return why.into_iter().collect();
    }
    let p: Vec<f64> = held.iter().map(|(.., pooled)| pooled.p).collect();
    let held = held.into_iter().zip(holm(&p));
    let found = held.map(|((arm, held, pooled), p)| {
        let kind = Kind::SlowRequestsStalled(figures(&held, &pooled, p));
        (Some(arm), CauseOutcome::shown_if(p <= ALPHA), kind)
    });
    found.collect()
}

fn figures(held: &[&Held], pooled: &Pooled, p: f64) -> SlowRequestsStalled {
    let mut by_cause = BTreeMap::<String, u64>::new();
    for (metric, count) in held.iter().flat_map(|held| &held.slow_by_cause) {
        *by_cause.entry(metric.clone()).or_default() += count;
    }
    SlowRequestsStalled::Held {
        slow: pooled.slow,
        slow_from_seconds: pooled.slow_from_seconds,
        in_stall: pooled.slow_in_stall,
        by_chance: pooled.by_chance,
        chance_range: pooled.chance_range.into(),
        p,
        by_cause,
    }
}

/// Returns the requests of an arm's successful trials.
fn held<'a>(context: &Context<'a>, arm: &str) -> Vec<&'a Held> {
    let slowest = good_trials(context.record, arm).filter_map(slowest);
    let held = slowest.filter_map(|slowest| match slowest {
        Slowest::Held(held) => Some(held),
        Slowest::CannotTell(_) => None,
    });
    held.collect()
}

fn slowest(trial: &Trial) -> Option<&Slowest> {
    Some(&trial.timeline.as_ref()?.slowest)
}

/// Returns why this is undecidable, if a decision could be expected: the requests have times.
fn why_not(context: &Context<'_>) -> Option<Unrelated> {
    let trials = context.record.trials.iter().filter(|it| it.succeeded());
    let slowest = trials.filter_map(slowest);
    let mut whys = slowest.filter_map(|slowest| match slowest {
        Slowest::CannotTell(why) => Some(why),
        Slowest::Held(_) => None,
    });
    let is_usual = |why: &&Unrelated| {
        matches!(why, Unrelated::NotAsked | Unrelated::Unread)
            || matches!(
                why,
                Unrelated::NoTimes { .. } | Unrelated::LongIntervals { .. }
            )
    };
    whys.find(|why| !is_usual(why)).cloned()
}
