//! The answer: for each policy one word, with the reason where a number does not give it.

use crate::run::compare::coverage::no_effect;
use crate::run::compare::decision::{
    Question, Runs, decide, fewest_rounds, fewest_rounds_of, is_within_reach,
};
use crate::run::compare::effect::{Draws, Effect};
use crate::run::compare::order::{Order, order};
use crate::run::compare::provisional::{Provisional, provisional};
use crate::run::compare::rounds::{Arm, Pairs, Rounds};
use crate::run::compare::{Answer, Change, Comparison, Statistic, Verdict, Why};
use crate::run::metric::requests::{is_count_of_requests, suffix_metric};
use crate::run::metric::{Better, MetricId};
use crate::run::plan::JudgeBy;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Quantile};
use crate::run::trial::{Mark, Reading, Trial};

/// What the answers are drawn from.
pub(super) struct Evidence<'a> {
    pub(super) record: &'a Record,
    pub(super) rounds: &'a Rounds<'a>,
    pub(super) baseline: &'a Policy,
    pub(super) metric: &'a str,
    pub(super) question: Question,
}

/// A policy with its answer.
pub(super) struct Judgement {
    pub(super) answer: Answer,
    pub(super) reason: Option<Why>,
    /// Whether no further round is needed.
    pub(super) is_settled: bool,
    pub(super) runs: Option<Runs>,
    /// The effect on the typical run, where it may show something.
    pub(super) effect: Option<Effect>,
}

/// Rounds after which a policy is left that changed no page, or was not in force: no round more gives it an answer.
const ROUNDS_WITHOUT_EFFECT: u32 = 3;

