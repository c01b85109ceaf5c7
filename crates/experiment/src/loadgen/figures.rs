//! The figures of one kind of request, read by the names of their columns.

use std::collections::BTreeMap;

use super::columns::{COLUMNS, Column, Figure, Format, Need};
use super::moment::exact_nanos;
use super::{Latency, Load, ReadError, number};
use crate::run::plan::TimeUnit;
use crate::run::stats::Quantile;

/// The words for a missing figure.
const NONE: [&str; 3] = ["", "N/A", "null"];

/// The placeholder for the percent in the name of a column.
const PERCENT: char = '#';

/// The figures in the columns of one row.
#[derive(Default)]
pub(super) struct Figures {
    quantiles: BTreeMap<Quantile, f64>,
    counts: Vec<(Figure, f64)>,
}

impl Figures {
    /// Reads all columns of a row.
    pub(super) fn of<N: AsRef<str>, T: AsRef<str>>(
        format: Format,
        line: Option<usize>,
        cells: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self, ReadError> {
        let mut all = Self::default();
        for (name, text) in cells {
            all.add(format, line, name.as_ref().trim(), text.as_ref().trim())?;
        }
        match all.lacks(format) {
            Some(field) => Err(fault(line, field, "there is no such figure")),
            None => Ok(all),
        }
    }

    /// Reads one column; a name without a figure is skipped.
    pub(super) fn add(
        &mut self,
        format: Format,
        line: Option<usize>,
        name: &str,
        text: &str,
    ) -> Result<(), ReadError> {
        let found = find(format, name).filter(|_| !NONE.contains(&text));
        let wrong = |what| fault(line, name, &format!("`{text}` is no {what}"));
        match found {
            Some(Found::Time(quantile, unit)) => {
                let ns = exact_nanos(text, unit).ok_or_else(|| wrong("time"))?;
                let seconds = TimeUnit::Nanos.to_seconds(ns as f64);
                self.quantiles.insert(quantile, seconds);
            }
            Some(Found::Count(figure)) => {
                let count = number(text).ok_or_else(|| wrong("number"))?;
                self.counts.push((figure, count));
            }
            None => {}
        }
        Ok(())
    }

    /// Reads one column of a source that prints each one once.
    pub(super) fn add_once(
        &mut self,
        format: Format,
        line: usize,
        name: &str,
        text: &str,
    ) -> Result<(), ReadError> {
        let is_known = find(format, name).is_some_and(|found| match found {
            Found::Time(quantile, _) => self.quantiles.contains_key(&quantile),
            Found::Count(figure) => self.get(figure).is_some(),
        });
        if is_known {
            let problem = "a second run is in the output; let the load print one, and warm up with \
                           --warm-up-load";
            return Err(ReadError::at(line, name, problem));
        }
        self.add(format, Some(line), name, text)
    }

    /// Returns the first missing mandatory column.
    fn lacks(&self, format: Format) -> Option<&'static str> {
        let mut columns = COLUMNS.iter().filter(|it| it.0 == format);
        let lacked = columns.find(|it| it.3 == Need::Must && self.get(it.2).is_none());
        lacked.map(|Column(_, name, ..)| *name)
    }

    /// Returns a count.
    fn get(&self, figure: Figure) -> Option<f64> {
        let found = self.counts.iter().find(|it| it.0 == figure);
        found.map(|(_, count)| *count)
    }

    /// Returns true if a percentile or the longest is known.
    pub(super) fn has_times(&self) -> bool {
        !self.quantiles.is_empty()
    }

