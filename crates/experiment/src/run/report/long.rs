//! For spreadsheets, databases and statistics programs: one row per trial and metric.

use super::Report;
use crate::base::table::{Cell, Column, Kind, Table};
use crate::run::record::Record;
use crate::run::trial::{Reading, Role, Trial};

const COLUMNS: [Column; 9] = [
    ("record", Kind::Integer),
    ("trial", Kind::Integer),
    ("round", Kind::Integer),
    ("policy", Kind::Text),
    ("role", Kind::Text),
    ("outcome", Kind::Text),
    ("metric", Kind::Text),
    ("value", Kind::Number),
    ("missing", Kind::Text),
];
/// The last column, for records that compare programs.
const PROGRAM: Column = ("program", Kind::Text);

pub(super) fn table(report: &Report<'_>) -> Table {
    let records: Vec<&Record> = std::iter::once(report.record)
        .chain(report.other.iter().map(|other| other.record))
        .collect();
    let mut programs = records.iter().map(|it| &it.header.plan.programs);
    let named = programs.any(|it| !it.is_empty());
    let columns = COLUMNS.into_iter().chain(named.then_some(PROGRAM));
    let mut table = Table::new(&columns.collect::<Vec<Column>>());
    for (number, record) in (1..).zip(&records) {
        for trial in &record.trials {
            add(&mut table, (number, record), trial, named);
        }
    }
    table
}

/// The rows of a trial.
fn add(table: &mut Table, (number, record): (u32, &Record), trial: &Trial, named: bool) {
    let plan = &record.header.plan;
    let lead = lead(number, plan.policy_of(&trial.policy), trial);
    let program = plan.program_of(&trial.policy);
    let program = Cell::from(program.map(|it| it.name.as_str()));
    for (metric, reading) in &trial.readings {
        for end in ends(metric, reading) {
            let program = named.then(|| program.clone());
            table.row(lead.iter().cloned().chain(end).chain(program));
        }
    }
}

fn lead(record: u32, policy: &str, trial: &Trial) -> [Cell; 6] {
    let role = match trial.role {
        Role::Arm => "arm",
        Role::Control => "control",
        Role::Cold => "cold",
    };
    [
        record.into(),
        trial.index.into(),
        trial.round.into(),
        policy.into(),
        role.into(),
        trial.outcome.to_string().into(),
    ]
}

/// Metric, value and the reason if there is none: a row for each value.
fn ends(metric: &str, reading: &Reading) -> Vec<[Cell; 3]> {
    let valued = |value: &f64| [metric.into(), (*value).into(), Cell::Missing];
    match reading {
        Reading::Value { value } => vec![valued(value)],
        Reading::Values { values } => values.iter().map(valued).collect(),
        Reading::Histogram { histogram } => QUANTILES
            .iter()
            .map(|(name, q)| {
                let seconds = histogram.quantile_ns(*q).map(|ns| ns as f64 / 1e9);
                [
                    format!("{metric}.{name}").into(),
                    seconds.into(),
                    Cell::Missing,
                ]
            })
            .collect(),
        Reading::Missing { missing } => {
            vec![[metric.into(), Cell::Missing, missing.to_string().into()]]
        }
    }
}

/// The quantiles of a histogram to export; the record has the complete histogram.
const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p999", 0.999),
    ("max", 1.0),
];
