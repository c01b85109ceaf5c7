//! The effect of each policy in each of two records.

use super::super::Report;
use super::effects::{Group, Row, of_groups};
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Comparison, running};
use crate::text::figure::Figure;
use crate::text::wrap::plain;

/// The names of the two records in figures: their paths are too long.
const BEFORE_AND_AFTER: [&str; 2] = ["before", "after"];

/// A group for each policy: its effect in the first and the second record, each against the baseline of the same
/// record.
pub(super) fn figure(report: &Report<'_>) -> Option<Figure> {
    let other = report.other.as_ref()?;
    let records = [report.record, other.record];
    let rows: Vec<Vec<Comparison>> = records
        .into_iter()
        .map(|record| running(record).unwrap_or_default())
        .collect();
    let policies = report.record.header.plan.policies.iter();
    let groups = policies.filter_map(|policy| {
        let found = |rows: &[Comparison]| rows.iter().find(|it| it.policy == policy.name).cloned();
        let first = rows.iter().find_map(|rows| found(rows))?;
        let each = rows.iter().zip(records).zip(BEFORE_AND_AFTER);
        let changes = each
            .filter_map(|((rows, record), name)| Row::of_comparison(record, &found(rows)?, name));
        Some(Group {
            heading: plain(&format!("{} against {}", policy.name, first.baseline)),
            better: metric_of(report.record, &first.metric).better,
            rows: changes.collect(),
        })
    });
    let groups: Vec<Group> = groups.filter(|group| !group.rows.is_empty()).collect();
    let title = "Effect of each policy in each record";
    of_groups(report, "effects-by-record", title, &groups)
}
