//! For spreadsheets and statistics programs: one row per trial and metric.

use super::Report;
use crate::run::trial::{Reading, Role, Trial};
use crate::text::csv::{Csv, number};

const HEADING: [&str; 9] = [
    "record", "trial", "round", "policy", "role", "outcome", "metric", "value", "missing",
];

pub(super) fn csv(report: &Report<'_>) -> String {
    let mut csv = Csv::new(&HEADING);
    let others = report.other.iter();
    let others = others.flat_map(|other| other.record.trials.iter().map(|trial| (2, trial)));
    let own = report.record.trials.iter().map(|trial| (1, trial));
    for (record, trial) in own.chain(others) {
        let lead = lead(record, trial);
        for (metric, reading) in &trial.readings {
            for end in ends(metric, reading) {
                csv.row(lead.iter().cloned().chain(end));
            }
        }
    }
    csv.into_text()
}

fn lead(record: u32, trial: &Trial) -> [String; 6] {
    let role = match trial.role {
        Role::Arm => "arm",
        Role::Control => "control",
        Role::Cold => "cold",
    };
    [
        record.to_string(),
        trial.index.to_string(),
        trial.round.to_string(),
        trial.policy.clone(),
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
