//! The answer: one word for each policy, with a reason if a number does not give it.

use crate::run::compare::coverage::no_effect;
use crate::run::compare::decision::{
    Question, Runs, decide, fewest_rounds, fewest_rounds_of, is_within_reach,
};
use crate::run::compare::effect::{Draws, Effect};
use crate::run::compare::order::{Order, order};
use crate::run::compare::provisional::{Provisional, provisional};
use crate::run::compare::rounds::{Arm, Pairs, Rounds};
use crate::run::compare::{Change, Comparison, PolicyAnswer, Statistic, Verdict, Why};
use crate::run::metric::requests::{is_count_of_requests, suffix_metric};
use crate::run::metric::{Better, MetricId};
use crate::run::plan::JudgeBy;
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Quantile};
use crate::run::trial::{Mark, Reading, Trial};

/// The evidence for the answers.
pub(super) struct Evidence<'a> {
    pub(super) record: &'a Record,
    pub(super) rounds: &'a Rounds<'a>,
    pub(super) baseline: &'a Policy,
    pub(super) metric: &'a str,
    pub(super) question: Question,
}

/// A policy with its answer.
pub(super) struct Judgement {
    pub(super) answer: PolicyAnswer,
    pub(super) reason: Option<Why>,
    /// True if no further round is needed.
    pub(super) is_settled: bool,
    pub(super) runs: Option<Runs>,
    /// The effect on the typical run, if it may show something.
    pub(super) effect: Option<Effect>,
}

/// Rounds after which a policy is dropped if it changed no page or was not applied: no further round gives it an
/// answer.
const ROUNDS_WITHOUT_EFFECT: u32 = 3;

/// One period in so many may lose its pages before its policy counts as not applied.
const PERIODS_PER_LAPSE: usize = 10;

impl Evidence<'_> {
    /// One answer for each of `comparisons` in the verdict metric.
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
            if answer == PolicyAnswer::NotDecided && judgement.reason.is_none() {
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

    /// The answer for the 95th percentile, as one of the claims.
    fn by_p95(&self, comparisons: &[Comparison], policy: &str) -> PolicyAnswer {
        let mut rows = comparisons.iter();
        let row = rows.find(|row| {
            row.metric == self.metric
                && row.statistic == Statistic::Quantile(Quantile::P95)
                && row.policy == policy
        });
        let level = ALPHA / f64::from(self.question.claims);
        let clear = row.filter(|row| row.p.is_some_and(|p| p <= level));
        clear.map_or(PolicyAnswer::NotDecided, |row| {
            word(row.change, self.question.better)
        })
    }

    /// The answer for one policy, without the effect of the order of the trials.
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
                answer: PolicyAnswer::NoEffect,
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
        let by_means = policy.filter(|_| decision.answer == PolicyAnswer::Worse);
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

    /// Returns true if the remaining rounds could decide, including about user time if it is reported.
    pub(super) fn is_within_reach(&self, policy: &str, rounds: u32) -> bool {
        is_within_reach(&self.draws(policy), self.question, rounds)
            || self.is_same_work() && {
                let user = self
                    .pairs_of(MetricId::UserSeconds.name(), policy)
                    .centers();
                let decision = decide(&user, self.question);
                decision.is_some_and(|it| it.answer == PolicyAnswer::NotDecided)
                    && is_within_reach(&user, self.question, rounds)
            }
    }

    pub(super) fn pairs(&self, policy: &str) -> Pairs<'_> {
        self.pairs_of(self.metric, policy)
    }

    fn pairs_of(&self, metric: &str, policy: &str) -> Pairs<'_> {
        self.rounds.draws(metric, &self.baseline.name, policy)
    }

    /// Returns the answer for user time if it is clear and the judged metric is not. This is common, because user time
    /// excludes waiting and most of the kernel's work. A separate claim, with 5 % over the judged policies.
    fn user_time(&self, policy: &str, comparisons: &[Comparison]) -> Option<PolicyAnswer> {
        let mut rows = deciding(comparisons, MetricId::UserSeconds.name());
        let row = rows.find(|row| row.policy == policy && self.is_same_work())?;
        let level = ALPHA / f64::from(self.question.claims);
        let answer = word(row.change, Better::Lower);
        let is_clear = row.p.is_some_and(|p| p <= level);
        (is_clear && matches!(answer, PolicyAnswer::Better | PolicyAnswer::Worse)).then_some(answer)
    }

    /// The results of rounds that are too few to decide; `None` if they are enough.
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
        // The plan also separates huge pages from malloc, and has announced its fewest rounds.
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

    /// Returns true if user time is for the same work in all trials. This holds for a program, for a server under a
    /// load that lasts as long as its requests take, and for one that answered equally many requests in each. It
    /// depends on the load and never on user time, so the claim about user time stays valid.
    fn is_same_work(&self) -> bool {
        let plan = &self.record.header.plan;
        let is_of_requests = || plan.service.is_some() && suffix_metric(self.metric).is_some();
        plan.bench.is_none()
            && (self.metric == MetricId::WallSeconds.name()
                || is_of_requests() && has_same_requests(self.record))
    }

    /// Returns why no trial of a policy can be compared.
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

    /// Returns why the trials of a policy are no evidence about it: in one of them it was not applied. A few periods of
    /// a running process may lapse: they stay in the comparison, and make the effect smaller.
    fn not_in_force(&self, policy: &str) -> Option<Why> {
        let trials: Vec<&Trial> = self.rounds.trials(Arm::Policy(policy)).collect();
        let lapses = trials.iter().filter(|it| it.lacked_its_policy()).count();
        let allowed = match self.record.header.plan.live {
            Some(_) => trials.len() / PERIODS_PER_LAPSE,
            None => 0,
        };
        if lapses <= allowed {
            return None;
        }
        let mut marks = trials.iter().flat_map(|trial| &trial.marks);
        marks.find_map(|mark| match mark {
            Mark::NotApplied { detail } => Some(Why::ReadBackDiffers {
                detail: detail.clone(),
            }),
            _ => None,
        })
    }

    /// Returns why the numbers do not support an answer.
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

