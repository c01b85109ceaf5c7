//! JSON of github-action-benchmark.

use serde_json::{Value, json};

use super::{arms, metrics};
use crate::base::units::Unit;
use crate::run::compare::summary;
use crate::run::metric::{Better, Shown};
use crate::run::record::Record;

/// Only metrics for which less is better: the action takes one direction for a whole file.
pub(super) fn render(record: &Record) -> Value {
    let mut rows = Vec::new();
    for arm in arms(record) {
        for metric in metrics(record) {
            if metric.better != Better::Lower || metric.shown == Shown::OnRequest {
                continue;
            }
            let Some(summary) = summary(record, arm.name, &metric.name) else {
                continue;
            };
            let half = summary.low.zip(summary.high);
            let half = half.map(|(low, high)| format!("± {}", (high - low) / 2.0));
            rows.push(json!({
                "name": format!("{} [{}]", metric.name, arm.name),
                "unit": unit(&metric.unit),
                "value": summary.median,
                "range": half.unwrap_or_default(),
                "extra": arm.command,
            }));
        }
    }
    Value::Array(rows)
}

fn unit(unit: &Unit) -> &str {
    match unit {
        Unit::Seconds => "s",
        Unit::Bytes => "B",
        Unit::Count | Unit::Ratio => "",
        Unit::BytesPerSecond => "B/s",
        Unit::PerSecond => "1/s",
        Unit::Other(name) => name,
    }
}
