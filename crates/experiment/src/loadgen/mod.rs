//! Readers for the request statistics of load generators and benchmarks: `--latency READER[@UNIT][:SOURCE]`.
//!
//! Every reader returns exactly the data in its source: a histogram, single values, or only the printed percentiles.
//! Percentiles are never computed from other percentiles.
//!
//! To add a reader, add a variant of `Reader` in `plan::latency_source`, a total parser in a file here, its line in
//! `readings.rs` and its columns in `columns.rs`. Also add real output in `fixtures/readers`, and its name to the help
//! of `--latency`. A reader with times of requests fills `Load::timed`.

use std::fmt;

use crate::base::histogram::distribution::Distribution;
use crate::base::missing::Missing;
use crate::run::stats::Quantile;
use crate::run::trial::{Pacing, RequestInterval, Timed};

mod columns;
mod csv;
mod failures;
mod figures;
mod fio;
mod go;
mod google_benchmark;
mod hdr;
mod hgrm;
mod hyperfine;
mod jmh;
mod json;
mod jsonl;
mod locust;
mod memtier;
mod moment;
mod names;
mod oha;
mod overall;
mod pgbench;
mod presets;
mod readings;
mod redis;
mod requests;
#[cfg(test)]
mod tests;
mod wrk;
mod ycsb;

pub use failures::Failures;
pub use readings::{Reply, read};

/// The report of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// One for each kind of request or benchmark; names are unique.
    pub loads: Vec<Load>,
    /// Did requests wait for each other?
    pub pacing: Pacing,
}

/// One kind of request, or one benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Its name, if the source has several.
    pub name: Option<String>,
    /// The durations of requests.
    pub latency: Option<Latency>,
    /// The percentiles that the source printed as 0 although others are larger: its unit is too coarse.
    pub too_short: Vec<Quantile>,
    /// Requests per second, for each run that the source distinguishes.
    pub throughput: Vec<f64>,
    /// Number of answered requests.
    pub requests: Option<u64>,
    /// Number of failed requests.
    pub errors: Option<u64>,
    /// Number of sent requests, if failed ones are listed in addition to answered ones.
    pub sent: Option<u64>,
    /// Each request with its time, if the source has one; otherwise empty.
    pub timed: Vec<Timed>,
    /// Why their times could not be read, if the source has some.
    pub untimed: Option<String>,
    /// Aggregated requests with their time, if the source has these.
    pub intervals: Vec<RequestInterval>,
}

/// The durations of requests, as precise as the source.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// Every request, counted.
    Counted(Distribution),
    /// Single values in seconds, in their order.
    Values(Vec<f64>),
    /// Only these percentiles, in seconds.
    Quantiles(Vec<(Quantile, f64)>),
    /// Nothing.
    Unknown {
        /// Why.
        why: Missing,
        /// The percentiles that the source usually has; empty if it has every request.
        quantiles: Vec<Quantile>,
    },
}

/// Why a source could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// Line from 1, if the source has lines.
    pub line: Option<usize>,
    /// The field or the part of the document.
    pub field: String,
    /// The error.
    pub problem: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "{}: {}", self.field, self.problem)
    }
}

impl ReadError {
    fn at(line: usize, field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::of(field, problem)
        }
    }

    fn of(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            line: None,
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// Lines with their numbers from 1. Progress overwritten by carriage returns counts as separate lines.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, std::borrow::Cow<'_, str>)> {
    bytes
        .split(|&byte| byte == b'\n')
        .enumerate()
        .map(|(index, line)| {
            let last = line
                .rsplit(|&byte| byte == b'\r')
                .find(|part| !part.is_empty());
            (index + 1, String::from_utf8_lossy(last.unwrap_or_default()))
        })
}

/// Parses a finite, non-negative number.
fn number(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}
