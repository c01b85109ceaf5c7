//! A service second by second: requests, latencies, memory, and the kernel's stalls as bands.

use super::keys_of_policies;
use crate::run::record::Record;
use crate::run::timeline::{Series, series};
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::Scaler;
use crate::text::svg::{Course, Key, Panels, Sign, Stretch};
use crate::text::wrap::plain;

const LEFT: f64 = 84.0;
const TITLE: &str = "Second by second";
/// The label of the bands.
const STALLED: &str = "stalled";
const HUGE: &str = "huge";

/// One policy.
struct Line {
    name: String,
    index: usize,
    series: Vec<Series>,
}

impl Line {
    /// Loads of a second or two are too short to draw.
    fn is_worth_drawing(&self) -> bool {
        const FEWEST: usize = 3;
        let seconds = |series: &Series| series.values.iter().flatten().count();
        self.series.iter().any(|series| seconds(series) >= FEWEST)
    }

    fn named(&self, head: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.head == head)
    }

    /// The available values, each in its second.
    fn course(&self, head: &str) -> Course {
        let values = self.named(head).map_or(&[][..], |series| &series.values);
        let stretch = |(second, value): (usize, &Option<f64>)| {
            let from = second as f64;
            value.map(|value| Stretch {
                from,
                to: from + 1.0,
                value,
            })
        };
        Course {
            name: self.name.clone(),
            index: self.index,
            stretches: values.iter().enumerate().filter_map(stretch).collect(),
        }
    }
}

fn lines(record: &Record) -> Vec<Line> {
    let policies = record.header.plan.policies.iter().enumerate();
    let lines = policies.map(|(index, policy)| Line {
        name: plain(&policy.name),
        index,
        series: series(record, &policy.name),
    });
    lines.filter(Line::is_worth_drawing).collect()
}

pub(super) fn figure(record: &Record) -> Option<Figure> {
    let lines = lines(record);
    let (seen, silent): (Vec<&str>, Vec<&str>) =
        heads(&lines).iter().partition(|head| is_seen(&lines, head));
    if seen.is_empty() {
        return None;
    }
    let mut caption =
        "Medians over the trials of each policy, by the seconds since the load began.".to_owned();
    if seen.contains(&STALLED) {
        caption += " A band is a second with time in compaction, reclaim or zeroing, the higher \
                    the longer.";
    }
    if !silent.is_empty() {
        caption += &format!(" Always 0: {}.", silent.join(", "));
    }
    Some(Figure {
        id: "seconds".to_owned(),
        title: TITLE.to_owned(),
        caption,
        svg: drawn(record, &lines, &seen, TITLE)?,
        table: table(&lines),
    })
}

/// Only huge memory; `None` if there is no such timeline.
pub(super) fn huge(record: &Record, title: &str) -> Option<String> {
    let lines = lines(record);
    lines.iter().find_map(|line| line.named(HUGE))?;
    drawn(record, &lines, &[HUGE], title)
}

/// The columns that any policy has, in the order of the text; stalls at the end.
fn heads(lines: &[Line]) -> Vec<&'static str> {
    let mut heads: Vec<&'static str> = Vec::new();
    for series in lines.iter().flat_map(|line| &line.series) {
        if !heads.contains(&series.head) {
            heads.push(series.head);
        }
    }
    heads.sort_by_key(|head| *head == STALLED);
    heads
}

/// Returns true if it is ever above 0.
fn is_seen(lines: &[Line], head: &str) -> bool {
    let all = lines.iter().filter_map(|line| line.named(head));
    let mut values = all.flat_map(|it| it.values.iter().flatten());
    values.any(|value| *value > 0.0)
}

fn scaler(lines: &[Line], head: &str) -> Option<Scaler> {
    let unit = &lines.iter().find_map(|line| line.named(head))?.unit;
    let all = lines.iter().filter_map(|line| line.named(head));
    let known: Vec<f64> = all
        .flat_map(|it| it.values.iter().flatten().copied())
        .collect();
    Some(Scaler::for_row(unit, &known))
}

fn table(lines: &[Line]) -> Grid {
    let heads = heads(lines);
    let columns: Vec<&str> = ["policy", "second"]
        .into_iter()
        .chain(heads.clone())
        .collect();
    let mut grid = Grid::headed(&columns);
    let scalers: Vec<_> = heads.iter().map(|head| scaler(lines, head)).collect();
    for line in lines {
        for second in 0..line
            .series
            .iter()
            .map(|it| it.values.len())
            .max()
            .unwrap_or(0)
        {
            let value = |(head, scaler): (&&str, &Option<Scaler>)| {
                let value = line
                    .named(head)
                    .and_then(|it| it.values.get(second).copied()?);
                let shown = value.zip(scaler.as_ref()).map(|(value, by)| by.show(value));
                shown.unwrap_or_else(|| "–".to_owned())
            };
            let first = [line.name.clone(), (second + 1).to_string()];
            grid.push(
                first
                    .into_iter()
                    .chain(heads.iter().zip(&scalers).map(value)),
            );
        }
    }
    grid
}

/// Draws the panels of these heads.
fn drawn(record: &Record, lines: &[Line], heads: &[&str], title: &str) -> Option<String> {
    let series = lines.iter().flat_map(|line| &line.series);
    let longest = series.map(|it| it.values.len()).max()?;
    let keys = keys_of_policies(record, Sign::Line).into_iter();
    let keys = keys.filter(|key| lines.iter().any(|line| line.index == key.index));
    let keys: Vec<Key> = keys.collect();
    let mut panels = Panels::over_seconds(longest as f64, LEFT, &keys)?;
    for head in heads {
        let with = lines.iter().filter(|line| line.named(head).is_some());
        let courses: Vec<Course> = with.map(|line| line.course(head)).collect();
        let first = lines.iter().find_map(|line| line.named(head));
        match (first, *head, scaler(lines, head)) {
            (Some(_), STALLED, Some(scaler)) => {
                panels.bands(
                    "stalled, per second",
                    &scaler,
                    &courses,
                    |course, at, value| format!("{}, second {}: {value}", course.name, at.to),
                );
            }
            (Some(first), head, _) => panels.curves(head, &first.unit, &courses),
            (None, ..) => {}
        }
    }
    Some(panels.finish(title))
}
