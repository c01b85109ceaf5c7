//! redis-benchmark 6.2 and later: the summary of each test, as text or as `--csv`.
//!
//! Source: `showLatencyReport` of redis-benchmark.c. Its two tables of the distribution are coarse (powers of two of
//! the rest, and steps of 0.1 ms). So the percentiles of the summary are used, which have three digits of HdrHistogram.
//! The summary has none beyond p99. For p99.9 the step of the first table at 99.902 % (1 - 2⁻¹⁰) is used, which differs
//! by 23 requests in a million, and is never the smaller one.

use super::columns::Format;
use super::figures::Figures;
use super::moment::exact_nanos;
use super::{Latency, Load, LoadReport, ReadError, lines, number};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let csv = lines(bytes).any(|(_, line)| line.starts_with("\"test\","));
    let loads = if csv { table(bytes)? } else { text(bytes)? };
    if loads.is_empty() {
        return Err(ReadError::of(
            "latency summary",
            "there is none; redis-benchmark 6.2 or later prints it, without -q",
        ));
    }
    Ok(LoadReport {
        loads,
        pacing: Pacing::Closed,
    })
}

/// `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms",…`
fn table(bytes: &[u8]) -> Result<Vec<Load>, ReadError> {
    let mut heading: Vec<String> = Vec::new();
    let mut loads = Vec::new();
    for (line_number, line) in lines(bytes) {
        let cells: Vec<String> = line
            .trim()
            .split("\",\"")
            .map(|cell| cell.replace('"', ""))
            .collect();
        if cells[0] == "test" {
            heading = cells;
        } else if cells.len() == heading.len() {
            let figures = heading.iter().zip(&cells);
            let load = Figures::of(Format::RedisTable, Some(line_number), figures)?.load();
            loads.push(Load {
                name: cells.into_iter().next(),
                ..load
            });
        }
    }
    Ok(loads)
}

fn text(bytes: &[u8]) -> Result<Vec<Load>, ReadError> {
    let mut loads = summaries(bytes)?;
    for (load, tail) in loads.iter_mut().zip(tails(bytes)) {
        if let (Some(Latency::Quantiles(quantiles)), Some(seconds)) = (&mut load.latency, tail) {
            quantiles.push((Quantile::P999, seconds));
        }
    }
    loads.retain(|load| load.latency.is_some());
    Ok(loads)
}

/// One for each test, from its summary.
fn summaries(bytes: &[u8]) -> Result<Vec<Load>, ReadError> {
    let mut loads: Vec<Load> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (line_number, line) in lines(bytes) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let fault = |field: &str| ReadError::at(line_number, field, format!("`{line}`"));
        if let ["======", name @ .., "======"] = words.as_slice() {
            loads.push(Load {
                name: Some(name.join(" ")),
                ..Load::default()
            });
            continue;
        }
        let Some(load) = loads.last_mut() else {
            continue;
        };
        match words.as_slice() {
            [count, "requests", "completed", ..] => {
                load.requests = Some(count.parse().map_err(|_| fault("requests"))?);
            }
            ["throughput", "summary:", rate, ..] => {
                load.throughput = vec![number(rate).ok_or_else(|| fault("throughput"))?];
            }
            ["avg", ..] => names = words.iter().map(ToString::to_string).collect(),
            values if !names.is_empty() => {
                if values.len() != names.len() {
                    return Err(fault("latency summary"));
                }
                let figures = names.drain(..).zip(values);
                let read = Figures::of(Format::RedisSummary, Some(line_number), figures)?;
                let read = read.load();
                (load.latency, load.too_short) = (read.latency, read.too_short);
            }
            _ => {}
        }
    }
    Ok(loads)
}

/// The step of p99.9 in the table by percentiles of each test, in seconds.
fn tails(bytes: &[u8]) -> Vec<Option<f64>> {
    const STEP: &str = "99.902%";
    let mut tails = Vec::new();
    let mut within = false;
    for (_, line) in lines(bytes) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["======", .., "======"] => tails.push(None),
            ["Latency", "by", "percentile", ..] => within = true,
            [STEP, "<=", value, "milliseconds", ..] if within => {
                if let (Some(tail), Some(ns)) =
                    (tails.last_mut(), exact_nanos(value, TimeUnit::Millis))
                {
                    *tail = Some(TimeUnit::Nanos.to_seconds(ns as f64));
                }
            }
            // The second table counts up to round times, with other percentiles as steps.
            [] | ["Cumulative", ..] => within = false,
            _ => {}
        }
    }
    tails
}
