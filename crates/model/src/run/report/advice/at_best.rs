//! What the baseline misses where nothing was decided.

use super::super::answer::{Effect, judged};
use super::Report;
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Answer, Comparison};
use crate::run::metric::Better;
use crate::text::wrap::plain;

/// `Stay with as-is for now: nothing was shown to be better. At best, with thp=always: 5.2 % less wall time.`
/// The intervals of all policies hold together, so the best of their ends does too.
pub(super) fn stay_for_now(report: &Report<'_>, baseline: &str) -> String {
    let stay = format!("Stay with {baseline} for now: nothing was shown to be better.");
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
    let metric = metric_of(report.record, &best.metric);
    let effect = Effect::of(&metric, &best)?;
    let (policy, phrase) = (plain(&best.policy), effect.phrase(&metric));
    Some(format!("At best, with {policy}: {phrase}."))
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
