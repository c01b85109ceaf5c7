//! The family of metrics from the sources of `--latency`: names whose suffix has the meaning.

use super::{Better, Metric, Scope, Shown};
use crate::base::units::Unit;
use crate::run::stats::Quantile;

#[rustfmt::skip]
metrics! {
    /// The metrics of a `--latency` source other than quantiles. The name of a benchmark may precede each, as in
    /// `set_latency_seconds`.
    pub enum RequestMetric in REQUEST_METRICS;
    Latency "latency_seconds" "latency" Seconds Lower Tree Always
        "Durations of requests, as counted by the source of --latency.";
    Throughput "throughput_per_second" "throughput" Other("1/s") Higher Tree Always
        "Requests answered per second, from the source of --latency.";
    Errors "request_errors_total" "failed requests" Count Lower Tree WhenNonZero
        "Requests that failed, timed out or were skipped, from the source of --latency.";
    Requests "requests_total" "requests" Count Neither Tree OnRequest
        "Answered and measured requests.";
}

/// A metric from a reader, by its name; the names of benchmarks are part of it.
#[must_use]
pub fn suffix_metric(name: &str) -> Option<Metric> {
    let rows = REQUEST_METRICS.iter().cloned();
    let metric = Quantile::ALL
        .map(quantile_metric)
        .into_iter()
        .chain(rows)
        .find(|metric| ends_with_word(name, &metric.name))?;
    let prefix = name[..name.len() - metric.name.len()].trim_end_matches('_');
    Some(Metric {
        name: name.to_owned().into(),
        label: match prefix {
            "" => metric.label,
            prefix => format!("{prefix} {}", metric.label).into(),
        },
        ..metric
    })
}

/// Returns true if a reader's metric counts the answered requests.
pub(crate) fn is_count_of_requests(name: &str) -> bool {
    ends_with_word(name, RequestMetric::Requests.name())
}

/// Returns true if a reader's metric counts the failed requests.
pub(crate) fn is_count_of_failures(name: &str) -> bool {
    ends_with_word(name, RequestMetric::Errors.name())
}

fn quantile_metric(quantile: Quantile) -> Metric {
    Metric {
        name: quantile_end(quantile).into(),
        label: format!("latency, {}", quantile.label()).into(),
        unit: Unit::Seconds,
        better: Better::Lower,
        scope: Scope::Tree,
        shown: Shown::Always,
        doc: "The value printed by the source for each trial: compared trial by trial, not merged."
            .into(),
    }
}

pub(crate) fn quantile_end(quantile: Quantile) -> String {
    format!("latency_{}_seconds", quantile.word())
}

/// The position of a reader's metric among others in a table: by load, then rate, durations and counts; `None` for
/// other metrics.
#[must_use]
pub fn order(name: &str) -> Option<(String, usize)> {
    let quantiles = Quantile::ALL.map(quantile_end);
    let plain = |metric: RequestMetric| metric.name().to_owned();
    let before = [RequestMetric::Throughput, RequestMetric::Latency].map(plain);
    let after = [RequestMetric::Errors, RequestMetric::Requests].map(plain);
    let ends = before.into_iter().chain(quantiles).chain(after);
    let (place, end) = ends
        .enumerate()
        .find(|(_, end)| ends_with_word(name, end))?;
    Some((name[..name.len() - end.len()].to_owned(), place))
}

fn ends_with_word(name: &str, end: &str) -> bool {
    name.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('_'))
}
