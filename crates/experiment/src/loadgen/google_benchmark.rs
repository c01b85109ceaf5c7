//! Google Benchmark `--benchmark_format=json`: the time of every repetition. Aggregates are
//! left out: they are made of the repetitions, and a mean of means says less than they do.

use serde_json::Value;

use super::json::{document, list, named, number, text};
use super::{Load, LoadReport, ReadError};
use crate::run::plan::TimeUnit;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    let mut loads: Vec<Load> = Vec::new();
    for run in list(&document, "benchmarks")? {
        if run.get("run_type").and_then(Value::as_str) == Some("aggregate") {
            continue;
        }
        let name = text(run, "run_name").or_else(|_| text(run, "name"))?;
        let load = named(&mut loads, name);
        if run.get("error_occurred").and_then(Value::as_bool) == Some(true) {
            load.errors = Some(load.errors.unwrap_or(0) + 1);
            continue;
        }
        let unit: TimeUnit = text(run, "time_unit")?
            .parse()
            .map_err(|problem| ReadError::of("time_unit", problem))?;
        load.add_value(unit.to_seconds(number(run, "real_time")?));
        if let Ok(rate) = number(run, "items_per_second") {
            load.throughput.push(rate);
        }
    }
    if !loads.iter().any(|load| load.latency.is_some()) {
        return Err(ReadError::of(
            "benchmarks",
            "it holds no repetition (--benchmark_report_aggregates_only leaves them out)",
        ));
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Unknown,
    })
}
