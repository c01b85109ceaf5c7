//! What all metrics in the JSON of OpenTelemetry's protocol stand in (OTLP 1.0,
//! `ExportMetricsServiceRequest`).

use serde_json::{Value, json};

/// An attribute that holds a text.
#[must_use]
pub fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// A request with the metrics of one resource; `scope` is the name and the version of what measured.
#[must_use]
pub fn request(resource: &[(&str, &str)], scope: (&str, &str), metrics: &[Value]) -> Value {
    let resource = resource.iter().map(|(key, value)| attribute(key, value));
    let (name, version) = scope;
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": resource.collect::<Vec<_>>() },
            "scopeMetrics": [{
                "scope": { "name": name, "version": version },
                "metrics": metrics,
            }],
        }],
    })
}
