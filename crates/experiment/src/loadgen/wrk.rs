//! wrk and wrk2.
//!
//! Source: `print_stats_latency` and `format_metric` (units) of wrk 4.1 and of wrk2. Numbers are printed with two
//! decimals of their unit, so at least three digits are known. If no request was answered, they are `-nan` or 0.

use super::failures::NO_ANSWER;
use super::moment::with_unit;
use super::{Latency, Load, LoadReport, ReadError, lines, number};
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;

/// The percentiles that each program prints.
pub(super) fn quantiles(pacing: Pacing) -> Vec<Quantile> {
    match pacing {
        Pacing::Open => {
            let printed = |it: &Quantile| *it != Quantile::P95;
            Quantile::ALL.into_iter().filter(printed).collect()
        }
        _ => vec![Quantile::P50, Quantile::P90, Quantile::P99, Quantile::Max],
    }
}

pub(super) fn parse(bytes: &[u8], pacing: Pacing) -> Result<LoadReport, ReadError> {
    let mut printed = Printed::default();
    for (number, line) in lines(bytes) {
        let read = printed.read(&line);
        read.map_err(|it| ReadError::at(number, it.field, it.problem()))?;
    }
    Ok(LoadReport {
        loads: vec![printed.into_load(quantiles(pacing))?],
        pacing,
    })
}

/// The data read from its lines.
#[derive(Default)]
struct Printed {
    rate: Option<f64>,
    requests: Option<u64>,
    /// Error responses: they count as requests too.
    refused: u64,
    /// Requests without an answer.
    unanswered: u64,
    quantiles: Vec<(Quantile, f64)>,
    longest: Option<f64>,
    /// True if the next lines belong to the latency distribution.
    within: bool,
}

/// An unexpected word; empty if the line begins another run.
struct Unexpected {
    field: &'static str,
    text: Option<String>,
}

impl Unexpected {
    fn problem(&self) -> String {
        match &self.text {
            Some(text) => format!("`{text}` is not what wrk prints there"),
            None => "a second run is in the output; let the load print one, and warm up with \
                     --warm-up-load"
                .to_owned(),
        }
    }
}

fn expect<T>(value: Option<T>, field: &'static str, text: &str) -> Result<T, Unexpected> {
    value.ok_or_else(|| Unexpected {
        field,
        text: Some(text.to_owned()),
    })
}

/// Stores a value printed once in a run.
fn keep<T>(slot: &mut Option<T>, value: T, field: &'static str) -> Result<(), Unexpected> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Unexpected { field, text: None }),
    }
}

impl Printed {
    fn read(&mut self, line: &str) -> Result<(), Unexpected> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // wrk2 -U prints a second table, for uncorrected values.
            ["Latency", "Distribution", ..] => {
                self.within = self.quantiles.is_empty() || !has_tail(&self.quantiles);
            }
            [percent, time] if self.within && percent.ends_with('%') => {
                let share = number(percent.trim_end_matches('%'));
                let share = expect(share, "percentile", percent)?;
                let quantile = Quantile::of_percent(share);
                if let (Some(quantile), false) = (quantile, is_nan(time)) {
                    let seconds = expect(with_unit(time), "latency", time)?;
                    self.quantiles.push((quantile, seconds));
                }
            }
            ["Latency", _, _, max, _] if !is_nan(max) => {
                self.longest = Some(expect(with_unit(max), "longest", max)?);
            }
            [count, "requests", "in", ..] => {
                let count = expect(count.parse().ok(), "requests", count)?;
                keep(&mut self.requests, count, "requests")?;
                self.within = false;
            }
            ["Socket", "errors:", ..] => {
                let sum = all_numbers(line).and_then(|more| self.unanswered.checked_add(more));
                self.unanswered = expect(sum, "errors", line)?;
            }
            ["Non-2xx", ..] => {
                let sum = all_numbers(line).and_then(|more| self.refused.checked_add(more));
                self.refused = expect(sum, "errors", line)?;
            }
            ["Requests/sec:", rate] => {
                let per_second = match is_nan(rate) {
                    true => Some(0.0),
                    false => number(rate),
                };
                let per_second = expect(per_second, "rate", rate)?;
                keep(&mut self.rate, per_second, "Requests/sec")?;
            }
            [] if self.within => self.within = !has_tail(&self.quantiles),
            _ => {}
        }
        Ok(())
    }

    fn into_load(mut self, wanted: Vec<Quantile>) -> Result<Load, ReadError> {
        let Some(rate) = self.rate else {
            return Err(ReadError::of("Requests/sec", "wrk printed no such line"));
        };
        let load = Load {
            throughput: vec![rate],
            requests: self.requests,
            errors: Some(self.refused.saturating_add(self.unanswered)),
            sent: self.requests.map(|it| it.saturating_add(self.unanswered)),
            ..Load::default()
        };
        if self.requests == Some(0) || !has_tail(&self.quantiles) {
            let why = match self.requests {
                Some(0) => NO_ANSWER,
                _ => "wrk printed no Latency Distribution; give it --latency",
            };
            return Ok(load.without_latency(why, wanted));
        }
        // wrk2 lists the longest as 100 %; the one above it comes from a sample.
        if !self.quantiles.iter().any(|(q, _)| *q == Quantile::Max) {
            let longest = self.longest.map(|seconds| (Quantile::Max, seconds));
            self.quantiles.extend(longest);
        }
        self.quantiles.sort_by_key(|(quantile, _)| *quantile);
        Ok(Load {
            latency: Some(Latency::Quantiles(self.quantiles)),
            ..load
        })
    }
}

/// Returns true for the mean of nothing, printed as NaN.
fn is_nan(text: &str) -> bool {
    text.trim_start_matches('-').starts_with("nan")
}

fn has_tail(quantiles: &[(Quantile, f64)]) -> bool {
    quantiles.iter().any(|(q, _)| *q == Quantile::P99)
}

/// The sum of the numbers after the colon.
fn all_numbers(line: &str) -> Option<u64> {
    let (_, list) = line.split_once(':')?;
    let last = |part: &str| part.split_whitespace().next_back()?.parse::<u64>().ok();
    list.split(',')
        .try_fold(0_u64, |sum, part| sum.checked_add(last(part)?))
}