/// Returns true if the service answered equally many requests of each kind in every successful trial.
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

/// The comparisons that decide a verdict on `metric`.
fn deciding<'a>(
    comparisons: &'a [Comparison],
    metric: &str,
) -> impl Iterator<Item = &'a Comparison> {
    let is_deciding =
        move |row: &&Comparison| row.metric == metric && row.statistic == Statistic::Center;
    comparisons.iter().filter(is_deciding)
}

pub(super) fn word(change: Change, better: Better) -> PolicyAnswer {
    match (change, better) {
        (Change::Higher, Better::Higher) | (Change::Lower, Better::Lower) => PolicyAnswer::Better,
        (Change::Higher, Better::Lower) | (Change::Lower, Better::Higher) => PolicyAnswer::Worse,
        (Change::NoDifference, _) => PolicyAnswer::NoDifference,
        (Change::CannotTell, _) | (_, Better::Neither) => PolicyAnswer::NotDecided,
    }
}

/// Replaces the answer if the order matters so much that a policy is better after one kind of trial and worse after
/// another. Neither word then describes the program. If there was no answer, both directions have to be shown: this is
/// then a claim, and withdraws none.
fn with_order(answer: PolicyAnswer, policy: &str, order: Option<&Order>) -> PolicyAnswer {
    let sensitive =
        order.filter(|order| order.matters() && order.policies.iter().any(|it| it == policy));
    let ends = sensitive.and_then(Order::ends);
    match (answer, ends) {
        (PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse | PolicyAnswer::NoEffect, _)
        | (_, None) => answer,
        (_, Some((first, last))) if (first < 1.0) == (last < 1.0) => answer,
        (PolicyAnswer::NotDecided, _) if !order.is_some_and(Order::shows_both_ways) => answer,
        _ => PolicyAnswer::DependsOnOrder,
    }
}

impl Judgement {
    fn undecided(reason: Why) -> Self {
        Self {
            answer: PolicyAnswer::NotDecided,
            reason: Some(reason),
            is_settled: false,
            runs: None,
            effect: None,
        }
    }
}
