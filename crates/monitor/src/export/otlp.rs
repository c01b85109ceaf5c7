//! Metrics as a request of the OpenTelemetry protocol, in its JSON encoding (OTLP 1.0, `ExportMetricsServiceRequest`).
//!
//! Written here because the OpenTelemetry SDK requires control over what is measured and when, and a request is a
//! single object. As in all JSON of protobuf, 64-bit integers are strings.

use serde_json::{Value as Json, json};

use super::exposition::{Family, Kind, Series, Value};
use hugewise_text::otlp;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// All families as one request, from a sample taken at `unix_ns`. `host` names the machine. Families without series are
/// left out.
#[must_use]
pub fn request(families: &[Family], host: &str, unix_ns: u64) -> Json {
    let filled = families.iter().filter(|family| !family.series.is_empty());
    let metrics: Vec<Json> = filled.map(|family| metric(family, unix_ns)).collect();
    let resource = [("service.name", "hugewise"), ("host.name", host)];
    let scope = ("hugewise", env!("CARGO_PKG_VERSION"));
    otlp::request(&resource, scope, &metrics)
}

fn metric(family: &Family, unix_ns: u64) -> Json {
    let points = family.series.iter().map(|series| point(series, unix_ns));
    let points: Vec<Json> = points.collect();
    let name = match family.kind {
        Kind::Info => format!("{}_info", family.name),
        Kind::Counter | Kind::Gauge | Kind::Histogram => family.name.clone(),
    };
    let (kind, data) = match family.kind {
        Kind::Counter => (
            "sum",
            json!({"dataPoints": points, "isMonotonic": true, "aggregationTemporality": CUMULATIVE}),
        ),
        Kind::Gauge | Kind::Info => ("gauge", json!({"dataPoints": points})),
        Kind::Histogram => (
            "histogram",
            json!({"dataPoints": points, "aggregationTemporality": CUMULATIVE}),
        ),
    };
    json!({"name": name, "description": family.help, kind: data})
}

fn point(series: &Series, unix_ns: u64) -> Json {
    let labels = series.labels.iter();
    let labels = labels.map(|(name, value)| otlp::attribute(name, value));
    let labels: Vec<Json> = labels.collect();
    let mut point = json!({"attributes": labels, "timeUnixNano": unix_ns.to_string()});
    let measured = match &series.value {
        Value::Number(value) => json!({"asDouble": value}),
        Value::Histogram {
            buckets,
            count,
            sum,
        } => json!({
            "count": count.to_string(),
            "sum": sum,
            "explicitBounds": buckets.iter().map(|(bound, _)| bound).collect::<Vec<_>>(),
            "bucketCounts": alone(buckets, *count),
        }),
    };
    if let (Json::Object(point), Json::Object(measured)) = (&mut point, measured) {
        point.extend(measured);
    }
    point
}

/// The count of each single bucket; the last one is above all bounds.
fn alone(buckets: &[(f64, u64)], count: u64) -> Vec<String> {
    let mut below = 0;
    let upto = buckets.iter().map(|(_, upto)| *upto).chain([count]);
    upto.map(|upto| {
        let here = upto.saturating_sub(below);
        below = upto;
        here.to_string()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(kind: Kind, value: Value) -> Family {
        Family {
            name: "x_seconds".to_owned(),
            help: "Seconds.".to_owned(),
            kind,
            series: vec![Series {
                labels: vec![("size", "2M".to_owned())],
                value,
            }],
        }
    }

    fn only_metric(family: Family) -> Json {
        let empty = Family {
            series: Vec::new(),
            ..family.clone()
        };
        let request = request(&[empty, family], "box", 7);
        let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        assert_eq!(metrics.as_array().map(Vec::len), Some(1));
        metrics[0].clone()
    }

    #[test]
    fn a_counter_is_a_cumulative_monotonic_sum() {
        let metric = only_metric(family(Kind::Counter, Value::Number(3.5)));
        let expected = json!({
            "name": "x_seconds",
            "description": "Seconds.",
            "sum": {
                "isMonotonic": true,
                "aggregationTemporality": 2,
                "dataPoints": [{
                    "attributes": [{"key": "size", "value": {"stringValue": "2M"}}],
                    "timeUnixNano": "7",
                    "asDouble": 3.5,
                }],
            },
        });
        assert_eq!(metric, expected);
    }

    #[test]
    fn buckets_are_no_longer_cumulative_and_one_more_than_bounds() {
        let value = Value::Histogram {
            buckets: vec![(0.001, 2), (0.25, 5)],
            count: 6,
            sum: 1.5,
        };
        let metric = only_metric(family(Kind::Histogram, value));
        let point = &metric["histogram"]["dataPoints"][0];
        assert_eq!(point["explicitBounds"], json!([0.001, 0.25]));
        assert_eq!(point["bucketCounts"], json!(["2", "3", "1"]));
        assert_eq!(point["count"], "6");
    }

    #[test]
    fn an_info_is_a_gauge_of_one() {
        let metric = only_metric(family(Kind::Info, Value::Number(1.0)));
        assert_eq!(metric["name"], "x_seconds_info");
        assert_eq!(metric["gauge"]["dataPoints"][0]["asDouble"], 1.0);
    }
}
