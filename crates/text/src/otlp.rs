//! The envelope of all metrics in the JSON of the OpenTelemetry protocol (OTLP 1.0, `ExportMetricsServiceRequest`).

use serde_json::{Value, json};

/// Returns an attribute with a text value.
#[must_use]
pub fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Returns a request with the metrics of one resource; `scope` is the name and version of the measuring program.
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
