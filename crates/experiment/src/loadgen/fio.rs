//! fio `--output-format=json`: reads, writes and trims of each job.
//!
//! Source: "JSON output" of fio's manual and `show_thread_status_json` of stat.c: `clat_ns` from
//! 3.0 on (nanoseconds), `clat` before (microseconds); `percentile` holds steps of a histogram.
//! The engine and its depth decide if requests wait for each other.

use serde_json::Value;

use super::json::{document, list, number};
use super::names::told_apart;
use super::{Latency, Load, LoadReport, ReadError};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;

const KINDS: [&str; 3] = ["read", "write", "trim"];

/// The field of latencies, and its unit.
const LATENCIES: [(&str, TimeUnit); 2] = [("clat_ns", TimeUnit::Nanos), ("clat", TimeUnit::Micros)];

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    // Notes precede the document.
    let begin = bytes.split_inclusive(|byte| *byte == b'\n');
    let notes = begin.take_while(|line| !line.trim_ascii_start().starts_with(b"{"));
    let notes: usize = notes.map(<[u8]>::len).sum();
    let document = document(bytes.get(notes..).unwrap_or_default())?;
    let (mut named, mut loads) = (Vec::new(), Vec::new());
    for (place, job) in list(&document, "jobs")?.iter().enumerate() {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        let failed = number(job, "error").is_ok_and(|error| error != 0.0);
        for kind in KINDS {
            let part = job
                .get(kind)
                .filter(|part| number(part, "total_ios").is_ok());
            let Some(part) = part else { continue };
            let load = load(part, failed)?;
            if load.requests != Some(0) || failed {
                named.push((format!("{name} {kind}"), format!("job={place}")));
                loads.push(load);
            }
        }
    }
    if loads.is_empty() {
        return Err(ReadError::of("jobs", "no job did any I/O"));
    }
    for (load, name) in loads.iter_mut().zip(told_apart(&named)) {
        load.name = Some(name);
    }
    if let [only] = loads.as_mut_slice() {
        only.name = None;
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Unknown,
    })
}

/// Returns one kind of requests of a job. fio counts no failures: the first ends the job.
fn load(part: &Value, failed: bool) -> Result<Load, ReadError> {
    Ok(Load {
        latency: latency(part),
        throughput: vec![number(part, "iops")?],
        requests: Some(number(part, "total_ios")? as u64),
        errors: Some(u64::from(failed)),
        ..Load::default()
    })
}

fn latency(part: &Value) -> Option<Latency> {
    let found = LATENCIES
        .iter()
        .find_map(|(name, unit)| Some((part.get(name)?, *unit)));
    let (latency, unit) = found?;
    let percentiles = latency.get("percentile").and_then(Value::as_object);
    let steps = percentiles
        .into_iter()
        .flatten()
        .filter_map(|(percent, value)| {
            let quantile = Quantile::of_percent(super::number(percent)?)?;
            Some((quantile, value.as_f64()?))
        });
    let longest = number(latency, "max")
        .ok()
        .map(|value| (Quantile::Max, value));
    let mut quantiles: Vec<(Quantile, f64)> = steps
        .filter(|(quantile, _)| *quantile != Quantile::Max)
        .chain(longest)
        .map(|(quantile, value)| (quantile, unit.to_seconds(value)))
        .collect();
    quantiles.sort_by_key(|(quantile, _)| *quantile);
    (!quantiles.is_empty()).then_some(Latency::Quantiles(quantiles))
}
