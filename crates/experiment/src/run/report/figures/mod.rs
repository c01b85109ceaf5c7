//! The figures of a report: one file each, all functions of the finished report.
//!
//! To add a figure, add a file and a line here. `text::svg` draws it and defines the colours; tests check that labels
//! do not overlap.

use super::Report;
use crate::run::record::Record;
use crate::run::trial::Role;
use crate::text::figure::Figure;
use crate::text::svg::{Fill, Key, Sign};
use crate::text::wrap::plain;

use super::arms::{Arm, arms};

mod causes;
mod distribution;
mod effects;
mod memory;
mod percentiles;
mod records;
mod rounds;
mod seconds;
mod shift;

pub(super) use effects::OTHER_METRICS;

/// All figures with data in the record, in reading order.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    if report.other.is_some() {
        let between = [
            effects::main(report),
            effects::others(report),
            records::figure(report),
        ];
        return between.into_iter().flatten().collect();
    }
    let metric = report.table.verdict.metric.as_str();
    if let Some(cells) = &report.cells {
        return cells
            .figures()
            .into_iter()
            .chain(effects::main(report))
            .collect();
    }
    let trials = arms(report.record, metric);
    let first = [
        effects::main(report),
        rounds::figure(report, &trials),
        distribution::figure(report, &trials),
        shift::figure(report),
    ];
    let latencies = percentiles::figures(report.record).into_iter();
    let rest = [
        causes::figure(report),
        memory::figure(report.record),
        seconds::figure(report.record),
        effects::others(report),
    ];
    let first = first.into_iter().flatten();
    first
        .chain(latencies)
        .chain(rest.into_iter().flatten())
        .collect()
}

/// The position of a policy in the plan.
fn index_of(record: &Record, policy: &str) -> usize {
    let mut policies = record.header.plan.policies.iter();
    policies.position(|it| it.name == policy).unwrap_or(0)
}

/// The legend of the policies of a record.
fn keys_of_policies(record: &Record, sign: Sign) -> Vec<Key> {
    let policies = record.header.plan.policies.iter().enumerate();
    let key = |(index, policy): (usize, &crate::run::policy::Policy)| Key {
        index,
        sign,
        text: plain(&policy.name),
    };
    policies.map(key).collect()
}

/// The fill of an arm; the control is an outline.
fn fill_of(arm: &Arm<'_>) -> Fill {
    match arm.role {
        Role::Control => Fill::Hollow,
        Role::Arm | Role::Cold => Fill::Full,
    }
}
