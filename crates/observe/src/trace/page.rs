//! A trace as an HTML page, with its stalls over time.

use super::document::time;
use super::{PointKind, Trace, Window};
use hugewise_base::units::Unit;
use hugewise_text::document::{Field, Section};
use hugewise_text::figure::Figure;
use hugewise_text::grid::Grid;
use hugewise_text::number::{Scaler, three_digits};
use hugewise_text::page::{Page, to_page};
use hugewise_text::svg::{Course, Panels, Stretch};
use hugewise_text::wrap::plain;

const LEFT: f64 = 190.0;
const TITLE: &str = "Stalls over time";

impl Trace {
    /// Renders the page; `source` is its JSON form.
    #[must_use]
    pub fn page(&self, source: &[u8]) -> String {
        let mut document = self.document();
        document.push(self.circumstances());
        to_page(&Page {
            title: &format!("hugewise trace: {}", self.subject()),
            document: &document,
            figures: self.figure().as_slice(),
            further: &[],
            source,
            again: "hugewise trace --replay",
        })
    }

    fn subject(&self) -> String {
        self.pid.map_or_else(
            || "the whole machine".to_owned(),
            |pid| format!("process {pid}"),
        )
    }

    fn circumstances(&self) -> Section {
        let fields = [
            ("Observed", self.subject()),
            ("Kernel", plain(&self.kernel)),
        ];
        let fields = fields.map(|(label, text)| Field::new(label, text));
        Section::titled("How it was measured").with(fields.to_vec())
    }

    /// Draws a row for each point that stalled; `None` if no interval is listed or nothing stalled.
    fn figure(&self) -> Option<Figure> {
        let courses = self.courses();
        let values = courses.iter().flat_map(|it| &it.stretches);
        let values: Vec<f64> = values.map(|it| it.value).collect();
        if values.iter().all(|value| *value == 0.0) {
            return None;
        }
        let scaler = Scaler::for_row(&Unit::Seconds, &values);
        let mut panels = Panels::over_seconds(self.total.to_seconds, LEFT, &[])?;
        panels.named_bands(
            "stalled, per second",
            &scaler,
            &courses,
            |course, at, value| {
                let [from, to] = [at.from, at.to].map(three_digits);
                format!("{}, {from}–{to} s: {value} per second", course.name)
            },
        );
        Some(Figure {
            id: "stalls".to_owned(),
            title: TITLE.to_owned(),
            caption: "Time in each point, added up over threads: the higher the bar, the longer."
                .to_owned(),
            svg: panels.finish(TITLE),
            table: self.table(&courses),
        })
    }

    /// The points with stalls, by their index in the trace.
    fn courses(&self) -> Vec<Course> {
        let points = self.points.iter().enumerate();
        let timed = points.filter(|(_, point)| point.kind == PointKind::Durations);
        let course = |(index, point): (usize, &super::TracePoint)| Course {
            name: point.title.clone(),
            index: 1,
            stretches: self
                .intervals
                .iter()
                .filter_map(|it| stretch(it, index))
                .collect(),
        };
        let stalled = |it: &Course| it.stretches.iter().any(|stretch| stretch.value > 0.0);
        timed.map(course).filter(stalled).collect()
    }

    /// Intervals with stalls.
    fn table(&self, courses: &[Course]) -> Grid {
        let names = courses.iter().map(|course| course.name.as_str());
        let mut grid = Grid::headed(&["seconds"].into_iter().chain(names).collect::<Vec<_>>());
        for window in &self.intervals {
            let point = |course: &Course| {
                let points = self.points.iter().zip(&window.points);
                let mut named = points.filter(|(point, _)| point.title == course.name);
                named.next().map_or(0, |(_, seen)| seen.all.total_ns)
            };
            let stalled: Vec<u64> = courses.iter().map(point).collect();
            if stalled.iter().all(|ns| *ns == 0) {
                continue;
            }
            let [from, to] = [window.from_seconds, window.to_seconds].map(three_digits);
            let cells = stalled.into_iter().map(|ns| time(Some(ns)));
            grid.push(std::iter::once(format!("{from}–{to}")).chain(cells));
        }
        grid
    }
}

/// The share of an interval that threads spent in a point.
fn stretch(window: &Window, point: usize) -> Option<Stretch> {
    let length = window.to_seconds - window.from_seconds;
    let seconds = window.points.get(point)?.all.total_ns as f64 / 1e9;
    (length > 0.0).then_some(Stretch {
        from: window.from_seconds,
        to: window.to_seconds,
        value: seconds / length,
    })
}
