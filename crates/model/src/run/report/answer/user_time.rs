//! User time, where wall time does not tell: it is often clear when wall time is not.

use super::super::Report;
use super::sentence::{Sign, interval};
use crate::run::compare::Statistic;
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::metric::MetricId;

/// `User time did change: −12.1 % (95 %: −13.0 to −11.2 %); the wall time of longer runs should follow.`
pub(super) fn sentence(report: &Report<'_>, policy: &str) -> Option<String> {
    report.table.verdict.user_time.get(policy)?;
    let mut rows = report.table.comparisons.iter();
    let row = rows.find(|row| {
        row.metric == MetricId::UserSeconds.name()
            && row.statistic == Statistic::Center
            && row.policy == policy
    })?;
    let metric = metric_of(report.record, &row.metric);
    Some(format!(
        "User time did change: {} (95 %: {}); the wall time of longer runs should follow.",
        effect_of(report.record, row),
        interval(&metric, row, Sign::Kept)?
    ))
}
