//! What the baseline misses where nothing was decided.

use super::super::answer::judged;
use super::Report;
use crate::run::compare::labels::{effect_of, label_with_scope, metric_of};
use crate::run::compare::{Answer, Comparison, Statistic};
use crate::run::metric::Better;
use crate::text::wrap::plain;

/// `Stay with as-is for now: no policy was shown to be better by wall time. thp=always brings −5.2 % at
/// most.` The intervals of all policies hold together, so the best of their ends does too.
pub(super) fn stay_for_now(report: &Report<'_>, baseline: &str) -> String {
    let metric = metric_of(report.record, &report.table.verdict.metric);
    let label = label_with_scope(&metric, Statistic::Center);
    let stay =
        format!("Stay with {baseline} for now: no policy was shown to be better by {label}.");
    match at_best(report) {
        Some(best) => format!("{stay} {best}"),
        None => stay,
    }
}

fn at_best(report: &Report<'_>) -> Option<String> {
    let answers = report.table.verdict.policies.iter();
    let open = answers.filter(|(_, answer)| **answer == Answer::NotDecided);
    let ends = open.filter_map(|(policy, _)| {
        let row = judged(report, policy)?;
        let end = best_end(report, &row)?;
        Some((
            end.ln().abs(),
            Comparison {
                ratio: Some(end),
                ..row
            },
        ))
    });
    let (_, best) = ends.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let (policy, change) = (plain(&best.policy), effect_of(report.record, &best));
    Some(format!("{policy} brings {change} at most."))
}

/// The end of an interval of ratios on which the policy is better than the baseline.
fn best_end(report: &Report<'_>, row: &Comparison) -> Option<f64> {
    row.ratio?;
    let (low, high) = row.low.zip(row.high)?;
    match metric_of(report.record, &row.metric).better {
        Better::Lower => (low < 1.0).then_some(low),
        Better::Higher => (high > 1.0).then_some(high),
        Better::Neither => None,
    }
}
