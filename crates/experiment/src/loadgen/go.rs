//! `go test -bench`: lines of `BenchmarkName-8  iterations  value unit …`.
//!
//! Source: the benchmark data format of golang.org/design/14313-benchmark-format. Each line is a
//! mean over its iterations; `-count` gives several. A line `pkg:` begins another package.

use super::columns::GO;
use super::json::named;
use super::names::told_apart;
use super::{Load, LoadReport, ReadError, lines, number};
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let (mut named_by, mut times) = (Vec::new(), Vec::new());
    let mut package = String::new();
    for (line_number, line) in lines(bytes) {
        if let Some(path) = line.strip_prefix("pkg:") {
            path.trim().clone_into(&mut package);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((name, time)) = time(line_number, &words)? {
            named_by.push((name.to_owned(), package.clone()));
            times.push(time);
        }
    }
    let mut loads: Vec<Load> = Vec::new();
    for (name, seconds) in told_apart(&named_by).iter().zip(times) {
        named(&mut loads, name).add_value(seconds);
    }
    if loads.is_empty() {
        return Err(ReadError::of(GO.took, "no line of a benchmark has it"));
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Unknown,
    })
}

/// The name of a benchmark and its time in seconds, if a line has both.
fn time<'a>(line: usize, words: &[&'a str]) -> Result<Option<(&'a str, f64)>, ReadError> {
    let [name, iterations, measured @ ..] = words else {
        return Ok(None);
    };
    // With -v the name is on a separate line before its result.
    let Some(name) = name.strip_prefix("Benchmark") else {
        return Ok(None);
    };
    let mut pairs = measured.chunks(2);
    let found = pairs.find_map(|pair| match pair {
        [value, unit] if *unit == GO.took => Some(value),
        _ => None,
    });
    let Some(value) = found.filter(|_| iterations.parse::<u64>().is_ok()) else {
        return Ok(None);
    };
    let ns = number(value)
        .ok_or_else(|| ReadError::at(line, GO.took, format!("`{value}` is no number")))?;
    Ok(Some((name, GO.unit.to_seconds(ns))))
}