    /// Returns the known figures of these requests.
    pub(super) fn load(self) -> Load {
        let count = |figure| self.get(figure).map(|it| it as u64);
        let (sent, failed) = (count(Figure::Sent), count(Figure::Failed));
        let rest = sent
            .zip(failed)
            .map(|(all, failed)| all.saturating_sub(failed));
        let (answered, rate) = (count(Figure::Answered), self.get(Figure::Rate));
        let all = self.quantiles.into_iter();
        let (zeros, quantiles): (Vec<_>, Vec<_>) = all.partition(|(_, seconds)| *seconds == 0.0);
        // If all are 0, the run measured nothing.
        let (zeros, quantiles) = match quantiles.is_empty() {
            true => (quantiles, zeros),
            false => (zeros, quantiles),
        };
        Load {
            latency: Some(Latency::Quantiles(quantiles)),
            too_short: zeros.into_iter().map(|(quantile, _)| quantile).collect(),
            throughput: rate.into_iter().collect(),
            requests: answered.or(rest),
            errors: failed,
            sent,
            ..Load::default()
        }
    }
}

fn fault(line: Option<usize>, field: &str, problem: &str) -> ReadError {
    let error = ReadError::of(field, problem);
    ReadError { line, ..error }
}

/// Returns true if the heading of a table has the column of a count.
pub(super) fn has_count(format: Format, heading: &[String], wanted: Figure) -> bool {
    let found = |name: &String| find(format, name.trim());
    heading
        .iter()
        .any(|name| found(name) == Some(Found::Count(wanted)))
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    Time(Quantile, TimeUnit),
    Count(Figure),
}

/// Returns the meaning of a name; `None` for percentiles that are not compared.
fn find(format: Format, name: &str) -> Option<Found> {
    let mut rows = COLUMNS.iter().filter(|it| it.0 == format);
    rows.find_map(|Column(_, printed, figure, _)| match figure {
        Figure::Percentile(unit) => {
            let (before, after) = printed.split_once(PERCENT)?;
            let percent = name.strip_prefix(before)?.strip_suffix(after)?;
            let quantile = Quantile::of_percent(number(percent)?);
            // Another column has the longest, with more digits.
            let quantile = quantile.filter(|it| *it != Quantile::Max)?;
            Some(Found::Time(quantile, *unit))
        }
        _ if *printed != name => None,
        Figure::Longest(unit) => Some(Found::Time(Quantile::Max, *unit)),
        count => Some(Found::Count(*count)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_found_by_the_percent_in_its_name() {
        let cases = [
            (
                Format::RedisTable,
                "p50_latency_ms",
                Quantile::P50,
                TimeUnit::Millis,
            ),
            (Format::Memtier, "p99.90", Quantile::P999, TimeUnit::Millis),
            (
                Format::FioNanos,
                "99.000000",
                Quantile::P99,
                TimeUnit::Nanos,
            ),
            (Format::FioMicros, "max", Quantile::Max, TimeUnit::Micros),
            (
                Format::Ycsb,
                "99.9PercentileLatency(us)",
                Quantile::P999,
                TimeUnit::Micros,
            ),
            (
                Format::Ycsb,
                "95thPercentileLatency(ms)",
                Quantile::P95,
                TimeUnit::Millis,
            ),
        ];
        for (format, name, quantile, unit) in cases {
            assert_eq!(
                find(format, name),
                Some(Found::Time(quantile, unit)),
                "{name}"
            );
        }
        for name in ["Median Response Time", "66%", "100%", "%", "rps"] {
            assert_eq!(find(Format::Locust, name), None, "{name}");
        }
    }

    #[test]
    fn a_figure_that_must_be_there_is_named() {
        let fault = |format, line, cells: &[(&str, &str)]| {
            let read = Figures::of(format, line, cells.iter().copied());
            read.err().map(|error| error.to_string())
        };
        let torn = [("Request Count", "12"), ("Failure Count", "N/A")];
        assert_eq!(
            fault(Format::Locust, Some(2), &torn).as_deref(),
            Some("line 2, Failure Count: there is no such figure")
        );
        assert_eq!(
            fault(Format::RedisTable, None, &[("rps", "a lot")]).as_deref(),
            Some("rps: `a lot` is no number")
        );
    }
}
