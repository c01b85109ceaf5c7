//! What stands side by side: the policies of one record, or one policy in two records.

use std::collections::BTreeSet;

use super::{BEFORE_AND_AFTER, Report};
use crate::run::record::Record;
use crate::text::wrap::plain;

/// One column: whose readings it holds, and what it is called.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) policy: &'a str,
    pub(super) record: &'a Record,
}

/// Columns of which all but the first are compared with the first.
pub(super) struct Section<'a> {
    /// Where there are several sections: what this one is about.
    pub(super) title: Option<String>,
    pub(super) columns: Vec<Column<'a>>,
}

/// The sections of a report; never none, and none without a column.
pub(super) fn sections<'a>(report: &'a Report<'_>) -> Vec<Section<'a>> {
    let Some(other) = &report.other else {
        return vec![policies(report)];
    };
    let compared = report
        .table
        .comparisons
        .iter()
        .map(|comparison| comparison.policy.as_str());
    let policies = distinct(compared);
    let several = policies.len() > 1;
    let section = |policy: &'a str| Section {
        title: several.then(|| format!("Under {}", plain(policy))),
        columns: vec![
            Column {
                name: BEFORE_AND_AFTER[0],
                policy,
                record: report.record,
            },
            Column {
                name: BEFORE_AND_AFTER[1],
                policy,
                record: other.record,
            },
        ],
    };
    policies.into_iter().map(section).collect()
}

fn policies<'a>(report: &'a Report<'_>) -> Section<'a> {
    let policies = &report.record.header.plan.policies;
    let names = policies.iter().map(|policy| policy.name.as_str());
    let baseline = report.table.verdict.baseline.as_str();
    let names = distinct(std::iter::once(baseline).chain(names));
    let column = |policy| Column {
        name: policy,
        policy,
        record: report.record,
    };
    Section {
        title: None,
        columns: names.into_iter().map(column).collect(),
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}
