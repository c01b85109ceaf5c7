//! Every effect of an experiment as a claim.

use std::collections::BTreeMap;

use super::plain::{effect, interval, of_row, plain_call};
use super::{Work, idle, starts};
use crate::run::answer::{Against, Budget, Call, Claim, Contrast, Covers, Effect, Needs, When};
use crate::run::cause::facts;
use crate::run::compare::labels::metric_of;
use crate::run::compare::{
    Change, Comparison, Gain, Interaction, PolicyAnswer, Provisional, Rival, Statistic, Why,
};
use crate::run::metric::MetricId;
use crate::run::metric::requests::{RequestMetric, quantile_end};
use crate::run::plan::JudgeBy;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Quantile, holm};
use crate::run::trial::Role;

/// Every claim: first the judged metric, then contrasts that isolate huge pages, the controls, runs after idle, starts,
/// and all other metrics.
pub(super) fn claims(work: &Work<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    claims.extend(verdicts(work));
    claims.extend(pages_alone(work));
    claims.extend(control(work));
    claims.extend(idle::after_idle(work));
    claims.extend(idle::by_host_memory(work));
    claims.extend(rivals(work));
    claims.extend(gains(work));
    claims.extend(starts::per_start(work));
    claims.extend(rows(work));
    claims
}

/// The judged metric of every policy.
fn verdicts<'a>(work: &'a Work<'_>) -> impl Iterator<Item = Claim> + 'a {
    let names = work.table().verdict.policies.iter();
    let in_order: BTreeMap<usize, (&String, &PolicyAnswer)> = names
        .map(|(name, answer)| {
            let mut policies = work.record().header.plan.policies.iter();
            let at = policies.position(|policy| policy.name == *name);
            (at.unwrap_or(usize::MAX), (name, answer))
        })
        .collect();
    in_order.into_values().filter_map(|(name, answer)| {
        let row = work.judged(name)?;
        let call = verdict_call(work, name, *answer, &row);
        if work.source.other.is_some() {
            return Some(match work.records_a_side() {
                Some(_) => of_row(work, &row, Budget::Verdict, Covers::Sessions, call),
                None => of_row(work, &row, Budget::Uncorrected, Covers::Row, call),
            });
        }
        let mut claim = of_row(work, &row, Budget::Verdict, Covers::Verdict, call);
        claim.agreeing = agreeing(work.record(), &row);
        if let Some(shown) = provisional(work, name, &row.metric) {
            let needs = Needs {
                fewest_rounds: Some(shown.needed),
                ..Needs::default()
            };
            claim.effect = Some(effect(shown.scale, shown.estimate));
            claim.interval = Some(interval(shown.least, shown.most, Covers::Range));
            claim.agreeing = Some(shown.same_direction);
            claim.call = Call::Open(needs);
        }
        Some(claim)
    })
}

fn provisional<'a>(work: &Work<'a>, policy: &str, metric: &str) -> Option<&'a Provisional> {
    let shown = work.table().verdict.provisional.get(policy)?;
    shown.iter().find(|it| it.metric == metric)
}

/// The call for a policy.
fn verdict_call(work: &Work<'_>, policy: &str, answer: PolicyAnswer, row: &Comparison) -> Call {
    let verdict = &work.table().verdict;
    if has_same_pages(work, row) {
        return Call::SamePages(Why::SameInCell);
    }
    if let Some(why) = verdict.reasons.get(policy) {
        return super::arms::without_answer(work, policy, answer, why);
    }
    let runs = verdict.runs.get(policy);
    match (answer, runs, &verdict.order) {
        (PolicyAnswer::Better, ..) => Call::Better,
        (PolicyAnswer::Worse, ..) => Call::Worse,
        (PolicyAnswer::NoDifference, ..) => Call::Same,
        (PolicyAnswer::RarelyWorse, Some(runs), _) => Call::RareSlow(runs.clone()),
        (PolicyAnswer::Mixed, Some(runs), _) => Call::Mixed(runs.clone()),
        (PolicyAnswer::DependsOnOrder, _, Some(order)) => Call::DependsOnOrder {
            p: order.p,
            strata: order.strata.clone(),
        },
        _ => Call::Open(Needs::default()),
    }
}

/// The isolated effect of huge pages: a policy against the same malloc with small pages.
fn pages_alone<'a>(work: &'a Work<'_>) -> impl Iterator<Item = Claim> + 'a {
    work.table().pages_alone.iter().map(|it| {
        let row = &it.comparison;
        let call = match it.answer {
            PolicyAnswer::Better => Call::Better,
            PolicyAnswer::Worse => Call::Worse,
            PolicyAnswer::NoDifference => Call::Same,
            _ => Call::Open(Needs::default()),
        };
        let mut claim = of_row(work, row, Budget::Own, Covers::Verdict, call);
        claim.contrast.against = Against::SmallPagesSameMalloc(row.baseline.clone());
        claim.agreeing = agreeing(work.record(), row);
        claim
    })
}