impl Evidence<'_> {
    /// One answer for each of `comparisons` that is about the verdict metric.
    pub(super) fn verdict(&self, comparisons: &[Comparison]) -> Verdict {
        let mut verdict = Verdict {
            metric: self.metric.to_owned(),
            baseline: self.baseline.name.clone(),
            threshold: self.question.threshold,
            judge_by: self.question.judge_by,
            order: order(self.record, self.metric),
            ..Verdict::default()
        };
        for comparison in deciding(comparisons, self.metric) {
            let judgement = self.judge(&comparison.policy);
            let name = || comparison.policy.clone();
            let order = verdict.order.as_ref();
            let judged = match self.question.judge_by {
                JudgeBy::P95 if judgement.reason.is_none() => self.by_p95(comparisons, &name()),
                _ => judgement.answer,
            };
            let answer = with_order(judged, &name(), order);
            verdict.policies.insert(name(), answer);
            if answer == Answer::NotDecided && judgement.reason.is_none() {
                let shown = self.provisional(&name());
                verdict.provisional.extend(shown.map(|it| (name(), it)));
                let user = self.user_time(&name(), comparisons);
                verdict.user_time.extend(user.map(|it| (name(), it)));
            }
            let reason = judgement.reason.into_iter();
            verdict.reasons.extend(reason.map(|it| (name(), it)));
            let runs = judgement.runs.into_iter();
            verdict.runs.extend(runs.map(|it| (name(), it)));
        }
        self.choose(&mut verdict, comparisons);
        verdict
    }

    /// The answer of the 95th percentile, as one of the claims.
    fn by_p95(&self, comparisons: &[Comparison], policy: &str) -> Answer {
        let mut rows = comparisons.iter();
        let row = rows.find(|row| {
            row.metric == self.metric
                && row.statistic == Statistic::Quantile(Quantile::P95)
                && row.policy == policy
        });
        let level = ALPHA / f64::from(self.question.claims);
        let clear = row.filter(|row| row.p.is_some_and(|p| p <= level));
        clear.map_or(Answer::NotDecided, |row| {
            word(row.change, self.question.better)
        })
    }

    /// The answer for one policy, leaving out what the order of the trials did.
    pub(super) fn judge(&self, name: &str) -> Judgement {
        let policies = &self.record.header.plan.policies;
        let policy = policies.iter().find(|policy| policy.name == name);
        let pairs = self.pairs(name);
        if let Some(reason) = self.not_run(name) {
            return Judgement::undecided(reason);
        }
        if let Some(reason) = self.not_in_force(name) {
            return Judgement {
                is_settled: pairs.n() >= ROUNDS_WITHOUT_EFFECT,
                ..Judgement::undecided(reason)
            };
        }
        if let Some(reason) = self.not_in_force(&self.baseline.name) {
            return Judgement::undecided(reason);
        }
        let same = policy.and_then(|p| no_effect(self.record, self.rounds, self.baseline, p));
        if let Some(reason) = same {
            return Judgement {
                answer: Answer::NoEffect,
                reason: Some(reason),
                is_settled: pairs.n() >= ROUNDS_WITHOUT_EFFECT,
                runs: None,
                effect: None,
            };
        }
        if let Some(reason) = self.not_measured(&pairs) {
            return Judgement::undecided(reason);
        }
        let Some(decision) = decide(&pairs.centers(), self.question) else {
            return Judgement::undecided(Why::NoRound);
        };
        let by_means = policy.filter(|_| decision.answer == Answer::Worse);
        if let Some(reason) = by_means.and_then(|policy| self.worse_by_means(policy)) {
            return Judgement {
                is_settled: decision.is_settled,
                ..Judgement::undecided(reason)
            };
        }
        Judgement {
            answer: decision.answer,
            reason: None,
            is_settled: decision.is_settled,
            runs: Some(decision.runs),
            effect: decision.effect,
        }
    }

    pub(super) fn draws(&self, policy: &str) -> Draws {
        self.pairs(policy).centers()
    }

    /// Whether the rounds that are left could decide, about user time too where that is told.
    pub(super) fn is_within_reach(&self, policy: &str, rounds: u32) -> bool {
        is_within_reach(&self.draws(policy), self.question, rounds)
            || self.is_same_work() && {
                let user = self
                    .pairs_of(MetricId::UserSeconds.name(), policy)
                    .centers();
                let decision = decide(&user, self.question);
                decision.is_some_and(|it| it.answer == Answer::NotDecided)
                    && is_within_reach(&user, self.question, rounds)
            }
    }

    pub(super) fn pairs(&self, policy: &str) -> Pairs<'_> {
        self.pairs_of(self.metric, policy)
    }

    fn pairs_of(&self, metric: &str, policy: &str) -> Pairs<'_> {
        self.rounds.draws(metric, &self.baseline.name, policy)
    }

    /// Whether user time is clear where the judged metric is not: it often is, because waiting and most
    /// of the kernel's work are not in it. A claim of its own, with 5 % over the judged policies.
    fn user_time(&self, policy: &str, comparisons: &[Comparison]) -> Option<Answer> {
        let mut rows = deciding(comparisons, MetricId::UserSeconds.name());
        let row = rows.find(|row| row.policy == policy && self.is_same_work())?;
        let level = ALPHA / f64::from(self.question.claims);
        let answer = word(row.change, Better::Lower);
        let is_clear = row.p.is_some_and(|p| p <= level);
        (is_clear && matches!(answer, Answer::Better | Answer::Worse)).then_some(answer)
    }

    /// What the rounds show where they are too few to decide; `None` where they are enough.
    fn provisional(&self, policy: &str) -> Option<Vec<Provisional>> {
        let plan = &self.record.header.plan;
        let blocks = plan.blocks.of_first_round(plan.policies.len());
        let needed = fewest_rounds(self.question.claims, blocks);
        let is_usual = matches!(self.question.judge_by, JudgeBy::Shape | JudgeBy::Typical);
        if !is_usual || self.pairs(policy).n() >= needed {
            return None;
        }
        let user = MetricId::UserSeconds.name();
        let metrics = match self.is_same_work() {
            true => vec![self.metric, user],
            false => vec![self.metric],
        };
        // The plan tells huge pages from malloc too, and has told its fewest rounds.
        let needed = needed.max(fewest_rounds_of(
            &plan.policies,
            &plan.baseline,
            plan.blocks,
        ));
        let shown = metrics.into_iter().filter_map(|metric| {
            provisional(metric, &self.pairs_of(metric, policy).centers(), needed)
        });
        Some(shown.collect())
    }

    /// Whether user time is that of the same work in all trials: of a program, of a server under a load
    /// that takes as long as its requests do, or of one that answered as many requests in each. It goes
    /// by the load and never by user time, so that the claim about that is as it would be without.
    fn is_same_work(&self) -> bool {
        let plan = &self.record.header.plan;
        let is_of_requests = || plan.service.is_some() && suffix_metric(self.metric).is_some();
        plan.bench.is_none()
            && (self.metric == MetricId::WallSeconds.name()
                || is_of_requests() && has_same_requests(self.record))
    }

    /// Why no trial of a policy can be compared.
    fn not_run(&self, policy: &str) -> Option<Why> {
        let trials = || self.rounds.trials(Arm::Policy(policy));
        let Some(first) = trials().next() else {
            return Some(Why::NoRound);
        };
        let failed = !trials().any(Trial::succeeded);
        failed.then(|| Why::EveryTrialFailed {
            first: first.outcome.to_string(),
        })
    }

    /// Why the trials of a policy say nothing about the policy: in one of them it was not in force.
    fn not_in_force(&self, policy: &str) -> Option<Why> {
        let trials = self.rounds.trials(Arm::Policy(policy));
        let mut marks = trials.flat_map(|trial| &trial.marks);
        marks.find_map(|mark| match mark {
            Mark::NotApplied { detail } => Some(Why::ReadBackDiffers {
                detail: detail.clone(),
            }),
            _ => None,
        })
    }

    /// Why the numbers do not carry an answer.
    fn not_measured(&self, pairs: &Pairs<'_>) -> Option<Why> {
        if self.question.better == Better::Neither {
            return Some(Why::NoDirection);
        }
        let warning = pairs.warnings().into_iter().next();
        warning
            .filter(|_| pairs.n() == 0)
            .map(|warning| Why::NotMeasured {
                reason: warning.to_string(),
            })
    }
}

