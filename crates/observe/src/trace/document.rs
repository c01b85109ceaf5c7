//! A trace as a document: which points stalled, and for how long. How they were traced, and which could not be, are
//! details.

use std::collections::BTreeMap;

use super::{Latencies, Losses, PointKind, PointTotals, Trace, TracePoint, Window};
use hugewise_base::histogram::PowerRow;
use hugewise_base::units::Unit;
use hugewise_text::Tone;
use hugewise_text::csv::{Csv, optional};
use hugewise_text::document::{Bars, Block, Document, Field, Paragraph, Section};
use hugewise_text::grid::Grid;
use hugewise_text::number::{count, quantity};

/// Below this median, the histogram uses nanoseconds.
const FINE_BELOW_NS: u64 = 1_000;

/// The number of results of an event on the first screen.
const RESULTS: usize = 3;

impl Trace {
    /// Renders the document for people. JSON is the struct itself, CSV is [`Window::csv`].
    #[must_use]
    pub fn document(&self) -> Document {
        let mut document = Document::new([self.conclusion()]);
        document.push(table(&self.points, &self.total));
        self.histograms(&mut document);
        if !self.points.is_empty() {
            let mut section = Section::default();
            let more = "-v: by order and result, and how each point is measured";
            section.push_brief(vec![Field::new("More", more)]);
            document.push(section);
        }
        document.push(self.parts());
        document.push(self.means());
        document.push(self.not_traced());
        document
    }

    /// Renders a screen that is redrawn repeatedly: the results, and the points that cannot be traced with the
    /// capability that each needs.
    #[must_use]
    pub fn screen(&self) -> Document {
        let mut document = Document::new([self.conclusion(), table(&self.points, &self.total)]);
        self.histograms(&mut document);
        document.push(self.not_traced());
        document.with_details()
    }

    fn conclusion(&self) -> Section {
        let mut section = Section::default();
        if self.interval_seconds.is_some() {
            section.heading = Some("Total".to_owned());
        }
        section.push(Paragraph::new(self.answer()).tone(Tone::Strong));
        if !self.missing.is_empty() && !self.points.is_empty() {
            let (missing, all) = (self.missing.len(), self.missing.len() + self.points.len());
            let text = format!("{missing} of {all} points could not be traced");
            section.push_brief(Paragraph::new(format!("{text} (-v says why).")));
            section.push_detail(Paragraph::new(format!("{text}.")));
        }
        section
    }

    fn answer(&self) -> String {
        let seconds = self.total.to_seconds - self.total.from_seconds;
        let traced = match self.points.len() {
            0 => return "Nothing could be traced.".to_owned(),
            1 => "the traced point".to_owned(),
            many => format!("{many} traced points"),
        };
        let most = self.happened().filter(|(_, seen)| seen.all.total_ns > 0);
        let most = most.max_by_key(|(_, seen)| seen.all.total_ns);
        match most {
            Some((point, seen)) => format!(
                "Most time in {}: {} in {} calls, within {seconds:.1} s.",
                point.title,
                time(Some(seen.all.total_ns)),
                count(seen.all.count)
            ),
            None if self.happened().next().is_some() => {
                format!("No stalls in {seconds:.1} s, only events.")
            }
            None => format!("Nothing happened at {traced} in {seconds:.1} s."),
        }
    }

    /// Points with at least one event.
    fn happened(&self) -> impl Iterator<Item = (&TracePoint, &PointTotals)> {
        let points = self.points.iter().zip(&self.total.points);
        points.filter(|(_, seen)| seen.all.count > 0)
    }

    /// The histogram of the longest stalls; the others are details.
    fn histograms(&self, document: &mut Document) {
        let durations =
            |(point, _): &(&TracePoint, &PointTotals)| point.kind == PointKind::Durations;
        let mut timed: Vec<(&TracePoint, &PointTotals)> =
            self.happened().filter(durations).collect();
        timed.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.all.total_ns));
        for (index, (point, seen)) in timed.into_iter().enumerate() {
            let section = Section::titled(format!("Latency: {}", point.title));
            document.push(match index {
                0 => section.with(bars(&seen.all)),
                _ => section.with_detail(bars(&seen.all)),
            });
        }
    }

    /// Durations by order or result.
    fn parts(&self) -> Section {
        let mut grid = Grid::headed(&["part", "count", "mean", "p50", "p99", "p99.9", "max"]);
        for (point, seen) in self
            .happened()
            .filter(|(point, _)| point.kind == PointKind::Durations)
        {
            let by = point.parts_by.as_deref().unwrap_or_default();
            grid.push(part_row(point.title.clone(), &seen.all));
            for part in &seen.parts {
                grid.push(part_row(format!("  {by} {}", part.key), &part.latencies));
            }
        }
        match grid.rows.len() {
            1 => Section::default(),
            _ => Section::titled("By part").with_detail(grid),
        }
    }

    fn means(&self) -> Section {
        let fields = self.points.iter().map(|point| {
            let (means, places) = (point.attachment.name(), point.places.join(" → "));
            let mut text = format!("{means} {places}: {}", point.includes);
            for note in &point.notes {
                text.push_str("; ");
                text.push_str(note);
            }
            Field::new(point.title.clone(), text)
        });
        let fields: Vec<Field> = fields.collect();
        if fields.is_empty() {
            return Section::default();
        }
        let precision = "Percentiles are upper edges of buckets, at most 12.5 % too long; min, \
                         mean and max are exact.";
        Section::titled("Measured by")
            .with_detail(fields)
            .with_detail(Block::Notes(vec![precision.to_owned()]))
    }

    /// Untraceable points, grouped by the reason. If no point could be traced, this is the main answer.
    fn not_traced(&self) -> Section {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for point in &self.missing {
            let titles = reasons.entry(point.why.to_string()).or_default();
            titles.push(&point.title);
        }
        let reasons = reasons.into_iter();
        let reasons = reasons.map(|(why, titles)| format!("{why} ({})", titles.join(", ")));
        let notes = Block::Notes(reasons.collect());
        let section = Section::titled("Not traced");
        match (self.missing.is_empty(), self.points.is_empty()) {
            (true, _) => Section::default(),
            (_, true) => section.with(notes),
            (_, false) => section.with_detail(notes),
        }
    }
}