/// The baseline against itself.
fn control(work: &Work<'_>) -> Option<Claim> {
    let row = &work.table().control.as_ref()?.comparison;
    let metric = metric_of(work.record(), &row.metric);
    let call = plain_call(row.change, metric.better);
    let mut claim = of_row(work, row, Budget::Own, Covers::Row, call);
    claim.contrast.against = Against::Itself;
    Some(claim)
}

/// Policies not shown to differ from the best one.
fn rivals<'a>(work: &'a Work<'_>) -> impl Iterator<Item = Claim> + 'a {
    let verdict = &work.table().verdict;
    let best = verdict.best.clone().unwrap_or_default();
    verdict.equals.iter().map(move |rival: &Rival| Claim {
        contrast: Contrast {
            arm: best.clone(),
            against: Against::Rival(rival.policy.clone()),
            when: When::BackToBack,
            metric: verdict.metric.clone(),
            statistic: Statistic::Center,
        },
        effect: rival.estimate.map(|size| effect(rival.scale, size)),
        interval: rival
            .low
            .zip(rival.high)
            .map(|(low, high)| interval(low, high, Covers::Verdict)),
        from: None,
        to: None,
        rounds: rival.rounds,
        agreeing: None,
        call: Call::Open(Needs::default()),
        budget: Budget::Own,
        p: None,
        warnings: Vec::new(),
    })
}

/// The additional gain of a program from a policy over the first program's gain.
fn gains<'a>(work: &'a Work<'_>) -> impl Iterator<Item = Claim> + 'a {
    work.table()
        .interactions
        .iter()
        .map(|it: &Interaction| Claim {
            contrast: Contrast {
                arm: arm_of(work, &it.program, &it.policy),
                against: Against::GainOfProgram(it.baseline_program.clone()),
                when: When::BackToBack,
                metric: work.table().verdict.metric.clone(),
                statistic: Statistic::Center,
            },
            effect: it.points.map(Effect::Points),
            interval: it
                .low
                .zip(it.high)
                .map(|(low, high)| interval(low, high, Covers::Verdict)),
            from: None,
            to: None,
            rounds: it.n,
            agreeing: None,
            call: match it.gain {
                Gain::More => Call::Better,
                Gain::Less => Call::Worse,
                Gain::Alike => Call::Same,
                Gain::NotDecided => Call::Open(Needs::default()),
            },
            budget: Budget::Own,
            p: None,
            warnings: Vec::new(),
        })
}

/// The arm of a program under a policy.
fn arm_of(work: &Work<'_>, program: &str, policy: &str) -> String {
    let mut programs = work.record().header.plan.programs.iter();
    let program = programs.find(|it| it.name == program);
    program.map_or_else(|| policy.to_owned(), |it| it.under(policy))
}

/// All metrics but the judged property.
fn rows<'a>(work: &'a Work<'_>) -> impl Iterator<Item = Claim> + 'a {
    let verdict = &work.table().verdict;
    let judged = match verdict.judge_by {
        JudgeBy::P95 => Statistic::Quantile(Quantile::P95),
        _ => Statistic::Center,
    };
    let corrected = Corrected::of(work);
    let rows = work.table().comparisons.iter();
    let others = rows.filter(move |row| row.metric != verdict.metric || row.statistic != judged);
    others.map(move |row| {
        let metric = metric_of(work.record(), &row.metric);
        let user_time = row.metric == MetricId::UserSeconds.name()
            && row.statistic == Statistic::Center
            && verdict.user_time.contains_key(&row.policy);
        let budget = match user_time || corrected.has(row) {
            true => Budget::Own,
            false => Budget::Uncorrected,
        };
        let call = match (has_same_pages(work, row), pool_left_out(work, row)) {
            (true, _) => Call::SamePages(Why::SameInCell),
            (false, Some(bytes)) => Call::NotRun(Why::PoolLeftOut { bytes }),
            (false, None) => plain_call(row.change, metric.better),
        };
        let covers = match work.records_a_side() {
            Some(_) => Covers::Sessions,
            None => Covers::Row,
        };
        let mut claim = of_row(work, row, budget, covers, call);
        if budget == Budget::Own {
            claim.agreeing = agreeing(work.record(), row);
        }
        claim
    })
}

/// Resident and charged memory, which exclude hugetlb pages.
const RESIDENT: [MetricId; 5] = [
    MetricId::PeakRssBytes,
    MetricId::PeakTreeRssBytes,
    MetricId::PeakTreePssBytes,
    MetricId::CgroupPeakBytes,
    MetricId::RssMeanBytes,
];

/// Returns the bytes of a pool that a memory metric excludes under one of its two arms.
fn pool_left_out(work: &Work<'_>, row: &Comparison) -> Option<f64> {
    let is_memory = RESIDENT.iter().any(|id| id.name() == row.metric);
    let used = |arm: &String| {
        facts::pool_bytes(&work.context.settings(arm))?;
        let used = work.context.medians.get(arm, MetricId::HugetlbPeakBytes);
        used.ok().filter(|used| *used > 0.0)
    };
    let arms = [&row.policy, &row.baseline];
    arms.into_iter().filter(|_| is_memory).find_map(used)
}

