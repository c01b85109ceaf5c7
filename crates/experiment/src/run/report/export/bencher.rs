//! Bencher Metric Format.

use serde_json::{Map, Value, json};

use super::{metrics, program_name};
use crate::run::compare::summary;
use crate::run::record::Record;

pub(super) fn render(record: &Record) -> Value {
    let metrics = metrics(record);
    let policies = record.header.plan.policies.iter();
    let benchmark = |policy: &crate::run::policy::Policy| {
        let measures: Map<String, Value> = metrics
            .iter()
            .filter_map(|metric| {
                let summary = summary(record, &policy.name, &metric.name)?;
                let mut measure = json!({ "value": summary.median });
                if let (Some(low), Some(high)) = (summary.low, summary.high) {
                    measure["lower_value"] = json!(low);
                    measure["upper_value"] = json!(high);
                }
                Some((metric.name.to_string(), measure))
            })
            .collect();
        let name = format!("{} [{}]", program_name(record), policy.name);
        (name, Value::Object(measures))
    };
    let benchmarks: Map<String, Value> = policies.map(benchmark).collect();
    Value::Object(benchmarks)
}
