//! `go test -bench`: lines of `BenchmarkName-8  iterations  value unit …`.
//!
//! Source: the benchmark data format of golang.org/design/14313-benchmark-format. Each line is a
//! mean over its iterations; `-count` gives several.

use super::json::named;
use super::{Load, LoadReport, ReadError, lines, number};
use crate::run::plan::TimeUnit;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let mut loads: Vec<Load> = Vec::new();
    for (line_number, line) in lines(bytes) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, iterations, measured @ ..] = words.as_slice() else {
            continue;
        };
        // With -v the name stands alone before the line of its result.
        let Some(name) = name.strip_prefix("Benchmark") else {
            continue;
        };
        if iterations.parse::<u64>().is_err() {
            continue;
        }
        for pair in measured.chunks(2) {
            if let [value, "ns/op"] = pair {
                let ns = number(value).ok_or_else(|| {
                    ReadError::at(line_number, "ns/op", format!("`{value}` is no number"))
                })?;
                named(&mut loads, name).add_value(TimeUnit::Nanos.to_seconds(ns));
            }
        }
    }
    if loads.is_empty() {
        return Err(ReadError::of("ns/op", "no line of a benchmark has it"));
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Unknown,
    })
}
