//! memtier_benchmark `--json-out-file`.
//!
//! Source: `result_print_to_json` of its run_stats.cpp: latencies in milliseconds, and, since 1.4, the histogram in
//! HdrHistogram's compressed form, in microseconds. `rate_limit` of the configuration is 0 in a closed loop.

use serde_json::Value;

use super::columns::Format;
use super::figures::Figures;
use super::json::{cells, document};
use super::{Latency, Load, LoadReport, ReadError, hdr};
use crate::run::plan::TimeUnit;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    // With --run-count there are several runs, with only an average over them: only a single run is a measurement.
    let totals = document
        .get("ALL STATS")
        .and_then(|stats| stats.get("Totals"))
        .ok_or_else(|| {
            ReadError::of("ALL STATS.Totals", "there is none; leave --run-count at 1")
        })?;
    let percentiles = totals
        .get("Percentile Latencies")
        .ok_or_else(|| ReadError::of("Percentile Latencies", "there are none"))?;
    let all = [totals, percentiles].into_iter().flat_map(cells);
    let figures = Figures::of(Format::Memtier, None, all)?.load();
    let rate = document
        .get("configuration")
        .and_then(|configuration| configuration.get("rate_limit"))
        .and_then(Value::as_u64);
    Ok(LoadReport {
        loads: vec![match counted(percentiles)? {
            Some(all) => Load {
                latency: Some(all),
                too_short: Vec::new(),
                ..figures
            },
            None => figures,
        }],
        pacing: match rate {
            Some(0) => Pacing::Closed,
            Some(_) => Pacing::Open,
            None => Pacing::Unknown,
        },
    })
}

/// Returns the histogram, if there is one.
fn counted(percentiles: &Value) -> Result<Option<Latency>, ReadError> {
    let compressed = percentiles
        .get("Histogram log format")
        .and_then(|format| format.get("Compressed Histogram"))
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let histogram = compressed.map(|text| hdr::decode(text, TimeUnit::Micros));
    let histogram = histogram.transpose();
    histogram
        .map(|all| all.map(Latency::Counted))
        .map_err(|problem| ReadError::of("Compressed Histogram", problem))
}