impl Window {
    /// One interval.
    #[must_use]
    pub fn document(&self, points: &[TracePoint]) -> Document {
        let mut section = table(points, self);
        let heading = format!("{:.1}–{:.1} s", self.from_seconds, self.to_seconds);
        section.heading = Some(heading);
        if !self.points.iter().any(|seen| seen.all.count > 0) {
            section.push("Nothing happened.");
        }
        Document::new([section])
    }

    /// Renders CSV without the heading: a row per point, and a row for each of its parts.
    #[must_use]
    pub fn csv(&self, points: &[TracePoint], name: &str) -> String {
        let mut csv = Csv::new(&HEADING);
        for (point, seen) in points.iter().zip(&self.points) {
            let parts = seen
                .parts
                .iter()
                .map(|part| (part.key.as_str(), &part.latencies));
            for (part, latencies) in std::iter::once(("", &seen.all)).chain(parts) {
                csv.row(self.csv_row(name, point, part, latencies));
            }
        }
        let text = csv.into_text();
        text.strip_prefix(&csv_head()).unwrap_or(&text).to_owned()
    }

    fn csv_row(&self, name: &str, point: &TracePoint, part: &str, one: &Latencies) -> Vec<String> {
        vec![
            name.to_owned(),
            self.from_seconds.to_string(),
            self.to_seconds.to_string(),
            point.name.clone(),
            point.attachment.name().to_owned(),
            part.to_owned(),
            one.count.to_string(),
            one.total_ns.to_string(),
            optional(one.min_ns),
            optional(one.mean_ns.map(|ns| ns as u64)),
            optional(one.p50_ns),
            optional(one.p90_ns),
            optional(one.p99_ns),
            optional(one.p99_9_ns),
            optional(one.max_ns),
        ]
    }
}

const HEADING: [&str; 15] = [
    "window",
    "from_seconds",
    "to_seconds",
    "point",
    "rung",
    "part",
    "count",
    "total_ns",
    "min_ns",
    "mean_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p99_9_ns",
    "max_ns",
];

/// The heading of the CSV.
#[must_use]
pub fn csv_head() -> String {
    Csv::new(&HEADING).into_text()
}

/// Points with events. Points without events are a detail, as are lost events.
fn table(points: &[TracePoint], window: &Window) -> Section {
    let mut section = Section::default();
    let mut grid = Grid::headed(&["point", "count", "total", "p50", "p99", "max"]);
    let (mut silent, mut losses) = (Vec::new(), Vec::new());
    for (point, seen) in points.iter().zip(&window.points) {
        losses.extend(loss_notes(&point.title, seen.losses));
        if seen.all.count == 0 {
            silent.push(point.title.as_str());
        } else {
            push_point(&mut grid, point, seen);
        }
    }
    if grid.rows.len() > 1 {
        section.push(grid);
    }
    if !losses.is_empty() {
        section.push(Block::Notes(losses));
    }
    if !silent.is_empty() && silent.len() < points.len() {
        section.push_detail(format!("Nothing happened at: {}.", silent.join(", ")));
    }
    section
}

/// Adds a row for a point; the results of an event follow it.
fn push_point(grid: &mut Grid, point: &TracePoint, seen: &PointTotals) {
    let all = &seen.all;
    match point.kind {
        PointKind::Durations => grid.push([
            point.title.clone(),
            count(all.count),
            time(Some(all.total_ns)),
            time(all.p50_ns),
            time(all.p99_ns),
            time(all.max_ns),
        ]),
        PointKind::Events => {
            grid.push([point.title.clone(), count(all.count)]);
            let mut parts: Vec<_> = seen.parts.iter().collect();
            parts.sort_by_key(|part| std::cmp::Reverse(part.latencies.count));
            for part in parts.iter().take(RESULTS) {
                grid.push([format!("  {}", part.key), count(part.latencies.count)]);
            }
        }
    }
}

fn part_row(name: String, one: &Latencies) -> [String; 7] {
    [
        name,
        count(one.count),
        time(one.mean_ns.map(|ns| ns as u64)),
        time(one.p50_ns),
        time(one.p99_ns),
        time(one.p99_9_ns),
        time(one.max_ns),
    ]
}

fn loss_notes(title: &str, losses: Losses) -> Vec<String> {
    let notes = [
        (losses.no_room, "not timed: too many threads at once"),
        (
            losses.reentered,
            "began again within the same call: only the last was timed",
        ),
        (losses.missed, "not counted: the kernel skipped the probe"),
    ];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0);
    notes
        .map(|(number, what)| format!("{title}: {} {what}", count(number)))
        .collect()
}

fn bars(all: &Latencies) -> Bars {
    let (unit, rows) = match all.p50_ns.is_some_and(|median| median < FINE_BELOW_NS) {
        true => ("ns", &all.log2_ns),
        false => ("µs", &all.log2_us),
    };
    let bar = |row: &PowerRow| (row.from.to_string(), row.count);
    Bars {
        heading: [format!("from {unit}"), "count".to_owned()],
        bars: rows.iter().map(bar).collect(),
    }
}

/// Formats a duration with a suitable unit.
pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or_else(
        || "~".to_owned(),
        |ns| quantity(&Unit::Seconds, ns as f64 / 1e9),
    )
}
