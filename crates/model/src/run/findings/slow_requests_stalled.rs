//! Claims that the slowest requests were slow while the kernel held the service up.
//!
//! Evidence: more of the slowest thousandth of the requests overlapped with a stall of the
//! service's own threads than when the same stalls are turned around the trial, at 5 % for all
//! policies together (Holm). Refuted where turned stalls meet them as often. That two things come
//! together does not say which brings the other: a service that starts something large may slow
//! down and stall at the same time.
//! Next: the cause that is named, with `trace` and `stat`.

use serde_json::json;

use super::ground::{Ground, label};
use super::{Finding, Outcome, Rule};
use crate::base::units::Unit;
use crate::run::compare::medians::arm_trials;
use crate::run::stats::{ALPHA, holm};
use crate::run::timeline::{Pooled, pool};
use crate::run::trial::timeline::{Held, LONG_NS, Slowest, Unrelated};
use crate::text::number::{percent, quantity};

/// See the module.
#[derive(Debug)]
pub(super) struct SlowRequestsStalled;

impl Rule for SlowRequestsStalled {
    fn id(&self) -> &'static str {
        "slow-requests-stalled"
    }

    fn explain(&self) -> &'static str {
        "Claims that the slowest requests were slow while the kernel held the service up. Evidence: \
         more of the slowest thousandth overlapped with a stall of the service's own threads than \
         when the same stalls are turned around the trial in a thousand steps. Refuted where turned \
         stalls meet them as often. What comes together need not be cause and effect. Next: the \
         cause that is named, by trace."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        let policies = ground.policies().iter();
        let held: Vec<(&str, Vec<&Held>, Pooled)> = policies
            .filter_map(|policy| {
                let held = held(ground, &policy.name);
                let pooled = pool(&held)?;
                Some((&*policy.name, held, pooled))
            })
            .collect();
        if held.is_empty() {
            return why_not(ground)
                .map(|why| self.cannot(&why))
                .into_iter()
                .collect();
        }
        let p: Vec<f64> = held.iter().map(|(.., pooled)| pooled.p).collect();
        let held = held.iter().zip(holm(&p));
        held.map(|((policy, held, pooled), p)| self.of(policy, held, pooled, p))
            .collect()
    }
}

impl SlowRequestsStalled {
    fn cannot(&self, why: &Unrelated) -> Finding {
        Finding {
            explanation: self.explain(),
            answers: false,
            id: self.id().to_owned(),
            policy: None,
            outcome: Outcome::CannotTell,
            text: format!("whether the slowest requests lay in stalls: {why}"),
            evidence: serde_json::Map::from_iter([("cannot_tell".to_owned(), json!(why))]),
        }
    }

    fn of(&self, policy: &str, held: &[&Held], pooled: &Pooled, p: f64) -> Finding {
        let shown = p <= ALPHA;
        let figures = [
            ("slow_requests", json!(pooled.slow)),
            ("slow_in_stall", json!(pooled.slow_in_stall)),
            ("by_chance", json!(pooled.by_chance)),
            ("by_chance_low", json!(pooled.chance_range.0)),
            ("by_chance_high", json!(pooled.chance_range.1)),
            ("p", json!(p)),
        ];
        let figures = figures.map(|(name, value)| (name.to_owned(), value));
        Finding {
            explanation: self.explain(),
            answers: false,
            id: self.id().to_owned(),
            policy: Some(policy.to_owned()),
            outcome: if shown {
                Outcome::Shown
            } else {
                Outcome::NotShown
            },
            text: sentence(policy, held, pooled, shown),
            evidence: serde_json::Map::from_iter(figures),
        }
    }
}

fn sentence(policy: &str, held: &[&Held], pooled: &Pooled, shown: bool) -> String {
    let share = |count: f64| percent(count / pooled.slow as f64);
    let (low, high) = pooled.chance_range;
    let causes = if shown {
        format!(" ({})", causes(held))
    } else {
        String::new()
    };
    format!(
        "{policy}: of the slowest 0.1 % of requests ({}, from {} on) {} % overlapped with a stall of \
         the service of {} or more{causes}; by chance {} % would, {} to {} %",
        pooled.slow,
        quantity(&Unit::Seconds, pooled.slow_from_seconds),
        share(pooled.slow_in_stall as f64),
        quantity(&Unit::Seconds, LONG_NS as f64 / 1e9),
        share(pooled.by_chance),
        share(low as f64),
        share(high as f64),
    )
}

/// How many slow requests met each cause, the most frequent first.
fn causes(held: &[&Held]) -> String {
    let mut sums = std::collections::BTreeMap::<&str, u64>::new();
    for (metric, count) in held.iter().flat_map(|held| &held.slow_by_cause) {
        *sums.entry(metric).or_default() += count;
    }
    let mut sums: Vec<(&str, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = sums
        .iter()
        .map(|(metric, count)| format!("{count} {}", label(metric)));
    told.collect::<Vec<_>>().join(", ")
}

/// What was seen of a policy, its trials that came to an end.
fn held<'a>(ground: &Ground<'a>, policy: &str) -> Vec<&'a Held> {
    let trials = arm_trials(ground.record, policy).filter(|trial| trial.succeeded());
    trials
        .filter_map(|trial| match &trial.timeline.as_ref()?.slowest {
            Slowest::Held(held) => Some(held),
            Slowest::CannotTell(_) => None,
        })
        .collect()
}

/// Why nothing can be told, where somebody might expect that it can: the requests have times.
fn why_not(ground: &Ground<'_>) -> Option<Unrelated> {
    let trials = ground
        .record
        .trials
        .iter()
        .filter(|trial| trial.succeeded());
    let whys = trials.filter_map(|trial| match &trial.timeline.as_ref()?.slowest {
        Slowest::CannotTell(why) => Some(why.clone()),
        Slowest::Held(_) => None,
    });
    let expected = |why: &Unrelated| {
        let silent = [Unrelated::NotAsked, Unrelated::Unread];
        let untimed = matches!(
            why,
            Unrelated::NoTimes { .. } | Unrelated::LongIntervals { .. }
        );
        !silent.contains(why) && !untimed
    };
    whys.into_iter().find(expected)
}
