//! What each policy does in each of two records.

use super::super::{BEFORE_AND_AFTER, Report};
use super::effects::{Group, Row, of_groups};
use super::index_of;
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Comparison, running};
use crate::run::record::Record;
use crate::text::figure::Figure;
use crate::text::number::Scaler;
use crate::text::wrap::plain;

/// A group for each policy: its effect in the first record and in the second, each against the
/// baseline of its own record.
pub(super) fn figure(report: &Report<'_>) -> Option<Figure> {
    let other = report.other.as_ref()?;
    let records = [report.record, other.record];
    let rows: Vec<Vec<Comparison>> = records.into_iter().map(compared).collect();
    let policies = report.record.header.plan.policies.iter();
    let groups = policies.filter_map(|policy| {
        let rows = rows.iter().zip(records).zip(BEFORE_AND_AFTER);
        let rows = rows.filter_map(|((rows, record), name)| {
            let comparison = rows.iter().find(|it| it.policy == policy.name)?;
            comparison.ratio.or(comparison.difference)?;
            Some(Row {
                name: name.to_owned(),
                index: index_of(report.record, &policy.name),
                comparison,
                scaler: scaler(record, comparison),
            })
        });
        let rows: Vec<Row<'_>> = rows.collect();
        let heading = format!(
            "{} against {}",
            policy.name,
            rows.first()?.comparison.baseline
        );
        Some(Group {
            heading: plain(&heading),
            better: metric_of(report.record, &rows.first()?.comparison.metric).better,
            rows,
        })
    });
    let groups: Vec<Group<'_>> = groups.collect();
    of_groups(
        report,
        "effects-by-record",
        "What each policy does in each record",
        &groups,
    )
}

/// The deciding metric as the record planned it; a record that cannot be compared has no row.
fn compared(record: &Record) -> Vec<Comparison> {
    running(record).unwrap_or_default()
}

fn scaler(record: &Record, comparison: &Comparison) -> Scaler {
    let metric = metric_of(record, &comparison.metric);
    let values = [comparison.baseline_value, comparison.policy_value];
    let values: Vec<f64> = values.into_iter().flatten().collect();
    Scaler::for_row(&metric.unit, &values)
}
