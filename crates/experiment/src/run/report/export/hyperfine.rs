//! The results of hyperfine, which its scripts and many dashboards read.

use serde_json::{Value, json};

use super::{command_line, mean, trials, values};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::Outcome;

pub(super) fn render(record: &Record) -> Value {
    let command = command_line(record);
    let result = |(policy, trials): (&str, Vec<_>)| {
        let times = values(&trials, MetricId::WallSeconds);
        let codes = trials.iter().map(|trial| match trial.outcome {
            Outcome::Exited { code } => Some(code),
            _ => None,
        });
        let mut ordered = times.clone();
        ordered.sort_by(f64::total_cmp);
        json!({
            "command": format!("{policy}: {command}"),
            "mean": mean(&times),
            "stddev": deviation(&times),
            "median": median(&times),
            "user": mean(&values(&trials, MetricId::UserSeconds)),
            "system": mean(&values(&trials, MetricId::SystemSeconds)),
            "min": ordered.first(),
            "max": ordered.last(),
            "times": times,
            "memory_usage_byte": values(&trials, MetricId::PeakRssBytes),
            "exit_codes": codes.collect::<Vec<_>>(),
            "parameters": { "policy": policy },
        })
    };
    let with_times = trials(record).filter(|(_, trials)| !trials.is_empty());
    json!({ "results": with_times.map(result).collect::<Vec<_>>() })
}

/// The sample standard deviation; `None` for a single value.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}
