//! User time, where wall time does not tell: it is often clear when wall time is not.

use super::super::Report;
use super::super::interval::{Sign, interval};
use crate::run::compare::Statistic;
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::metric::MetricId;

/// `User time did change: −12.1 % (95 %: −13.0 to −11.2 %).`
/// Of a server, `… for the same requests`: what it takes a load to end is more than its work.
pub(super) fn sentence(report: &Report<'_>, policy: &str) -> Option<String> {
    let change = change(report, policy)?;
    let rest = match report.record.header.plan.service {
        Some(_) => " for the same requests",
        None => "",
    };
    Some(format!("User time did change: {change}{rest}."))
}

/// `, but user time −12.1 % (95 %: −13.0 to −11.2 %)`, behind what is not decided of a policy; empty
/// where user time is not clear either.
pub(super) fn clause(report: &Report<'_>, policy: &str) -> String {
    change(report, policy).map_or_else(String::new, |it| format!(", but user time {it}"))
}

fn change(report: &Report<'_>, policy: &str) -> Option<String> {
    report.table.verdict.user_time.get(policy)?;
    let mut rows = report.table.comparisons.iter();
    let row = rows.find(|row| {
        row.metric == MetricId::UserSeconds.name()
            && row.statistic == Statistic::Center
            && row.policy == policy
    })?;
    let metric = metric_of(report.record, &row.metric);
    let range = interval(&metric, row, Sign::Kept)?;
    Some(format!("{} (95 %: {range})", effect_of(report.record, row)))
}
