//! The answer for one policy: a sentence with its interval. It is given where no policy is about huge
//! pages, for a bench, and for two records.

use super::super::Report;
use super::super::interval::{Sign, interval};
use super::effect::Effect;
use super::{Pair, is_answer, judged, provisional, sentence_label, shape, user_time};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Change, Comparison, fewest_rounds_of};
use crate::run::metric::Metric;
use crate::run::plan::JudgeBy;
use crate::run::stats::FEWEST_FOR_A_MEAN;
use crate::text::ends::least_shown;
use crate::text::number::{chosen_percent, counted};
use crate::text::wrap::plain;

pub(super) fn sentence(report: &Report<'_>, policy: &str, pair: &Pair) -> String {
    let verdict = &report.table.verdict;
    let comparison = judged(report, policy);
    let comparison = comparison.as_ref();
    let reason = verdict.reasons.get(policy).map(|reason| plain(&reason.to_string()));
    match (verdict.policies.get(policy), comparison) {
        (Some(Answer::NoEffect), _) => no_effect(report, policy, pair, reason.as_deref()),
        (Some(Answer::Better | Answer::Worse), Some(comparison)) => {
            differs(report, comparison, pair)
        }
        (Some(Answer::NoDifference), Some(comparison)) => same(report, comparison, pair),
        (Some(Answer::Mixed), Some(comparison)) => shape::mixed(report, comparison, pair),
        (Some(Answer::DependsOnOrder), Some(comparison)) => {
            shape::depends(report, comparison, pair)
        }
        (_, Some(comparison)) => open(report, comparison, pair, reason.as_deref()),
        (_, None) => no_answer(pair, reason.as_deref()),
    }
}

fn differs(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    let effect = Effect::of(&metric, comparison);
    let sentence = format!(
        "{} {} {}{} {}.",
        pair.here,
        effect.map_or_else(|| "differs from".to_owned(), |effect| effect.text(&metric)),
        pair.there,
        pair.subject,
        evidence(&metric, comparison, Sign::Left),
    );
    format!("{sentence}{}", remarks(report, comparison, pair))
}

/// What a direction leaves open: how small the effect may be, and runs that went the other way.
pub(super) fn remarks(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let small = match may_be_small(report, comparison) {
        true => format!(
            " The effect may be smaller than {} %.",
            chosen_percent(report.table.verdict.threshold)
        ),
        false => String::new(),
    };
    format!("{small}{}", shape::rare(report, &comparison.policy, pair))
}

/// Whether the interval, as it is written beside, reaches below the threshold: the direction is known, the
/// worth is not. Exact ends would let "0.9 to 1.4 %" stand without the remark, since a threshold of 1 % is
/// 0.990 % less the other way.
pub(super) fn may_be_small(report: &Report<'_>, comparison: &Comparison) -> bool {
    let ends = comparison.low.zip(comparison.high);
    let ends = comparison.ratio.and(ends);
    ends.is_some_and(|(low, high)| {
        least_shown(low - 1.0, high - 1.0) < report.table.verdict.threshold
    })
}

/// `(95 %: 18 to 21 %)`, or the rounds where they are too few for an interval.
pub(super) fn evidence(metric: &Metric, comparison: &Comparison, sign: Sign) -> String {
    match interval(metric, comparison, sign) {
        Some(interval) => format!("(95 %: {interval})"),
        None => format!("({})", counted(comparison.n.into(), "round")),
    }
}

/// The same of no difference, which two one-sided tests show before the whole interval does.
pub(super) fn evidence_of_none(metric: &Metric, comparison: &Comparison) -> String {
    let evidence = evidence(metric, comparison, Sign::Kept);
    match comparison.change {
        Change::NoDifference => evidence,
        _ => evidence.replacen('(', "(two one-sided tests; ", 1),
    }
}

fn same(report: &Report<'_>, comparison: &Comparison, pair: &Pair) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    format!(
        "{} makes no difference within ±{} % to {}{}{} {}.{}",
        pair.here,
        chosen_percent(report.table.verdict.threshold),
        pair.there,
        of_cell(&metric),
        pair.subject,
        evidence_of_none(&metric, comparison),
        shape::unseen(report, &comparison.policy),
    )
}

/// Of a bench, the metric of the cell that decides.
pub(super) fn of_cell(metric: &Metric) -> String {
    if metric.is_of_cell() {
        format!(" in {}", sentence_label(metric))
    } else {
        String::new()
    }
}

fn open(report: &Report<'_>, comparison: &Comparison, pair: &Pair, reason: Option<&str>) -> String {
    let metric = metric_of(report.record, &comparison.metric);
    if let Some(reason) = reason {
        return format!(
            "{} against {}: no answer{}{} {}: {}.",
            pair.here,
            pair.there,
            of_cell(&metric),
            pair.subject,
            evidence(&metric, comparison, Sign::Kept),
            reason.trim_end_matches('.'),
        );
    }
    let lasting = user_time::sentence(report, &comparison.policy);
    let metric_named = match lasting {
        Some(_) => " in wall time".to_owned(),
        None => of_cell(&metric),
    };
    let lead = format!(
        "{} against {}: not decided{metric_named}{}",
        pair.here, pair.there, pair.subject,
    );
    if let Some(shown) = provisional::sentence(report, &comparison.policy) {
        return format!("{lead}. {shown}");
    }
    let effect = Effect::of(&metric, comparison).map_or_else(String::new, |_| {
        format!(", {}", effect_of(report.record, comparison))
    });
    let evidence = evidence(&metric, comparison, Sign::Kept);
    let lead = format!("{lead}{effect} {evidence}.");
    let parts = [Some(lead), rounds_needed(report, comparison), lasting];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A p95 of fewer values is their maximum.
const FEWEST_FOR_P95: u32 = 20;

/// How many rounds an answer needs, where they are too few for an interval.
pub(super) fn rounds_needed(report: &Report<'_>, comparison: &Comparison) -> Option<String> {
    let plan = &report.record.header.plan;
    let fewest = match report.table.verdict.judge_by {
        JudgeBy::Mean => FEWEST_FOR_A_MEAN,
        JudgeBy::P95 => FEWEST_FOR_P95,
        JudgeBy::Shape | JudgeBy::Typical => fewest_rounds_of(&plan.policies, &plan.baseline),
    };
    let has_interval = comparison.low.zip(comparison.high).is_some();
    let is_short = !has_interval && report.other.is_none() && comparison.n < fewest;
    is_short.then(|| format!("An answer needs at least {fewest} rounds."))
}

fn no_answer(pair: &Pair, reason: Option<&str>) -> String {
    let reason = reason.unwrap_or("it was not compared");
    format!(
        "{}: no answer{}: {}.",
        pair.here,
        pair.subject,
        reason.trim_end_matches('.')
    )
}

/// The reason is the finding's where there is one: it knows more than the verdict.
fn no_effect(report: &Report<'_>, policy: &str, pair: &Pair, reason: Option<&str>) -> String {
    let finding = report.findings.iter().find(|finding| {
        let speaks = finding.policy.as_deref() == Some(policy);
        speaks && is_answer(finding)
    });
    let why = finding.map(|finding| plain(&finding.claim()));
    let why = why.or_else(|| reason.map(str::to_owned));
    let why = why.map_or_else(String::new, |why| {
        format!(": {}", why.trim_end_matches('.'))
    });
    let pages = match pair.subject.split_once(" for ") {
        Some((_, command)) => format!("the pages of {command}"),
        None => "this program's pages".to_owned(),
    };
    format!("{} had no effect on {pages}{why}.", pair.here)
}
