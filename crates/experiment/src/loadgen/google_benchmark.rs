//! Google Benchmark `--benchmark_format=json`: the time of every repetition. Aggregates are skipped: they are computed
//! from the repetitions, and a mean of means contains less information.

use std::collections::BTreeSet;

use serde_json::Value;

use super::json::{document, list, named, number, text};
use super::names::told_apart;
use super::{Latency, Load, LoadReport, ReadError};
use crate::base::missing::Missing;
use crate::run::plan::TimeUnit;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let document = document(bytes)?;
    let mut loads: Vec<Load> = Vec::new();
    let all = list(&document, "benchmarks")?;
    let names: BTreeSet<&str> = all.iter().filter_map(|it| text(it, "name").ok()).collect();
    let runs = all.iter().filter(|run| !is_aggregate(run, &names));
    let runs: Vec<&Value> = runs.collect();
    for (run, name) in runs.iter().zip(names_of(&runs)?) {
        let load = named(&mut loads, &name);
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
    /// Notes a benchmark that skipped itself (since 1.8): its time is written as 0.
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

/// The name of each run, with its family if another one with the same name was registered.
fn names_of(runs: &[&Value]) -> Result<Vec<String>, ReadError> {
    let named = runs.iter().map(|run| {
        let name = text(run, "run_name").or_else(|_| text(run, "name"))?;
        let family = run.get("family_index").and_then(Value::as_u64);
        let family = family.map_or_else(String::new, |it| format!("family={it}"));
        Ok((name.to_owned(), family))
    });
    let named: Vec<_> = named.collect::<Result<_, ReadError>>()?;
    Ok(told_apart(&named))
}

/// Returns true for an aggregate of repetitions. Before 1.5, only the name or the fields of a complexity fit identify
/// it.
fn is_aggregate(run: &Value, names: &BTreeSet<&str>) -> bool {
    const ENDS: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
    if let Some(kind) = run.get("run_type").and_then(Value::as_str) {
        return kind == "aggregate";
    }
    let is_there = |field: &str| run.get(field).is_some();
    if ["aggregate_name", "big_o", "rms"].into_iter().any(is_there) {
        return true;
    }
    let name = text(run, "name").unwrap_or_default();
    let base = ENDS.iter().find_map(|end| name.strip_suffix(end));
    base.is_some_and(|base| {
        let is_listed = |end: &&&str| names.contains(format!("{base}{end}").as_str());
        names.contains(base) || ENDS.iter().filter(is_listed).count() > 1
    })
}
