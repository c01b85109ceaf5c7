//! Bencher Metric Format.

use serde_json::{Map, Value, json};

use super::{Arm, arms, metrics};
use crate::run::compare::summary;
use crate::run::record::Record;

pub(super) fn render(record: &Record) -> Value {
    let metrics = metrics(record);
    let benchmark = |arm: Arm<'_>| {
        let measures: Map<String, Value> = metrics
            .iter()
            .filter_map(|metric| {
                let summary = summary(record, arm.name, &metric.name)?;
                let mut measure = json!({ "value": summary.median });
                if let (Some(low), Some(high)) = (summary.low, summary.high) {
                    measure["lower_value"] = json!(low);
                    measure["upper_value"] = json!(high);
                }
                Some((metric.name.to_string(), measure))
            })
            .collect();
        (arm.title(), Value::Object(measures))
    };
    let benchmarks: Map<String, Value> = arms(record).map(benchmark).collect();
    Value::Object(benchmarks)
}
