//! The sites of an attribution as a picture, and the page.

use super::attribution::{Attribution, Effect, SiteShare};
use super::document::{added, interval, text};
use hugewise_base::units::bytes_text;
use hugewise_text::figure::Figure;
use hugewise_text::grid::{Align, Grid};
use hugewise_text::page::{Page, command_in_title, to_page};
use hugewise_text::svg::{Anchor, ChangeAxis, Fill, PlotArea, Shape, Svg, WIDTH, fitted};
use hugewise_text::wrap::plain;

/// The height of a row, and the space for names and memory next to the plot.
const ROW: f64 = 22.0;
const LEFT: f64 = 240.0;
const RIGHT: f64 = WIDTH - 190.0;
/// The axis covers at least this change.
const LEAST: f64 = 0.01;
const TITLE: &str = "What each site changes, and what it costs in memory";

impl Attribution {
    /// One HTML page. `record` is the bytes of the record's file, and `path` its path.
    #[must_use]
    pub fn page(&self, path: &str, record: &[u8]) -> String {
        let command = command_in_title(&self.command);
        let figures: Vec<Figure> = self.figure().into_iter().collect();
        to_page(&Page {
            title: &format!("hugewise: the memory of {command}"),
            document: &self.document(path),
            figures: &figures,
            further: &[],
            source: record,
            again: self.again(),
        })
    }

    /// The share of each site with its interval and its memory. `None` without sites.
    #[must_use]
    pub fn figure(&self) -> Option<Figure> {
        Some(Figure {
            id: "sites".to_owned(),
            title: TITLE.to_owned(),
            caption: format!(
                "The change of {} by huge pages at one site, the best site first. A line is the \
                 interval; a filled mark is shown, a hollow one is not. On the right: the memory that was \
                 huge{}.",
                plain(&self.label),
                match self.is_live() {
                    true => "",
                    false => ", and what it added",
                }
            ),
            svg: self.draw()?,
            table: self.numbers(),
        })
    }

    fn numbers(&self) -> Grid {
        let right = Align::Right;
        let align = [Align::Left, right, right, right, right];
        let mut grid =
            Grid::headed(&["site", "change", "interval", "huge", self.place()]).aligned(&align);
        for site in &self.sites {
            grid.push([
                plain(&self.called(site)),
                text(site.share.change),
                interval(site.share),
                site.huge_bytes.map_or_else(|| "?".to_owned(), bytes_text),
                self.added_or_address(site),
            ]);
        }
        grid
    }

    fn draw(&self) -> Option<String> {
        let field = PlotArea {
            left: LEFT,
            right: RIGHT,
            top: 4.0,
            bottom: 10.0 + ROW * self.sites.len() as f64,
        };
        let ends = self.sites.iter().flat_map(|site| {
            let share = site.share;
            [share.low, share.change, share.high].map(f64::ln_1p)
        });
        let logs: Vec<f64> = ends.collect();
        let changes = ChangeAxis::of(&logs, &logs, LEAST, field.across())?;
        let mut svg = Svg::default();
        changes.draw_across(&mut svg, &field);
        for (row, site) in self.sites.iter().enumerate() {
            let y = field.top + ROW * (row as f64 + 0.5);
            draw_site(&mut svg, &changes, (&self.called(site), site), y);
        }
        (!self.sites.is_empty()).then(|| svg.finish(TITLE, field.bottom + 24.0))
    }
}

fn draw_site(svg: &mut Svg, changes: &ChangeAxis, (name, site): (&str, &SiteShare), y: f64) {
    let short = fitted(name, LEFT - 12.0);
    svg.text("", Anchor::Start, (0.0, y + 4.0), &short);
    let memory = [
        site.huge_bytes
            .map(|bytes| format!("{} huge", bytes_text(bytes))),
        site.added_bytes.map(added),
    ];
    let memory: Vec<String> = memory.into_iter().flatten().collect();
    let memory = fitted(&memory.join(", "), WIDTH - RIGHT - 12.0);
    svg.text("muted", Anchor::End, (WIDTH, y + 4.0), &memory);
    let (class, fill) = match site.effect {
        Effect::Helps => ("gain", Fill::Full),
        Effect::Hurts => ("loss", Fill::Full),
        Effect::Changes => ("sum", Fill::Full),
        Effect::NotShown => ("sum", Fill::Hollow),
    };
    let share = site.share;
    let place = |change: f64| (changes.axis.place(change.ln_1p()), y);
    let (change, interval) = (text(share.change), interval(share));
    let title = format!("{name}: {change}, {interval}");
    svg.group(class, |svg| {
        svg.line("span", place(share.low), place(share.high));
        svg.marker(Shape::of(0), fill, place(share.change), Some(&title));
    });
}
