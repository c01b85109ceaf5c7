//! JSON of google/benchmark, for its `compare.py`.

use serde_json::{Map, Value, json};

use super::{Arm, arms, metrics};
use crate::run::metric::{Metric, MetricId};
use crate::run::record::Record;
use crate::run::trial::Trial;

pub(super) fn render(record: &Record) -> Value {
    let header = &record.header;
    let metrics = metrics(record);
    let family = |(family, arm): (usize, Arm<'_>)| {
        let name = format!("{}/policy:{}", arm.program, arm.policy);
        let all = arm.trials.len();
        let row = |(repetition, trial): (usize, &&Trial)| {
            let mut row = counters(trial, &metrics);
            row.extend(fields(json!({
                "name": name,
                "run_name": name,
                "run_type": "iteration",
                "family_index": family,
                "per_family_instance_index": 0,
                "repetitions": all,
                "repetition_index": repetition,
                "threads": 1,
                "iterations": 1,
                "real_time": trial.value(MetricId::WallSeconds),
                "cpu_time": cpu_seconds(trial),
                "time_unit": "s",
            })));
            Value::Object(row)
        };
        arm.trials.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    json!({
        "context": {
            "executable": header.plan.command.first(),
            "num_cpus": header.host.cpus,
            "kernel": header.host.kernel,
            "library_version": header.program,
            "json_schema_version": 1,
        },
        "benchmarks": arms(record).enumerate().flat_map(family).collect::<Vec<_>>(),
    })
}

fn cpu_seconds(trial: &Trial) -> Option<f64> {
    Some(trial.value(MetricId::UserSeconds)? + trial.value(MetricId::SystemSeconds)?)
}

fn counters(trial: &Trial, metrics: &[Metric]) -> Map<String, Value> {
    let read = |metric: &Metric| Some((metric.name.to_string(), trial.value(&metric.name)?.into()));
    metrics.iter().filter_map(read).collect()
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
