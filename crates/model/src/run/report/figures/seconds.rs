//! A service second by second: requests, latencies, memory, and the kernel's stalls as bands.

use super::keys_of_policies;
use crate::run::record::Record;
use crate::run::timeline::{Series, series};
use crate::text::figure::Figure;
use crate::text::grid::Grid;
use crate::text::number::{Scaler, quantity};
use crate::text::svg::{Anchor, Axis, Field, Place, Svg, WIDTH, colour};
use crate::text::wrap::plain;

const LEFT: f64 = 84.0;
/// Height of a panel, and of what stands above it.
const PANEL: f64 = 84.0;
const ABOVE: f64 = 26.0;
/// Height of the stalls of one policy.
const BAND: f64 = 16.0;
const TITLE: &str = "Second by second";
/// What is drawn as bands.
const STALLED: &str = "stalled";
const HUGE: &str = "huge";

/// One policy.
struct Line {
    name: String,
    index: usize,
    series: Vec<Series>,
}

impl Line {
    /// Loads of a second or two have no course.
    fn is_worth_drawing(&self) -> bool {
        const FEWEST: usize = 3;
        let seconds = |series: &Series| series.values.iter().flatten().count();
        self.series.iter().any(|series| seconds(series) >= FEWEST)
    }

    fn named(&self, head: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.head == head)
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
    let mut drawing = Drawing::of(record, &lines)?;
    for head in heads(&lines) {
        match head {
            STALLED => drawing.bands(&lines),
            head => drawing.panel(&lines, head),
        }
    }
    Some(Figure {
        id: "seconds".to_owned(),
        title: TITLE.to_owned(),
        caption: "Medians over the trials of each policy, by the seconds since the load began; a \
                  band is a second with time in compaction, reclaim or zeroing, the higher the \
                  longer."
            .to_owned(),
        svg: drawing.finish(TITLE),
        table: table(&lines),
    })
}

/// Huge memory alone; `None` where there is no such timeline.
pub(super) fn huge(record: &Record, title: &str) -> Option<String> {
    let lines = lines(record);
    lines.iter().find_map(|line| line.named(HUGE))?;
    let mut drawing = Drawing::of(record, &lines)?;
    drawing.panel(&lines, HUGE);
    Some(drawing.finish(title))
}

/// What any policy has, in the order of the text; stalls at the end.
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

/// Panels below each other with one axis of seconds.
struct Drawing {
    svg: Svg,
    bottom: f64,
    across: Axis,
    ticks: Vec<(f64, String)>,
}

impl Drawing {
    fn of(record: &Record, lines: &[Line]) -> Option<Self> {
        let lengths = lines
            .iter()
            .flat_map(|line| &line.series)
            .map(|it| it.values.len());
        let longest = lengths.max()? as f64;
        let across = Axis::between(0.0, longest, (LEFT, WIDTH - 12.0))?;
        let ticks = across
            .ticks(&crate::base::units::Unit::Count, 12)
            .into_iter();
        let mut svg = Svg::default();
        let keys = keys_of_policies(record).into_iter();
        let keys = keys.filter(|key| lines.iter().any(|line| line.index == key.index));
        let bottom = svg.legend(0.0, &keys.collect::<Vec<_>>());
        Some(Self {
            svg,
            bottom,
            across,
            ticks: ticks
                .map(|second| (second, format!("{second} s")))
                .collect(),
        })
    }

    /// The next field, with its name above.
    fn field(&mut self, name: &str, height: f64) -> Field {
        let top = self.bottom + ABOVE;
        self.svg.text("head", Anchor::Start, (0.0, top - 8.0), name);
        self.bottom = top + height;
        Field {
            left: LEFT,
            right: WIDTH - 12.0,
            top,
            bottom: self.bottom,
        }
    }

    fn panel(&mut self, lines: &[Line], head: &str) {
        let all = || {
            lines
                .iter()
                .filter_map(|line| Some((line, line.named(head)?)))
        };
        let values = all().flat_map(|(_, it)| it.values.iter().flatten().copied());
        let values: Vec<f64> = values.collect();
        let field = self.field(head, PANEL);
        let Some(up) = Axis::from_zero(values, field.up()) else {
            return;
        };
        if let Some((_, first)) = all().next() {
            let ticks = up.labels(&first.unit, 3, |value| quantity(&first.unit, value));
            field.grid_up(&mut self.svg, &up, &ticks);
        }
        field.frame(&mut self.svg);
        for (line, series) in all() {
            let places: Vec<Option<Place>> = self.places(series, &up);
            self.svg
                .group(&colour(line.index), |svg| svg.curve("line", &places));
        }
    }

    /// Each value in the middle of its second; seconds without one are passed over.
    fn places(&self, series: &Series, up: &Axis) -> Vec<Option<Place>> {
        let values = series.values.iter().enumerate();
        let place = |(index, value): (usize, &Option<f64>)| {
            let x = self.across.place(index as f64 + 0.5);
            value.map(|value| (x, up.place(value)))
        };
        values.map(place).filter(Option::is_some).collect()
    }

    fn bands(&mut self, lines: &[Line]) {
        let Some(scaler) = scaler(lines, STALLED) else {
            return;
        };
        let all: Vec<(&Line, &Series)> = lines
            .iter()
            .filter_map(|line| Some((line, line.named(STALLED)?)))
            .collect();
        let field = self.field("stalled, per second", BAND * all.len() as f64 + 4.0);
        field.frame(&mut self.svg);
        let most = all
            .iter()
            .flat_map(|(_, it)| it.values.iter().flatten().copied());
        let most = most.fold(0.0, f64::max);
        let Some(length) = Axis::between(0.0, most, (0.0, BAND - 3.0)) else {
            return;
        };
        for (place, (line, series)) in all.into_iter().enumerate() {
            let floor = field.top + BAND * (place as f64 + 1.0);
            let stalls = series.values.iter().enumerate();
            let stalls = stalls.filter_map(|(at, value)| Some((at, (*value)?)));
            let across = self.across;
            self.svg.group(&colour(line.index), |svg| {
                for (at, seconds) in stalls.filter(|(_, seconds)| *seconds > 0.0) {
                    let title =
                        format!("{}, second {}: {}", line.name, at + 1, scaler.show(seconds));
                    let [left, right] = [at, at + 1].map(|second| across.place(second as f64));
                    let top = floor - length.place(seconds).max(1.0);
                    svg.rect("bar", (left, top), (right, floor), Some(&title));
                }
            });
        }
    }

    /// The seconds are written below the last panel.
    fn finish(mut self, title: &str) -> String {
        let field = Field {
            left: LEFT,
            right: WIDTH - 12.0,
            top: self.bottom,
            bottom: self.bottom,
        };
        field.grid_across(&mut self.svg, &self.across, &self.ticks);
        self.svg.finish(title, self.bottom + 24.0)
    }
}
