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
use crate::text::document::Level;
use crate::text::wrap::plain;

/// The lines, most important first.
pub(super) fn requests(report: &Report<'_>) -> Vec<(Level, String)> {
    let Some(source) = &report.record.header.plan.latency else {
        return Vec::new();
    };
    let unread = unread(report, source).map(|line| (Level::First, line));
    let mut lines: Vec<(Level, String)> = unread.into_iter().collect();
    lines.extend(pacing(report, source).into_iter().flatten());
    let more = printed_only(report, source).into_iter();
    lines.extend(
        more.chain(warnings(report))
            .map(|line| (Level::Detail, line)),
    );
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
        "No latencies in {} of {} trials ({}); the first, in round {}: {}.",
        unread.len(),
        trials().count(),
        source.reader.word(),
        first.round + 1,
        plain(&why)
    ))
}

/// A line for the first screen and one of details, where any trial ran in a closed loop.
fn pacing(report: &Report<'_>, source: &LatencySource) -> Option<[(Level, String); 2]> {
    let closed = |trial: &Trial| trial.pacing == Some(Pacing::Closed);
    let program = source.reader.program();
    let brief = format!("{program} is a closed loop: its percentiles understate slow requests.");
    let lead = format!(
        "Closed loop (coordinated omission): {program} sends a request only after an earlier one is answered"
    );
    report.record.trials.iter().any(closed).then(|| {
        let detail = match source.reader {
            // stats_correct in its src/stats.c, called before it prints anything.
            Reader::Wrk => format!(
                "{lead}. For each request that took longer than two usual ones it adds others \
                 that it never sent, each shorter by a usual one: its percentiles are those \
                 neither of the requests sent nor of an open loop."
            ),
            _ => format!(
                "{lead}, so a stall delays requests that are never counted: users who arrive at \
                 their own rate see a worse tail."
            ),
        };
        [(Level::First, brief), (Level::Detail, detail)]
    })
}

fn printed_only(report: &Report<'_>, source: &LatencySource) -> Option<String> {
    let ends = Quantile::ALL.map(|quantile| format!("latency_{}_seconds", quantile.word()));
    let is_quantile = |name: &String| ends.iter().any(|end| name.ends_with(end));
    let trials = &report.record.trials;
    let only = trials
        .iter()
        .flat_map(|trial| &trial.readings)
        .any(|(name, reading)| is_quantile(name) && matches!(reading, Reading::Value { .. }));
    only.then(|| {
        format!(
            "Percentiles: {} prints these alone, so they were compared trial by trial and not \
             merged; the table has the median over trials.",
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
