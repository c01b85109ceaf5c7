//! The family of metrics that the sources of `--latency` give: names that end in what they mean.

use super::{Better, Metric, Scope, Shown};
use crate::base::units::Unit;
use crate::run::stats::Quantile;

/// The metric of requests that were counted one by one.
pub const DISTRIBUTION: &str = "latency_seconds";
pub(crate) const THROUGHPUT: &str = "throughput_per_second";
pub(crate) const REQUESTS: &str = "requests_total";
pub(crate) const ERRORS: &str = "request_errors_total";

/// What a metric of a reader means, without its name: the same at every end of a name.
struct Meaning {
    label: String,
    unit: Unit,
    better: Better,
    shown: Shown,
    doc: &'static str,
}

/// A metric that a reader gives, by its name; the names of benchmarks are part of it.
#[must_use]
pub fn suffix_metric(name: &str) -> Option<Metric> {
    let (end, meaning) = meanings()
        .into_iter()
        .find(|(end, _)| ends_with_word(name, end))?;
    let prefix = name[..name.len() - end.len()].trim_end_matches('_');
    let label = match prefix {
        "" => meaning.label,
        prefix => format!("{prefix}: {}", meaning.label),
    };
    Some(Metric {
        name: name.to_owned().into(),
        label: label.into(),
        unit: meaning.unit,
        better: meaning.better,
        scope: Scope::Tree,
        shown: meaning.shown,
        doc: meaning.doc.into(),
    })
}

/// Every end that the name of a reader's metric can have.
fn meanings() -> Vec<(String, Meaning)> {
    let mut all: Vec<_> = Quantile::ALL.map(quantile_meaning).into();
    all.extend(plain_meanings().map(|(end, meaning)| (end.to_owned(), meaning)));
    all
}

fn quantile_meaning(quantile: Quantile) -> (String, Meaning) {
    let meaning = Meaning {
        label: format!("latency, {}", quantile.label()),
        unit: Unit::Seconds,
        better: Better::Lower,
        shown: Shown::Always,
        doc: "As the source printed it for each trial: compared trial by trial, not merged.",
    };
    (quantile_end(quantile), meaning)
}

pub(crate) fn quantile_end(quantile: Quantile) -> String {
    format!("latency_{}_seconds", quantile.word())
}

#[rustfmt::skip]
fn plain_meanings() -> [(&'static str, Meaning); 4] {
    [
        (DISTRIBUTION, "latency", Unit::Seconds, Better::Lower, Shown::Always,
            "How long requests took, as the source of --latency counted them."),
        (THROUGHPUT, "throughput", Unit::Other("1/s".to_owned()), Better::Higher, Shown::Always,
            "Requests answered per second, as the source of --latency tells."),
        (ERRORS, "failed requests", Unit::Count, Better::Lower, Shown::WhenNonZero,
            "Requests that failed, timed out or were skipped, as the source of --latency tells."),
        (REQUESTS, "requests", Unit::Count, Better::Neither, Shown::OnRequest,
            "Requests that were answered and measured."),
    ]
    .map(|(end, label, unit, better, shown, doc)| {
        (end, Meaning { label: label.to_owned(), unit, better, shown, doc })
    })
}

/// Where a reader's metric stands among its own in a table: by load, then what was answered
/// before how long it took; `None` for other metrics.
#[must_use]
pub fn order(name: &str) -> Option<(String, usize)> {
    let quantiles = Quantile::ALL.map(quantile_end);
    let plain = [THROUGHPUT, DISTRIBUTION].map(str::to_owned);
    let ends = plain.into_iter().chain(quantiles);
    let ends = ends.chain([ERRORS, REQUESTS].map(str::to_owned));
    let (place, end) = ends
        .enumerate()
        .find(|(_, end)| ends_with_word(name, end))?;
    Some((name[..name.len() - end.len()].to_owned(), place))
}

fn ends_with_word(name: &str, end: &str) -> bool {
    name.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('_'))
}
