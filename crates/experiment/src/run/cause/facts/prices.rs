//! Metrics that got worse under an arm: the price of its gain.

use crate::run::compare::{Change, Comparison, Statistic, Table};
use crate::run::metric;
use crate::run::metric::requests::suffix_metric;
use crate::run::metric::{Better, Counter, MetricId};
use crate::run::record::Record;

/// Losses other than tails and printed metrics; the time, if another metric is judged.
///
/// The sampled peaks of a tree are excluded: there are fewer samples with small pages, so small pages would seem to
/// take less.
const COSTS: &[MetricId] = &[
    MetricId::WallSeconds,
    MetricId::PeakRssBytes,
    MetricId::CgroupPeakBytes,
    MetricId::MajorFaultsTotal,
    MetricId::Counter(Counter::SwappedPages),
];

/// A smaller growth of memory is no price: rounding up to huge pages alone takes as much.
const PRICE_OF_MEMORY: f64 = 0.05;

/// Returns the metrics that an arm makes worse, except for the judged one.
///
/// Stalls are excluded: their time is part of the judged time, and of the tails.
#[must_use]
pub fn prices<'a>(record: &Record, table: &'a Table, arm: &str) -> Vec<&'a Comparison> {
    let is_judged =
        |row: &Comparison| row.metric == table.verdict.metric && row.statistic == Statistic::Center;
    let rows = table.comparisons.iter().filter(|row| row.policy == arm);
    let losses = rows.filter(|row| !is_judged(row) && is_loss(record, row));
    losses.collect()
}

fn is_loss(record: &Record, row: &Comparison) -> bool {
    let mut printed = record.header.plan.printed.iter();
    let printed = printed.find(|it| it.name == row.metric);
    let counts = row.statistic != Statistic::Center
        || printed.is_some()
        || suffix_metric(&row.metric).is_some()
        || is_one_of(COSTS, row);
    let better = match printed {
        Some(printed) => printed.better,
        None => metric::find(&row.metric).map_or(Better::Neither, |metric| metric.better),
    };
    let worse = matches!(
        (better, row.change),
        (Better::Lower, Change::Higher) | (Better::Higher, Change::Lower)
    );
    counts && worse && (!is_memory(row) || is_price_of_memory(row))
}

fn is_one_of(metrics: &[MetricId], row: &Comparison) -> bool {
    metrics.iter().any(|id| id.name() == row.metric)
}

fn is_memory(row: &Comparison) -> bool {
    is_one_of(&[MetricId::PeakRssBytes, MetricId::CgroupPeakBytes], row)
}

/// Returns true if the additional memory, if any, is large enough to be a price.
#[must_use]
pub fn is_price_of_memory(row: &Comparison) -> bool {
    let ratio = row.ratio.filter(|_| is_memory(row));
    ratio.is_some_and(|ratio| ratio >= 1.0 + PRICE_OF_MEMORY)
}
