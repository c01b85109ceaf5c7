//! The family of metrics that the sources of `--latency` give: names that end in what they mean.

use super::{Better, Metric, Scope, Shown};
use crate::base::units::Unit;
use crate::run::stats::Quantile;

#[rustfmt::skip]
metrics! {
    /// What a source of `--latency` gives besides quantiles; the name of a benchmark may stand
    /// before each, as in `set_latency_seconds`.
    pub enum RequestMetric in REQUEST_METRICS;
    Latency "latency_seconds" "latency" Seconds Lower Tree Always
        "How long requests took, as the source of --latency counted them.";
    Throughput "throughput_per_second" "throughput" Other("1/s") Higher Tree Always
        "Requests answered per second, as the source of --latency tells.";
    Errors "request_errors_total" "failed requests" Count Lower Tree WhenNonZero
        "Requests that failed, timed out or were skipped, as the source of --latency tells.";
    Requests "requests_total" "requests" Count Neither Tree OnRequest
        "Requests that were answered and measured.";
}

/// A metric that a reader gives, by its name; the names of benchmarks are part of it.
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

/// Whether a metric that a reader gives counts the requests that were answered.
pub(crate) fn is_count_of_requests(name: &str) -> bool {
    ends_with_word(name, RequestMetric::Requests.name())
}

/// Returns true if a metric that a reader gives counts the requests that failed.
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
        doc: "As the source printed it for each trial: compared trial by trial, not merged.".into(),
    }
}

pub(crate) fn quantile_end(quantile: Quantile) -> String {
    format!("latency_{}_seconds", quantile.word())
}

/// Where a reader's metric stands among its own in a table: by load, then what was answered
/// before how long it took; `None` for other metrics.
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
