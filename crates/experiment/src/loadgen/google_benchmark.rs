//! Google Benchmark `--benchmark_format=json`: the time of every repetition. Aggregates are
//! left out: they are made of the repetitions, and a mean of means says less than they do.

use serde_json::Value;

use super::json::{document, list, named, number, text};
use super::{Latency, Load, LoadReport, ReadError};
use crate::base::missing::Missing;
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
        if is_so(run, "skipped") && !is_so(run, "error_occurred") {
            load.note_skipped(run);
            continue;
        }
        load.sent = Some(load.sent.unwrap_or(0) + 1);
        if is_so(run, "error_occurred") {
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
    if loads.is_empty() {
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

fn is_so(run: &Value, field: &str) -> bool {
    run.get(field).and_then(Value::as_bool) == Some(true)
}

impl Load {
    /// Notes a benchmark that skipped itself (from 1.8 on): its time is written as 0.
    fn note_skipped(&mut self, run: &Value) {
        let why = run.get("skip_message").and_then(Value::as_str);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        self.latency.get_or_insert_with(|| Latency::Unknown {
            why: Missing::NotCounted {
                obstacle: format!("it was skipped{why}"),
            },
            quantiles: Vec::new(),
        });
    }
}
