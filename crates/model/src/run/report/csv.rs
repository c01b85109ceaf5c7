//! For spreadsheets and statistics programs: one row per trial and metric.

use super::Report;
use crate::run::record::Record;
use crate::run::trial::{Reading, Role, Trial};
use crate::text::csv::{Csv, number};

const HEADING: [&str; 9] = [
    "record", "trial", "round", "policy", "role", "outcome", "metric", "value", "missing",
];
/// The last column, of records that compare programs.
const PROGRAM: &str = "program";

pub(super) fn csv(report: &Report<'_>) -> String {
    let records: Vec<&Record> = std::iter::once(report.record)
        .chain(report.other.iter().map(|other| other.record))
        .collect();
    let mut programs = records.iter().map(|it| &it.header.plan.programs);
    let named = programs.any(|it| !it.is_empty());
    let heading: Vec<&str> = HEADING
        .into_iter()
        .chain(named.then_some(PROGRAM))
        .collect();
    let mut csv = Csv::new(&heading);
    for (number, record) in (1..).zip(&records) {
        for trial in &record.trials {
            add(&mut csv, (number, record), trial, named);
        }
    }
    csv.into_text()
}

/// The rows of a trial.
fn add(csv: &mut Csv, (number, record): (u32, &Record), trial: &Trial, named: bool) {
    let plan = &record.header.plan;
    let lead = lead(number, plan.policy_of(&trial.policy), trial);
    let program = plan.program_of(&trial.policy);
    let program = program.map_or_else(String::new, |it| it.name.clone());
    for (metric, reading) in &trial.readings {
        for end in ends(metric, reading) {
            let program = named.then(|| program.clone());
            csv.row(lead.iter().cloned().chain(end).chain(program));
        }
    }
}

fn lead(record: u32, policy: &str, trial: &Trial) -> [String; 6] {
    let role = match trial.role {
        Role::Arm => "arm",
        Role::Control => "control",
        Role::Cold => "cold",
    };
    [
        record.to_string(),
        trial.index.to_string(),
        trial.round.to_string(),
        policy.to_owned(),
        role.to_owned(),
        trial.outcome.to_string(),
    ]
}

/// Metric, value and why there is none: a row for each value.
fn ends(metric: &str, reading: &Reading) -> Vec<[String; 3]> {
    let valued = |value: &f64| [metric.to_owned(), number(*value), String::new()];
    match reading {
        Reading::Value { value } => vec![valued(value)],
        Reading::Values { values } => values.iter().map(valued).collect(),
        Reading::Histogram { histogram } => QUANTILES
            .iter()
            .map(|(name, q)| {
                let seconds = histogram.quantile_ns(*q).map(|ns| ns as f64 / 1e9);
                let seconds = seconds.map(number).unwrap_or_default();
                [format!("{metric}.{name}"), seconds, String::new()]
            })
            .collect(),
        Reading::Missing { missing } => {
            vec![[metric.to_owned(), String::new(), missing.to_string()]]
        }
    }
}

/// What a row of a histogram is given for; all of it is in the record.
const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p999", 0.999),
    ("max", 1.0),
];
