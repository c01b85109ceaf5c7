//! fio `--output-format=json`: reads, writes and trims of each job.
//!
//! Source: "JSON output" of fio's manual and `show_thread_status_json` of stat.c: `clat_ns` since 3.0 (nanoseconds),
//! `clat` before (microseconds). `percentile` contains steps of a histogram. The engine and its depth determine if
//! requests wait for each other.

use serde_json::Value;

use super::columns::Format;
use super::figures::Figures;
use super::json::{cells, document, list, number};
use super::names::told_apart;
use super::{Latency, Load, LoadReport, ReadError};
use crate::run::trial::Pacing;

const KINDS: [&str; 3] = ["read", "write", "trim"];

/// The object of latencies, and its columns.
const LATENCIES: [(&str, Format); 2] = [("clat_ns", Format::FioNanos), ("clat", Format::FioMicros)];

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
            let Some(part) = job.get(kind) else { continue };
            if did_some(part) || failed {
                named.push((format!("{name} {kind}"), format!("job={place}")));
                loads.push(load(part, failed)?);
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

/// Returns true if there was any I/O. fio 2.1 counts only bytes.
fn did_some(part: &Value) -> bool {
    let fields = ["total_ios", "io_bytes"];
    let mut counts = fields.iter().filter_map(|field| number(part, field).ok());
    counts.any(|count| count > 0.0)
}

/// Returns one kind of requests of a job. fio counts no failures: the first one ends the job.
fn load(part: &Value, failed: bool) -> Result<Load, ReadError> {
    let load = Figures::of(Format::FioKind, None, cells(part))?.load();
    Ok(Load {
        latency: latency(part)?,
        errors: Some(u64::from(failed)),
        ..load
    })
}

fn latency(part: &Value) -> Result<Option<Latency>, ReadError> {
    let mut known = LATENCIES.iter();
    let Some((found, format)) = known.find_map(|(name, it)| Some((part.get(name)?, *it))) else {
        return Ok(None);
    };
    let all = [found.get("percentile"), Some(found)].into_iter().flatten();
    let figures = Figures::of(format, None, all.flat_map(cells))?;
    Ok(figures
        .has_times()
        .then(|| figures.load().latency)
        .flatten())
}
