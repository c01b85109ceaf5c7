//! Claims that a policy was put in force by tracing the program, and what that costs.

use super::context::{Context, Evidence};
use super::means::Cost;
use super::{Finding, Outcome, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::policy::realise::Tracer;
use crate::run::stats::median;
use crate::run::trial::Tracing;
use crate::text::number::counted;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct ReachedByTracing;

impl Rule for ReachedByTracing {
    fn id(&self) -> &'static str {
        "reached-by-tracing"
    }

    fn explain(&self) -> &'static str {
        "Claims that thp=always was put in force by tracing: the program was stopped where it \
         mapped memory of at least one huge page, and made to call madvise(MADV_HUGEPAGE) on it. \
         Its times include these stops, which a program under the machine's own setting has not. \
         Evidence: the stops and the ranges that were advised; the policy tracer=idle, which has \
         the same stops without the advice, against the baseline. Refuted by huge pages that \
         the program has without being traced. Next: as root, run with --system, which needs no \
         tracer."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        let policies = context.policies().iter().map(|policy| policy.name.as_str());
        let traced = policies.filter(|policy| *tracer(context, policy) == Tracer::Huge);
        traced
            .filter_map(|policy| finding(self, context, policy))
            .collect()
    }
}

fn tracer<'a>(context: &Context<'a>, policy: &str) -> &'a Tracer {
    let realisation = context.record.header.realisations.get(policy);
    realisation.map_or(&Tracer::None, |realisation| &realisation.tracer)
}

fn finding(rule: &ReachedByTracing, context: &Context<'_>, policy: &str) -> Option<Finding> {
    let trials = arm_trials(context.record, policy);
    let seen: Vec<&Tracing> = trials
        .filter_map(|trial| trial.read_back.tracing.as_ref())
        .collect();
    let stops: Vec<f64> = seen.iter().map(|tracing| tracing.stops as f64).collect();
    let ranges: Vec<f64> = seen.iter().map(|tracing| tracing.ranges as f64).collect();
    let (stops, ranges) = (median(&stops)?, median(&ranges)?);
    let mut evidence = Evidence::default();
    evidence.reading("tracing_stops", policy, stops);
    evidence.reading("tracing_ranges", policy, ranges);
    let cost = Cost::of(context, |it| *tracer(context, &it.name) == Tracer::Idle);
    cost.note(&mut evidence, "tracing_cost_ratio");
    let stops = counted(stops.round() as u64, "time");
    let how = format!("a tracer that stopped the program {stops} a run");
    let mut text = cost.claim(policy, "tracing", &how, "tracer=idle");
    text.push_str(&not_reached(&seen));
    Some(Finding {
        id: rule.id().to_owned(),
        policy: Some(policy.to_owned()),
        outcome: Outcome::Shown,
        text,
        evidence: evidence.0,
        explanation: rule.explain(),
        answers: rule.answers(),
    })
}

/// What tracing could not reach in any of these trials, as the end of a text.
pub(super) fn not_reached(seen: &[&Tracing]) -> String {
    let mut beyond: Vec<&str> = Vec::new();
    for sentence in seen.iter().flat_map(|tracing| &tracing.beyond) {
        if !beyond.contains(&sentence.as_str()) {
            beyond.push(sentence);
        }
    }
    match beyond.is_empty() {
        true => String::new(),
        false => format!(". Not reached: {}", beyond.join("; ")),
    }
}
