//! Trials second by second, as a document.

use crate::base::units::Unit;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::timeline::{Second, Slowest, Timeline};
use crate::text::document::{Block, Document, Section};
use crate::text::grid::{Cell, Grid};
use crate::text::number::Scaler;
use crate::text::wrap::plain;

/// Metrics that do not include each other: a stall belongs to exactly one.
const APART: [MetricId; 4] = [
    MetricId::DirectCompactionSeconds,
    MetricId::DirectReclaimSeconds,
    MetricId::CgroupReclaimSeconds,
    MetricId::ZeroingSeconds,
];

/// A column: its heading, its unit, and its value for a second.
struct Column {
    head: &'static str,
    unit: Unit,
    value: fn(&Second, f64) -> Option<f64>,
}

/// The columns; completely empty ones are left out.
fn columns() -> [Column; 8] {
    let column = |head, unit, value| Column { head, unit, value };
    [
        column("requests/s", Unit::Count, |second, length| {
            let requests = second.requests?;
            Some(requests.count as f64 / requests.over_seconds.unwrap_or(length))
        }),
        column("p50", Unit::Seconds, |second, _| {
            Some(second.requests?.p50_seconds)
        }),
        column("p99", Unit::Seconds, |second, _| {
            Some(second.requests?.p99_seconds)
        }),
        column("max", Unit::Seconds, |second, _| {
            Some(second.requests?.max_seconds)
        }),
        column("faults/s", Unit::Count, |second, length| {
            Some(second.minor_faults? as f64 / length)
        }),
        column("resident", Unit::Bytes, |second, _| {
            Some(second.resident_bytes? as f64)
        }),
        column("huge", Unit::Bytes, |second, _| {
            Some(second.huge_bytes? as f64)
        }),
        column("stalled", Unit::Seconds, |second, length| {
            let timed = APART
                .iter()
                .filter_map(|metric| second.stalls.get(metric.name()));
            timed
                .copied()
                .reduce(|sum, one| sum + one)
                .map(|sum| sum / length)
        }),
    ]
}

/// The seconds of each policy: medians over its trials.
#[must_use]
pub fn document(record: &Record) -> Document {
    let policies = record.header.plan.policies.iter();
    let mut document = Document::new(policies.map(|policy| section(record, &policy.name)));
    let legend = [
        "stalled: time in direct compaction, reclaim and zeroing per second, summed over the \
         service's threads.",
        "huge: at the last sample of the second; – where sampling would have cost too much.",
    ];
    let legend = legend.map(str::to_owned).to_vec();
    document.push(Section::default().with(Block::Notes(legend)));
    document
}

/// One value for each second of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its label, in a word.
    pub head: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The median over the trials; `None` if no trial has a value.
    pub values: Vec<Option<f64>>,
}

/// The seconds of one policy; completely empty series are left out.
#[must_use]
pub fn series(record: &Record, policy: &str) -> Vec<Series> {
    of_timelines(&timelines(record, policy))
}

fn of_timelines(timelines: &[&Timeline]) -> Vec<Series> {
    let series = columns().into_iter().map(|column| Series {
        head: column.head,
        values: medians(timelines, column.value),
        unit: column.unit,
    });
    series
        .filter(|series| series.values.iter().any(Option::is_some))
        .collect()
}

fn timelines<'a>(record: &'a Record, policy: &str) -> Vec<&'a Timeline> {
    let trials = arm_trials(record, policy).filter(|trial| trial.succeeded());
    trials.filter_map(|it| it.timeline.as_ref()).collect()
}

fn section(record: &Record, policy: &str) -> Section {
    let timelines = timelines(record, policy);
    let name = plain(policy);
    let count = match timelines.len() {
        0 => return Section::default().with(format!("{name}: no trial has a timeline.")),
        1 => "1 trial".to_owned(),
        count => format!("medians of {count} trials"),
    };
    let mut section = Section::titled(format!("{name}: per second of load, {count}"));
    section.push(grid(&timelines));
    let whys = why_not(&timelines).into_iter();
    let whys = whys.map(|why| format!("Slow requests in stalls: unknown: {}.", plain(&why)));
    section.push(Block::Notes(whys.collect()));
    section
}

fn grid(timelines: &[&Timeline]) -> Grid {
    let series = of_timelines(timelines);
    let heads = series.iter().map(|one| Cell::plain(one.head));
    let mut rows = vec![std::iter::once(Cell::plain("")).chain(heads).collect()];
    for second in 0..longest(timelines) {
        let mut row = vec![Cell::plain(format!("{}", second + 1))];
        row.extend(series.iter().map(|one| {
            let known: Vec<f64> = one.values.iter().flatten().copied().collect();
            let scaler = Scaler::for_row(&one.unit, &known);
            let shown = one.values[second].map(|value| scaler.show(value));
            Cell::plain(shown.unwrap_or_else(|| "–".to_owned()))
        }));
        rows.push(row);
    }
    Grid {
        rows,
        ..Grid::default()
    }
}

fn longest(timelines: &[&Timeline]) -> usize {
    let lengths = timelines.iter().map(|timeline| timeline.seconds.len());
    lengths.max().unwrap_or(0)
}

/// The median of the trials in each second; `None` if no trial has a value.
fn medians(timelines: &[&Timeline], value: fn(&Second, f64) -> Option<f64>) -> Vec<Option<f64>> {
    let of = |index: usize| {
        let seconds = timelines.iter().filter_map(|timeline| {
            let second = timeline.seconds.get(index)?;
            let before = index
                .checked_sub(1)
                .map(|it| timeline.seconds[it].to_seconds);
            value(second, second.to_seconds - before.unwrap_or(0.0))
        });
        let values: Vec<f64> = seconds.collect();
        (!values.is_empty()).then(|| median(&values)).flatten()
    };
    (0..longest(timelines)).map(of).collect()
}

/// Each reason once.
fn why_not(timelines: &[&Timeline]) -> Vec<String> {
    let whys = timelines
        .iter()
        .filter_map(|timeline| match &timeline.slowest {
            Slowest::CannotTell(why) => Some(why.to_string()),
            Slowest::Held(_) => None,
        });
    let distinct: std::collections::BTreeSet<String> = whys.collect();
    distinct.into_iter().collect()
}
