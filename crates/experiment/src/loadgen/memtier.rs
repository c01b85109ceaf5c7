//! memtier_benchmark `--json-out-file`.
//!
//! Source: `result_print_to_json` of its run_stats.cpp: latencies in milliseconds, and, from
//! 1.4 on, the histogram in HdrHistogram's compressed form, in microseconds; `rate_limit` of the
//! configuration is 0 in a closed loop.

use serde_json::Value;

use super::json::{document, number};
use super::moment::exact_nanos;
use super::{Latency, Load, LoadReport, ReadError, hdr};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    // With --run-count there are several, and what all runs did is told as an average: only a
    // single run is a measurement.
    let totals = document
        .get("ALL STATS")
        .and_then(|stats| stats.get("Totals"))
        .ok_or_else(|| {
            ReadError::of("ALL STATS.Totals", "there is none; leave --run-count at 1")
        })?;
    let errors = totals.get("Connection Errors").and_then(Value::as_u64);
    let rate = document
        .get("configuration")
        .and_then(|configuration| configuration.get("rate_limit"))
        .and_then(Value::as_u64);
    Ok(LoadReport {
        loads: vec![Load {
            name: None,
            latency: Some(latency(totals)?),
            throughput: vec![number(totals, "Ops/sec")?],
            requests: totals.get("Count").and_then(Value::as_u64),
            errors,
            ..Load::default()
        }],
        pacing: match rate {
            Some(0) => Pacing::Closed,
            Some(_) => Pacing::Open,
            None => Pacing::Unknown,
        },
    })
}

/// Of milliseconds.
fn seconds(value: &Value) -> Option<f64> {
    let ns = exact_nanos(&value.to_string(), TimeUnit::Millis)?;
    Some(TimeUnit::Nanos.to_seconds(ns as f64))
}

fn latency(totals: &Value) -> Result<Latency, ReadError> {
    let percentiles = totals
        .get("Percentile Latencies")
        .and_then(Value::as_object)
        .ok_or_else(|| ReadError::of("Percentile Latencies", "there are none"))?;
    let compressed = percentiles
        .get("Histogram log format")
        .and_then(|format| format.get("Compressed Histogram"))
        .and_then(Value::as_str);
    if let Some(compressed) = compressed.filter(|text| !text.is_empty()) {
        let histogram = hdr::decode(compressed, TimeUnit::Micros);
        return histogram
            .map(Latency::Counted)
            .map_err(|problem| ReadError::of("Compressed Histogram", problem));
    }
    let mut quantiles = Vec::new();
    for (name, value) in percentiles {
        let percent = name.strip_prefix('p').and_then(super::number);
        let quantile = percent.and_then(Quantile::of_percent);
        quantiles.extend(quantile.zip(seconds(value)));
    }
    let longest = totals.get("Max Latency").and_then(seconds);
    quantiles.extend(longest.map(|seconds| (Quantile::Max, seconds)));
    Ok(Latency::Quantiles(quantiles))
}
