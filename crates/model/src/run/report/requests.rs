//! What a reader should know of percentiles: how they were put together, what the generator
//! hides, and which had too few requests.

use std::collections::BTreeSet;

use super::Report;
use crate::run::compare::{Statistic, Warning};
use crate::run::metric::requests::suffix_metric;
use crate::run::plan::{LatencySource, Reader};
use crate::run::stats::Quantile;
use crate::run::trial::Pacing;
use crate::run::trial::{Reading, Trial};
use crate::text::wrap::plain;

/// The lines, most important first.
pub(super) fn requests(report: &Report<'_>) -> Vec<String> {
    let Some(source) = &report.record.header.plan.latency else {
        return Vec::new();
    };
    let mut lines: Vec<String> = unread(report, source).into_iter().collect();
    lines.extend(pacing(report, source));
    lines.extend(printed_only(report, source));
    lines.extend(warnings(report));
    lines
}

/// Trials that succeeded, and of which nothing could be read.
fn unread(report: &Report<'_>, source: &LatencySource) -> Option<String> {
    let trials = || {
        report
            .record
            .trials
            .iter()
            .filter(|trial| trial.succeeded())
    };
    let unread: Vec<&Trial> = trials().filter(|trial| trial.pacing.is_none()).collect();
    let first = unread.first()?;
    let why = first
        .readings
        .iter()
        .filter(|(name, _)| suffix_metric(name).is_some())
        .find_map(|(_, reading)| match reading {
            Reading::Missing { missing } => Some(missing.to_string()),
            _ => None,
        })?;
    Some(format!(
        "No latencies of {} of {} trials ({}); the first, in round {}: {}.",
        unread.len(),
        trials().count(),
        source.reader.word(),
        first.round + 1,
        plain(&why)
    ))
}

fn pacing(report: &Report<'_>, source: &LatencySource) -> Option<String> {
    let closed = |trial: &Trial| trial.pacing == Some(Pacing::Closed);
    let program = source.reader.program();
    let lead =
        format!("Closed loop: {program} sends a request only when one before it was answered");
    report.record.trials.iter().any(closed).then(|| match source.reader {
        // stats_correct in its src/stats.c, called before it prints anything.
        Reader::Wrk => format!(
            "{lead}. For each that took longer than two usual ones it counts others that it never \
             sent, each shorter by a usual one: its percentiles are neither of what was sent alone, \
             nor those of users who come at their own rate."
        ),
        _ => format!(
            "{lead}, so a stall delays requests that it never counts (coordinated omission): the \
             tail of users who come at their own rate is worse than these percentiles."
        ),
    })
}

fn printed_only(report: &Report<'_>, source: &LatencySource) -> Option<String> {
    let is_quantile = |name: &String| {
        let ends = Quantile::ALL.map(|quantile| format!("latency_{}_seconds", quantile.word()));
        ends.iter().any(|end| name.ends_with(end))
    };
    let trials = &report.record.trials;
    let only = trials
        .iter()
        .flat_map(|trial| &trial.readings)
        .any(|(name, reading)| is_quantile(name) && matches!(reading, Reading::Value { .. }));
    only.then(|| {
        format!(
            "Percentiles: {} prints no more than these, so those of each trial were compared, \
             round by round; they were not merged, and shown is the median of the trials.",
            source.reader.program()
        )
    })
}

/// What the percentiles themselves have to say, once each.
fn warnings(report: &Report<'_>) -> Vec<String> {
    let rows = report.table.comparisons.iter();
    let tails = rows.filter(|row| row.statistic != Statistic::Center);
    let own: BTreeSet<(String, String)> = tails
        .filter(|row| suffix_metric(&row.metric).is_some())
        .flat_map(|row| row.warnings.iter().map(|it| (&row.metric, it)))
        .filter(|(_, warning)| !matches!(warning, Warning::Marked { .. }))
        .map(|(metric, warning)| (metric.clone(), warning.to_string()))
        .collect();
    let named = |(metric, warning): &(String, String)| {
        let metric = crate::run::compare::labels::metric_of(report.record, metric);
        format!("{}: {}.", plain(&metric.label), plain(warning))
    };
    own.iter().map(named).collect()
}
