//! Metrics of OpenTelemetry, in the JSON of its protocol.

use serde_json::{Value, json};

use super::{arms, command_line, metrics, program_name};
use crate::base::units::Unit;
use crate::run::metric::Metric;
use crate::run::record::Record;
use crate::run::trial::Trial;
use crate::text::otlp;

const NANOSECONDS_IN_MILLISECOND: u128 = 1_000_000;

pub(super) fn render(record: &Record) -> Value {
    let header = &record.header;
    let scope = header.program.split_once(' ');
    let (name, version) = scope.unwrap_or((&header.program, ""));
    let metrics: Vec<Value> = metrics(record)
        .iter()
        .filter_map(|metric| gauge(record, metric))
        .collect();
    let resource = [
        ("service.name", program_name(record)),
        ("process.command_line", &command_line(record)),
        ("host.arch", architecture(&header.host.arch)),
        ("os.type", "linux"),
        ("os.version", &header.host.kernel),
    ];
    otlp::request(&resource, (name, version), &metrics)
}

/// A metric with a point for each trial; `None` if no exported trial has it.
fn gauge(record: &Record, metric: &Metric) -> Option<Value> {
    let points: Vec<Value> = arms(record)
        .flat_map(|arm| {
            let points = arm.trials.into_iter();
            points.filter_map(move |trial| point(arm.name, trial, metric))
        })
        .collect();
    (!points.is_empty()).then(|| {
        json!({
            "name": format!("hugewise.{}", metric.name),
            "unit": unit(&metric.unit),
            "gauge": { "dataPoints": points },
        })
    })
}

fn point(policy: &str, trial: &Trial, metric: &Metric) -> Option<Value> {
    let value = trial.value(&metric.name)?;
    let nanoseconds = u128::from(trial.started_unix_ms) * NANOSECONDS_IN_MILLISECOND;
    Some(json!({
        "attributes": [
            otlp::attribute("hugewise.policy", policy),
            // The protocol's JSON encodes 64-bit integers as strings.
            { "key": "hugewise.round", "value": { "intValue": trial.round.to_string() } },
        ],
        "timeUnixNano": nanoseconds.to_string(),
        "asDouble": value,
    }))
}

/// The words of OpenTelemetry's semantic conventions.
fn architecture(ours: &str) -> &str {
    match ours {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The UCUM symbol, which OpenTelemetry requires.
fn unit(unit: &Unit) -> String {
    match unit {
        Unit::Seconds => "s".to_owned(),
        Unit::Bytes => "By".to_owned(),
        Unit::Count | Unit::Ratio => "1".to_owned(),
        Unit::BytesPerSecond => "By/s".to_owned(),
        Unit::PerSecond => "1/s".to_owned(),
        Unit::Other(name) => format!("{{{name}}}"),
    }
}