/// Returns true if a cell of a bench has the same pages under the policy and the baseline.
fn has_same_pages(work: &Work<'_>, row: &Comparison) -> bool {
    let cells = work.source.cells.filter(|_| work.source.other.is_none());
    cells.is_some_and(|cells| cells.has_same_pages(&row.metric, &row.policy))
}

/// The part of the error of all rows that the requested ones share; all others have the rest.
const OF_ASKED: f64 = 0.6;

/// The rows whose effect is shown even though all rows of an experiment share 5 %, by Holm's correction. Most of the
/// error is for the requested rows: those printed by the workload, its requests, and its cost in memory.
struct Corrected<'a> {
    shown: Vec<&'a Comparison>,
}

impl<'a> Corrected<'a> {
    fn of(work: &Work<'a>) -> Self {
        let plan = &work.record().header.plan;
        let judged = &work.table().verdict.metric;
        let rows = work.table().comparisons.iter();
        let rows =
            rows.filter(|row| row.metric != *judged && !plan.is_overhead_control(&row.policy));
        let (asked, others): (Vec<_>, Vec<_>) = rows.partition(|row| is_asked(work, row));
        let mut shown = shown_together(&asked, OF_ASKED * ALPHA);
        shown.extend(shown_together(&others, (1.0 - OF_ASKED) * ALPHA));
        Self { shown }
    }

    fn has(&self, row: &Comparison) -> bool {
        self.shown.iter().any(|it| std::ptr::eq(*it, row))
    }
}

/// Returns true for a row printed by the workload, about its requests, or about its cost in memory.
fn is_asked(work: &Work<'_>, row: &Comparison) -> bool {
    let mut printed = work.record().header.plan.printed.iter();
    let is_printed = printed.any(|known| known.name == row.metric);
    is_printed || is_of_requests(row) || facts::is_price_of_memory(row)
}

/// Returns true for a claim shown together with an open verdict: user time, or a requested row.
pub(super) fn is_shown_beside(work: &Work<'_>, claim: &Claim) -> bool {
    let contrast = &claim.contrast;
    let mut rows = work.table().comparisons.iter();
    let row = rows.find(|row| {
        row.metric == contrast.metric
            && row.statistic == contrast.statistic
            && row.policy == contrast.arm
    });
    let is_user_time = contrast.metric == MetricId::UserSeconds.name();
    claim.budget == Budget::Own
        && claim.call.is_shown()
        && row.is_some_and(|row| is_user_time || is_asked(work, row))
}

/// The rows shown if all of these share an error. Facts need no test.
fn shown_together<'a>(rows: &[&'a Comparison], error: f64) -> Vec<&'a Comparison> {
    let p: Vec<f64> = rows.iter().map(|row| row.p.unwrap_or(1.0)).collect();
    let adjusted = holm(&p).into_iter().zip(rows);
    let shown = adjusted.filter(|(adjusted, row)| {
        let is_directed = matches!(row.change, Change::Higher | Change::Lower);
        let is_fact = row.p.is_some_and(|p| p > ALPHA);
        is_directed && (is_fact || *adjusted <= error)
    });
    shown.map(|(_, row)| *row).collect()
}

/// Throughput, or the p99 of a latency.
fn is_of_requests(row: &Comparison) -> bool {
    match row.statistic {
        Statistic::Quantile(quantile) => {
            quantile == Quantile::P99 && row.metric.ends_with(RequestMetric::Latency.name())
        }
        Statistic::Center => {
            row.metric.ends_with(RequestMetric::Throughput.name())
                || row.metric.ends_with(&quantile_end(Quantile::P99))
        }
    }
}

/// Number of whole rounds in which the arm is on the side of its effect; `None` without an effect.
fn agreeing(record: &Record, row: &Comparison) -> Option<u32> {
    let is_above = match (row.ratio, row.difference) {
        (Some(ratio), _) => ratio > 1.0,
        (None, Some(difference)) => difference > 0.0,
        (None, None) => return None,
    };
    let mut rounds: BTreeMap<u32, (Vec<f64>, Option<f64>)> = BTreeMap::new();
    let whole = record.whole_rounds();
    let trials = record.trials.iter();
    for trial in trials.filter(|it| it.succeeded() && whole.contains(&it.round)) {
        let Some(value) = trial.value(&row.metric) else {
            continue;
        };
        let (baseline, policy) = rounds.entry(trial.round).or_default();
        if trial.policy == row.baseline {
            baseline.push(value);
        } else if trial.policy == row.policy && trial.role == Role::Arm {
            *policy = Some(value);
        }
    }
    let changes = rounds.values().filter_map(|(baseline, policy)| {
        let usual =
            (!baseline.is_empty()).then(|| baseline.iter().sum::<f64>() / baseline.len() as f64)?;
        Some((*policy)? - usual)
    });
    let agree = changes.filter(|change| (*change > 0.0) == is_above && *change != 0.0);
    Some(agree.count() as u32)
}
