//! What the baseline may miss, and what it may be spared, where nothing was decided.

use super::super::answer::judged;
use super::super::conclusion::{can_only_be_small, conclude};
use super::Report;
use crate::run::compare::labels::{label_with_scope, metric_of};
use crate::run::compare::{Answer, Comparison, Statistic};
use crate::run::metric::Better;
use crate::run::policy::Policy;
use crate::text::ends::percent_ends;
use crate::text::number::MINUS;
use crate::text::wrap::plain;

/// `Stay with as-is: no policy was shown to be better by wall time. Best candidate: thp=always, between 5.2 %
/// better and 3.1 % worse.` Of the policies that of which most may be gained: the intervals of all hold together. Where the
/// first sentence has that interval, it is not said again.
pub(super) fn stay_for_now(report: &Report<'_>, baseline: &str) -> Option<String> {
    let verdict = &report.table.verdict;
    let metric = metric_of(report.record, &verdict.metric);
    let label = label_with_scope(&metric, Statistic::Center);
    // What else the user compares with need not be what the program runs under.
    let stay = match verdict.baseline.as_str() {
        "as-is" => format!("Stay with as-is: no policy was shown to be better by {label}."),
        _ => format!("No policy was shown to be better than {baseline} by {label}."),
    };
    if let Some(best) = at_best(report) {
        return Some(format!("{stay} {best}"));
    }
    if let Some(most) = at_most(report) {
        return Some(format!("Stay with {baseline}: {most}."));
    }
    // The first sentence has said so much.
    let is_said = verdict.baseline != "as-is" && conclude(report).is_some();
    (!is_said).then_some(stay)
}

/// Of the open policies that of which most may be gained, and not less than may be lost.
pub(super) fn most_to_gain(report: &Report<'_>) -> Option<Comparison> {
    let verdict = &report.table.verdict;
    let is_open = |policy: &&Policy| {
        let answer = verdict.policies.get(&policy.name);
        let is_sham = report.record.header.plan.is_sham(&policy.name);
        // Such as that it was not in force.
        let has_reason = verdict.reasons.contains_key(&policy.name);
        let is_untouched = report.changed_no_page(&policy.name);
        !is_sham && !is_untouched && !has_reason && answer == Some(&Answer::NotDecided)
    };
    let open = report.record.header.plan.policies.iter().filter(is_open);
    let ends = open.filter_map(|policy| {
        let row = judged(report, &policy.name)?;
        let gain = best_end(report, &row)?.ln().abs();
        // Nobody waits for a gain where more may be lost.
        let width = row.high?.ln() - row.low?.ln();
        (2.0 * gain > width).then_some((gain, row))
    });
    ends.max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, row)| row)
}

fn at_best(report: &Report<'_>) -> Option<String> {
    let best = most_to_gain(report)?;
    if conclude(report).is_some_and(|it| it.policy.as_deref() == Some(&best.policy)) {
        return None;
    }
    let policy = plain(&best.policy);
    let range = range(report, &best)?;
    Some(format!("Best candidate: {policy}, {range}."))
}

/// `at most 1.7 % may be gained`, with the policy of the first sentence: its interval is narrow, and no policy with a
/// wider one promises more.
fn at_most(report: &Report<'_>) -> Option<String> {
    let conclusion = conclude(report)?;
    let row = judged(report, conclusion.policy.as_ref()?)?;
    if !can_only_be_small(report, &row) {
        return None;
    }
    best_end(report, &row)?;
    let (low, high) = row.low.zip(row.high)?;
    let [low, high] = percent_ends(low - 1.0, high - 1.0);
    let gain = match metric_of(report.record, &row.metric).better {
        Better::Higher => high,
        _ => low,
    };
    let gain = gain.trim_start_matches([MINUS, '+']);
    Some(format!("at most {gain} % may be gained"))
}

/// `between 5.2 % better and 3.1 % worse`.
fn range(report: &Report<'_>, row: &Comparison) -> Option<String> {
    let (low, high) = row.low.zip(row.high)?;
    let ends = percent_ends(low - 1.0, high - 1.0);
    let is_higher_better = metric_of(report.record, &row.metric).better == Better::Higher;
    let word = |end: &str| match end.starts_with(MINUS) == is_higher_better {
        true => "worse",
        false => "better",
    };
    let mut ends = ends.map(|end| {
        let word = word(&end);
        format!("{} % {word}", end.trim_start_matches([MINUS, '+']))
    });
    if is_higher_better {
        ends.reverse();
    }
    Some(format!("between {}", ends.join(" and ")))
}

/// The end of an interval of ratios on which the policy is better than the baseline.
pub(in super::super) fn best_end(report: &Report<'_>, row: &Comparison) -> Option<f64> {
    row.ratio?;
    let (low, high) = row.low.zip(row.high)?;
    match metric_of(report.record, &row.metric).better {
        Better::Lower => (low < 1.0).then_some(low),
        Better::Higher => (high > 1.0).then_some(high),
        Better::Neither => None,
    }
}
