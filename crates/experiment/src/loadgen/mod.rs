//! What load generators and benchmarks tell of their requests: `--latency READER[@UNIT][:SOURCE]`.
//!
//! Every reader gives what its source really has: a histogram, single values, or no more than
//! the percentiles that were printed. Percentiles are never made up from other percentiles.
//!
//! To add a reader, add a variant of `Reader` in `plan::latency_source`, a total parser in a file here, its line in
//! `readings.rs`, its columns in `columns.rs`, real output in `fixtures/readers`, and its name to the help of `--latency`. A reader with times of requests fills `Load::timed`.

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

/// What one source report.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// One for each kind of request or benchmark; never two of one name.
    pub loads: Vec<Load>,
    /// Whether requests waited for each other.
    pub pacing: Pacing,
}

/// One kind of request, or one benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Its name, where the source has several.
    pub name: Option<String>,
    /// How long requests took.
    pub latency: Option<Latency>,
    /// The percentiles that the source printed as 0, and others as more: its unit is too coarse.
    pub too_short: Vec<Quantile>,
    /// Requests per second, of each run that the source tells apart.
    pub throughput: Vec<f64>,
    /// How many requests were answered.
    pub requests: Option<u64>,
    /// How many failed.
    pub errors: Option<u64>,
    /// How many were sent, where failed ones are told beside those that were answered.
    pub sent: Option<u64>,
    /// Each request with its time, where the source has one; else nothing.
    pub timed: Vec<Timed>,
    /// Why their times could not be read, where the source has some.
    pub untimed: Option<String>,
    /// Requests that were counted together, with their time, where the source has those.
    pub intervals: Vec<RequestInterval>,
}

/// How long requests took, as far as the source tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// Every request, counted.
    Counted(Distribution),
    /// Single values in seconds, in their order.
    Values(Vec<f64>),
    /// Nothing but these percentiles, in seconds.
    Quantiles(Vec<(Quantile, f64)>),
    /// Nothing.
    Unknown {
        /// Why.
        why: Missing,
        /// The percentiles that the source has otherwise; none where it has every request.
        quantiles: Vec<Quantile>,
    },
}

/// Why a source could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// Line from 1, where the source has lines.
    pub line: Option<usize>,
    /// The field or the part of the document.
    pub field: String,
    /// What is wrong with it.
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

/// Lines with their numbers from 1. Progress that was overwritten by carriage returns is lines
/// of its own.
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

/// A number that is finite and not negative.
fn number(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}
