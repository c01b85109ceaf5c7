//! wrk and wrk2.
//!
//! Source: `print_stats_latency` and `format_metric` (units) of wrk 4.1 and of wrk2. Numbers are
//! printed with two decimals of their unit, so three digits at the least are known.

use super::moment::exact_nanos;
use super::{Latency, Load, LoadReport, ReadError, lines, number};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;

pub(super) fn parse(bytes: &[u8], pacing: Pacing) -> Result<LoadReport, ReadError> {
    let mut printed = Printed::default();
    for (number, line) in lines(bytes) {
        printed.read(&line).map_err(|Unexpected { field, text }| {
            let problem = format!("`{text}` is not what wrk prints there");
            ReadError::at(number, field, problem)
        })?;
    }
    Ok(LoadReport {
        loads: vec![printed.into_load()?],
        pacing,
    })
}

/// What of its lines was read.
#[derive(Default)]
struct Printed {
    rate: Option<f64>,
    requests: Option<u64>,
    errors: u64,
    quantiles: Vec<(Quantile, f64)>,
    longest: Option<f64>,
    /// Whether the next lines are those of the latency distribution.
    within: bool,
}

/// A word that should have been something else.
struct Unexpected {
    field: &'static str,
    text: String,
}

fn expect<T>(value: Option<T>, field: &'static str, text: &str) -> Result<T, Unexpected> {
    value.ok_or_else(|| Unexpected {
        field,
        text: text.to_owned(),
    })
}

impl Printed {
    fn read(&mut self, line: &str) -> Result<(), Unexpected> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            // wrk2 -U prints a second table, of what was not corrected.
            ["Latency", "Distribution", ..] => {
                self.within = self.quantiles.is_empty() || !has_tail(&self.quantiles);
            }
            [percent, time] if self.within && percent.ends_with('%') => {
                let share = number(percent.trim_end_matches('%'));
                let share = expect(share, "percentile", percent)?;
                let seconds = expect(time_of(time), "latency", time)?;
                let quantile = Quantile::of_percent(share);
                self.quantiles.extend(quantile.map(|q| (q, seconds)));
            }
            ["Latency", _, _, max, _] => {
                self.longest = Some(expect(time_of(max), "longest", max)?);
            }
            [count, "requests", "in", ..] => {
                self.requests = Some(expect(count.parse().ok(), "requests", count)?);
                self.within = false;
            }
            ["Socket", "errors:", ..] | ["Non-2xx", ..] => {
                let sum = all_numbers(line).and_then(|more| self.errors.checked_add(more));
                self.errors = expect(sum, "errors", line)?;
            }
            ["Requests/sec:", rate] => self.rate = Some(expect(number(rate), "rate", rate)?),
            [] if self.within => self.within = !has_tail(&self.quantiles),
            _ => {}
        }
        Ok(())
    }

    fn into_load(mut self) -> Result<Load, ReadError> {
        let Some(rate) = self.rate else {
            return Err(ReadError::of("Requests/sec", "wrk printed no such line"));
        };
        if !has_tail(&self.quantiles) {
            return Err(ReadError::of(
                "Latency Distribution",
                "wrk printed none; give it --latency",
            ));
        }
        // wrk2 lists the longest as 100 %; the one above it is that of a sample.
        if !self.quantiles.iter().any(|(q, _)| *q == Quantile::Max) {
            let longest = self.longest.map(|seconds| (Quantile::Max, seconds));
            self.quantiles.extend(longest);
        }
        self.quantiles.sort_by_key(|(quantile, _)| *quantile);
        Ok(Load {
            throughput: vec![rate],
            requests: self.requests,
            errors: Some(self.errors),
            latency: Some(Latency::Quantiles(self.quantiles)),
            ..Load::default()
        })
    }
}

fn has_tail(quantiles: &[(Quantile, f64)]) -> bool {
    quantiles.iter().any(|(q, _)| *q == Quantile::P99)
}

/// `250.00us`, `5.80ms`, `1.20s`, `1.50m`, `1.00h`.
fn time_of(text: &str) -> Option<f64> {
    let letters = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (value, unit) = text.split_at(letters);
    let nanos = match unit {
        "us" => exact_nanos(value, TimeUnit::Micros)?,
        "ms" => exact_nanos(value, TimeUnit::Millis)?,
        "s" => exact_nanos(value, TimeUnit::Seconds)?,
        "m" => TimeUnit::Seconds.to_nanos(number(value)? * 60.0)?,
        "h" => TimeUnit::Seconds.to_nanos(number(value)? * 3600.0)?,
        _ => return None,
    };
    Some(TimeUnit::Nanos.to_seconds(nanos as f64))
}

/// The sum of the numbers after the colon.
fn all_numbers(line: &str) -> Option<u64> {
    let (_, list) = line.split_once(':')?;
    let last = |part: &str| part.split_whitespace().next_back()?.parse::<u64>().ok();
    list.split(',')
        .try_fold(0_u64, |sum, part| sum.checked_add(last(part)?))
}