/// Whether the service answered as many requests of each kind in every trial that succeeded.
fn has_same_requests(record: &Record) -> bool {
    let counts = |trial: &Trial| -> Vec<(String, Reading)> {
        let readings = trial.readings.iter();
        let counted = readings.filter(|(name, _)| is_count_of_requests(name));
        let counted = counted.map(|(name, reading)| (name.clone(), reading.clone()));
        counted.collect()
    };
    let mut trials = record.trials.iter().filter(|trial| trial.succeeded());
    let first = trials.next().map(counts).unwrap_or_default();
    let is_read = first
        .iter()
        .all(|(_, it)| matches!(it, Reading::Value { .. }));
    !first.is_empty() && is_read && trials.all(|trial| counts(trial) == first)
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
        (Change::CannotTell, _) | (_, Better::Neither) => Answer::NotDecided,
    }
}

/// Where the order matters so much that a policy is better after one kind of trial and worse
/// after another, neither word is the program's. Where no word was found, both have to be shown: this is a claim then, and
/// takes none back.
fn with_order(answer: Answer, policy: &str, order: Option<&Order>) -> Answer {
    let sensitive =
        order.filter(|order| order.matters() && order.policies.iter().any(|it| it == policy));
    let ends = sensitive.and_then(Order::ends);
    match (answer, ends) {
        (Answer::Mixed | Answer::RarelyWorse | Answer::NoEffect, _) | (_, None) => answer,
        (_, Some((first, last))) if (first < 1.0) == (last < 1.0) => answer,
        (Answer::NotDecided, _) if !order.is_some_and(Order::shows_both_ways) => answer,
        _ => Answer::DependsOnOrder,
    }
}

impl Judgement {
    fn undecided(reason: Why) -> Self {
        Self {
            answer: Answer::NotDecided,
            reason: Some(reason),
            is_settled: false,
            runs: None,
            effect: None,
        }
    }
}
