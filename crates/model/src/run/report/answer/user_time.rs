//! User time, where wall time does not tell: it is often clear when wall time is not.

use super::super::Report;
use super::{Sign, interval};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Change, Comparison, Statistic};
use crate::run::metric::MetricId;
use crate::run::stats::ALPHA;

/// `User time: −12.1 % (95 %: −13.0 to −11.2 %): this lasts as the program runs.` Its direction is a
/// claim of its own, with the error shared by all judged policies.
pub(super) fn sentence(report: &Report<'_>, policy: &str) -> Option<String> {
    let row = decided(report, policy)?;
    let metric = metric_of(report.record, &row.metric);
    Some(format!(
        "User time: {} (95 %: {}): this lasts as the program runs.",
        effect_of(report.record, row),
        interval(&metric, row, Sign::Kept)?
    ))
}

fn decided<'a>(report: &'a Report<'_>, policy: &str) -> Option<&'a Comparison> {
    let plan = &report.record.header.plan;
    let verdict = &report.table.verdict;
    let is_program = plan.service.is_none() && plan.bench.is_none() && report.other.is_none();
    if !is_program || verdict.metric != MetricId::WallSeconds.name() {
        return None;
    }
    let answers = verdict.policies.values();
    let judged = answers
        .filter(|answer| **answer != Answer::NoEffect)
        .count();
    let mut rows = report.table.comparisons.iter();
    let row = rows.find(|row| {
        row.metric == MetricId::UserSeconds.name()
            && row.statistic == Statistic::Center
            && row.policy == policy
    })?;
    let is_clear = row.p.is_some_and(|p| p <= ALPHA / judged.max(1) as f64);
    let differs = matches!(row.change, Change::Higher | Change::Lower);
    (is_clear && differs).then_some(row)
}
