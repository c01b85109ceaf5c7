//! For spreadsheets and statistics programs: one row for each trial and metric.

use std::fmt::{self, Write};

use super::Report;
use crate::run::trial::{Reading, Role, Trial};
use crate::text::csv_field as field;

/// Draws the readings of a report as CSV (RFC 4180), in long form: a trial that printed many
/// values of a metric has a row for each of them.
///
/// # Errors
/// Only those of `out`.
pub fn render_csv(report: &Report<'_>, out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "record,trial,round,policy,role,outcome,metric,value,missing"
    )?;
    let others = report
        .other
        .iter()
        .flat_map(|other| other.record.trials.iter().map(|t| (2, t)));
    for (record, trial) in report.record.trials.iter().map(|t| (1, t)).chain(others) {
        for (metric, reading) in &trial.readings {
            let lead = format!("{record},{}", lead(trial));
            readings(&lead, metric, reading, out)?;
        }
    }
    Ok(())
}

fn lead(trial: &Trial) -> String {
    let role = match trial.role {
        Role::Arm => "arm",
        Role::Control => "control",
    };
    format!(
        "{},{},{},{role},{}",
        trial.index,
        trial.round,
        field(&trial.policy),
        field(&trial.outcome.to_string())
    )
}

fn readings(lead: &str, metric: &str, reading: &Reading, out: &mut impl Write) -> fmt::Result {
    let metric = field(metric);
    match reading {
        Reading::Value { value } => writeln!(out, "{lead},{metric},{},", number(*value)),
        Reading::Values { values } => values
            .iter()
            .try_for_each(|value| writeln!(out, "{lead},{metric},{},", number(*value))),
        Reading::Histogram { histogram } => QUANTILES.iter().try_for_each(|(name, q)| {
            let seconds = histogram.quantile_ns(*q).map(|ns| ns as f64 / 1e9);
            let seconds = seconds.map(number).unwrap_or_default();
            writeln!(out, "{lead},{metric}.{name},{seconds},")
        }),
        Reading::Missing { missing } => {
            writeln!(out, "{lead},{metric},,{}", field(&missing.to_string()))
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

/// The shortest decimal that reads back as the same number; nothing for what is no number.
fn number(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("thp=always"), "thp=always");
        assert_eq!(
            field("thp=always,defrag=\"x\""),
            "\"thp=always,defrag=\"\"x\"\"\""
        );
        assert_eq!(number(f64::NAN), "");
        assert_eq!(number(0.1), "0.1");
    }
}
