//! The answer: for each policy one word, with the reason where a number does not give it.

use std::collections::BTreeMap;

use crate::run::compare::coverage::no_effect;
use crate::run::compare::effect::Level;
use crate::run::compare::rounds::{Arm, Rounds};
use crate::run::compare::{Answer, Change, Comparison, Control, Statistic, Verdict};
use crate::run::metric::Better;
use crate::run::plan::looks::fewest_pairs;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::run::trial::Mark;

/// What the answers are drawn from.
pub(super) struct Evidence<'a> {
    pub(super) record: &'a Record,
    pub(super) rounds: &'a Rounds<'a>,
    pub(super) baseline: &'a Policy,
    pub(super) metric: &'a str,
    pub(super) better: Better,
    pub(super) level: Level,
    pub(super) control: Option<&'a Control>,
}

impl Evidence<'_> {
    /// One answer for each of `comparisons` that is about the verdict metric.
    pub(super) fn verdict(&self, comparisons: &[Comparison]) -> Verdict {
        let mut verdict = Verdict {
            metric: self.metric.to_owned(),
            baseline: self.baseline.name.clone(),
            threshold: self.level.threshold,
            policies: BTreeMap::new(),
            reasons: BTreeMap::new(),
            best: None,
        };
        for comparison in deciding(comparisons, self.metric) {
            let (answer, reason) = self.answer(comparison);
            let name = &comparison.policy;
            verdict.policies.insert(name.clone(), answer);
            verdict
                .reasons
                .extend(reason.map(|reason| (name.clone(), reason)));
        }
        verdict.best = self.best(&verdict, comparisons);
        verdict
    }

    fn answer(&self, comparison: &Comparison) -> (Answer, Option<String>) {
        let policies = &self.record.header.plan.policies;
        let policy = policies
            .iter()
            .find(|policy| policy.name == comparison.policy);
        if let Some(reason) = self.not_treated(&comparison.policy) {
            return (Answer::CannotTell, Some(reason));
        }
        let same = policy.and_then(|p| no_effect(self.record, self.rounds, self.baseline, p));
        if let Some(reason) = same {
            return (Answer::NoEffect, Some(reason));
        }
        if let Some(reason) = self.not_trusted(comparison) {
            return (Answer::CannotTell, Some(reason));
        }
        (word(comparison.change, self.better), None)
    }

    /// Why the trials of a policy say nothing about the policy.
    fn not_treated(&self, policy: &str) -> Option<String> {
        let trials = || self.rounds.trials(Arm::Policy(policy));
        if trials().next().is_none() {
            return Some("no complete round".to_owned());
        }
        if !trials().any(crate::run::trial::Trial::succeeded) {
            let first = trials().next().map(|trial| trial.outcome.to_string());
            return Some(format!(
                "every trial failed, the first: {}",
                first.unwrap_or_default()
            ));
        }
        let baseline = self.rounds.trials(Arm::Policy(&self.baseline.name));
        trials()
            .chain(baseline)
            .flat_map(|trial| &trial.marks)
            .find(|mark| matches!(mark, Mark::NotApplied { .. }))
            .map(ToString::to_string)
    }

    /// Why the numbers do not carry an answer.
    fn not_trusted(&self, comparison: &Comparison) -> Option<String> {
        if let Some(control) = self.control.filter(|control| !control.passed) {
            return Some(distrust(control));
        }
        if self.better == Better::Neither {
            return Some(format!(
                "{} has no better direction; choose another metric",
                self.metric
            ));
        }
        (comparison.low.is_none()).then(|| match comparison.warnings.first() {
            Some(warning) if comparison.n == 0 => {
                format!("{} was not measured: {warning}", self.metric)
            }
            _ => self.too_few(comparison.n),
        })
    }

    /// Where the plan itself had too few, the number to ask for is told: that of the interval,
    /// or with several policies that of the correction, which needs more.
    fn too_few(&self, rounds: u32) -> String {
        let plan = &self.record.header.plan;
        let alpha = self.level.alpha();
        let compared = plan.policies.len().saturating_sub(1).max(1);
        let planned_too_few = plan.bounds.max_rounds < fewest_pairs(alpha);
        let fewest = if planned_too_few {
            fewest_pairs(alpha / compared as f64)
        } else {
            fewest_pairs(alpha)
        };
        let measured = match rounds {
            1 => "only 1 complete round".to_owned(),
            _ => format!("only {rounds} complete rounds"),
        };
        let flag = if planned_too_few {
            format!(" (--max-rounds {fewest})")
        } else {
            String::new()
        };
        format!("{measured}; an answer needs at least {fewest}{flag}")
    }

    fn writes_settings(&self, policy: &str) -> bool {
        let realisation = self.record.header.realisations.get(policy);
        realisation.is_some_and(|realisation| !realisation.files.is_empty())
    }

    /// The better policy with the largest effect, or the baseline when nothing else can be it.
    /// Where that one writes the machine's settings, a better policy that does not and whose
    /// interval overlaps is preferred: as good as far as can be told, and nobody else's business.
    fn best(&self, verdict: &Verdict, comparisons: &[Comparison]) -> Option<String> {
        if self.control.is_some_and(|control| !control.passed) || verdict.policies.is_empty() {
            return None;
        }
        let gain = |comparison: &&Comparison| {
            let effect = comparison.ratio.or(comparison.difference).unwrap_or(0.0);
            if self.better == Better::Higher {
                effect
            } else {
                -effect
            }
        };
        let better = || {
            deciding(comparisons, self.metric).filter(|comparison| {
                verdict.policies.get(&comparison.policy) == Some(&Answer::Better)
            })
        };
        let largest = better().max_by(|a, b| gain(a).total_cmp(&gain(b)));
        let winner = largest.map(|largest| {
            let as_good = better().filter(|other| overlap(largest, other));
            let private = as_good.filter(|other| !self.writes_settings(&other.policy));
            let chosen = private.max_by(|a, b| gain(a).total_cmp(&gain(b)));
            chosen
                .filter(|_| self.writes_settings(&largest.policy))
                .unwrap_or(largest)
        });
        let open = verdict
            .policies
            .values()
            .any(|answer| *answer == Answer::CannotTell);
        match winner {
            Some(winner) => Some(winner.policy.clone()),
            None => (!open).then(|| self.baseline.name.clone()),
        }
    }
}

fn overlap(a: &Comparison, b: &Comparison) -> bool {
    match (a.low, a.high, b.low, b.high) {
        (Some(a_low), Some(a_high), Some(b_low), Some(b_high)) => {
            a_low <= b_high && b_low <= a_high
        }
        _ => false,
    }
}

/// The comparisons that a verdict on `metric` rests on.
fn deciding<'a>(
    comparisons: &'a [Comparison],
    metric: &str,
) -> impl Iterator<Item = &'a Comparison> {
    let is_deciding =
        move |row: &&Comparison| row.metric == metric && row.statistic == Statistic::Center;
    comparisons.iter().filter(is_deciding)
}

pub(super) fn word(change: Change, better: Better) -> Answer {
    match (change, better) {
        (Change::Higher, Better::Higher) | (Change::Lower, Better::Lower) => Answer::Better,
        (Change::Higher, Better::Lower) | (Change::Lower, Better::Higher) => Answer::Worse,
        (Change::NoDifference, _) => Answer::NoDifference,
        (Change::CannotTell, _) | (_, Better::Neither) => Answer::CannotTell,
    }
}

fn distrust(control: &Control) -> String {
    let row = &control.comparison;
    format!(
        "the control failed: the baseline differs from itself in {}, so do not trust this run; run \
         it again",
        row.metric
    )
}
