//! The results of hyperfine, which its scripts and many dashboards read.

use serde_json::{Value, json};

use super::{Arm, arms, mean, values};
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::Outcome;

pub(super) fn render(record: &Record) -> Value {
    let with_times = arms(record).filter(|arm| !arm.trials.is_empty());
    json!({ "results": with_times.map(|arm| result(&arm)).collect::<Vec<_>>() })
}

fn result(arm: &Arm<'_>) -> Value {
    let trials = &arm.trials;
    let times = values(trials, MetricId::WallSeconds);
    let codes = trials.iter().map(|trial| match trial.outcome {
        Outcome::Exited { code } => Some(code),
        _ => None,
    });
    let mut ordered = times.clone();
    ordered.sort_by(f64::total_cmp);
    json!({
        "command": format!("{}: {}", arm.name, arm.command),
        "mean": mean(&times),
        "stddev": deviation(&times),
        "median": median(&times),
        "user": mean(&values(trials, MetricId::UserSeconds)),
        "system": mean(&values(trials, MetricId::SystemSeconds)),
        "min": ordered.first(),
        "max": ordered.last(),
        "times": times,
        "memory_usage_byte": values(trials, MetricId::PeakRssBytes),
        "exit_codes": codes.collect::<Vec<_>>(),
        "parameters": { "policy": arm.policy, "program": arm.program },
    })
}

/// The sample standard deviation; `None` for a single value.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}
