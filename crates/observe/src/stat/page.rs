//! An observation as an HTML page, with charts over time.

use std::slice;

use super::document::target;
use super::live::{panels, table};
use super::{Header, Interval, StatSummary};
use hugewise_text::document::{Document, Field, Section};
use hugewise_text::figure::Figure;
use hugewise_text::page::{Page, to_page};
use hugewise_text::svg::{Course, Panels};
use hugewise_text::wrap::plain;

const LEFT: f64 = 84.0;
const TITLE: &str = "Over time";

impl StatSummary {
    /// Renders the page; `source` is the recording.
    #[must_use]
    pub fn page(&self, header: &Header, intervals: &[Interval], source: &[u8]) -> String {
        let figure = figure(header, intervals);
        let mut document = match figure {
            Some(_) => self.document(header),
            None => self.document_with(header, intervals),
        };
        document.push(circumstances(header));
        to_page(&Page {
            title: &format!("hugewise stat: {}", target(&header.target)),
            document: &document,
            figures: figure.as_slice(),
            further: &[],
            source,
            again: "hugewise stat --replay",
        })
    }
}

/// The machine and the counters.
fn circumstances(header: &Header) -> Section {
    let Document { sections } = header.document();
    let fields = [
        ("Version", &header.program),
        ("Kernel", &header.kernel),
        ("Processor", &header.cpu_model),
    ];
    let fields = fields.map(|(label, text)| Field::new(label, plain(text)));
    let mut section = Section::titled("How it was measured").with(fields.to_vec());
    let blocks = sections.into_iter().flat_map(|section| section.blocks);
    section.blocks.extend(blocks);
    section
}

/// The change from interval to interval; `None` for fewer than two intervals.
fn figure(header: &Header, intervals: &[Interval]) -> Option<Figure> {
    let end_ns = intervals.get(1..)?.last()?.end_ns;
    let mut drawn = Panels::over_seconds(end_ns as f64 / 1e9, LEFT, &[])?;
    let all = panels(header, intervals);
    let is_level = |it: &Course| it.stretches.iter().all(|stretch| stretch.value == 0.0);
    let (silent, seen): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| is_level(&it.course));
    if seen.is_empty() {
        return None;
    }
    for panel in seen {
        drawn.curves(
            &panel.course.name,
            &panel.unit,
            slice::from_ref(&panel.course),
        );
    }
    let zero: Vec<&str> = silent.iter().map(|it| it.course.name.as_str()).collect();
    let zero = match zero.is_empty() {
        true => String::new(),
        false => format!(" Always 0: {}.", zero.join(", ")),
    };
    Some(Figure {
        id: "course".to_owned(),
        title: TITLE.to_owned(),
        caption: format!("Each value by the seconds since the observation began.{zero}"),
        svg: drawn.finish(TITLE),
        table: table(header, intervals),
    })
}
