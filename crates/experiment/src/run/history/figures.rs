//! One command over time as pictures, and the page.

use super::{Entry, History};
use crate::base::calendar::{date, minute};
use crate::run::compare::labels::effect_of_ratio;
use crate::run::stats::median;
use crate::text::ends::percent_ends;
use crate::text::figure::Figure;
use crate::text::grid::{Align, Grid};
use crate::text::number::Scaler;
use crate::text::page::{Page, command_in_title, to_page};
use crate::text::svg::{
    Anchor, Axis, ChangeAxis, Fill, Key, PlotArea, Shape, Sign, Svg, WIDTH, colour, fitted,
    text_width,
};
use crate::text::wrap::plain;

/// Height of a field.
const HEIGHT: f64 = 200.0;
/// Space above a field for the kernels.
const KERNELS: f64 = 18.0;
/// Smaller changes are not of interest: the axis covers at least this share.
const LEAST: f64 = 0.01;

impl History {
    /// One HTML page. The same history always gives the same page.
    #[must_use]
    pub fn page(&self) -> String {
        let command = self.entries.first().filter(|_| self.is_of_one);
        let title = match command {
            Some(entry) => format!("hugewise: {} over time", command_in_title(&entry.command)),
            None => "hugewise: what was measured".to_owned(),
        };
        to_page(&Page {
            title: &title,
            document: &self.document(),
            figures: &self.figures(),
            further: &[],
            source: &[],
            again: "",
        })
    }

    /// The baseline's value and each policy's effect, record by record. Empty for several commands: their values have
    /// no common axis.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let last = self.entries.last().filter(|_| self.is_of_one);
        let figures = last.map(|last| [self.level_figure(last), self.change_figure(last)]);
        figures.into_iter().flatten().flatten().collect()
    }

    fn level_figure(&self, last: &Entry) -> Option<Figure> {
        const TITLE: &str = "Value of the baseline, record by record";
        let own = |entry: &Entry| entry.baseline_value.filter(|_| entry.is_like(last));
        let values: Vec<Option<f64>> = self.entries.iter().map(own).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let scaler = Scaler::for_row(&last.unit, &known);
        let mut paper = self.paper(&[])?;
        let up = Axis::linear(known.iter().copied(), paper.field.up())?;
        let ticks = up.labels(&last.unit, 6, |value| scaler.show(value));
        paper.begin(self, &up, &ticks);
        let starts = self.starts(None);
        paper.new_levels(&starts);
        let baseline = Series {
            name: plain(&last.verdict.baseline),
            index: 0,
            aside: 0.0,
        };
        let levels = medians(&starts, &values);
        let marks = values.iter().enumerate().filter_map(|(at, value)| {
            let value = (*value)?;
            Some(Mark {
                at,
                y: up.place(value),
                span: None,
                text: scaler.show(value),
            })
        });
        let marks: Vec<Mark> = marks.collect();
        paper.series(self, &baseline, &marks);
        paper.lines(&baseline, &levels, |value| up.place(value));
        let mut grid = Grid::headed(&["began (UTC)", "kernel", &baseline.name, "new level"])
            .aligned(&[Align::Left, Align::Left, Align::Right, Align::Left]);
        for mark in &marks {
            let [began, kernel] = self.heads(mark.at);
            grid.push([
                began,
                kernel,
                mark.text.clone(),
                star(starts.contains(&mark.at)),
            ]);
        }
        Some(Figure {
            id: "levels".to_owned(),
            title: TITLE.to_owned(),
            caption: format!(
                "Each mark is the median of one record under {}, the oldest on the left; a line is the \
                 median of a level, and a dashed line the beginning of a new one. Above stands the kernel \
                 where it changed.",
                baseline.name
            ),
            svg: paper.finish(TITLE),
            table: grid,
        })
    }

    fn change_figure(&self, last: &Entry) -> Option<Figure> {
        const TITLE: &str = "Effect of each policy, record by record";
        let count = last.effects.len() as f64;
        let series = last.effects.iter().enumerate();
        let series = series.map(|(place, effect)| Series {
            name: plain(&effect.policy),
            index: place + 1,
            aside: 0.5 * ((place as f64 + 0.5) / count - 0.5),
        });
        let series: Vec<Series> = series.collect();
        let mut paper = self.paper(&series)?;
        let effects = self.entries.iter().filter(|entry| entry.is_like(last));
        let logs = effects.flat_map(|entry| &entry.effects);
        let logs = logs.flat_map(|it| [it.ratio, it.low, it.high]);
        let logs: Vec<f64> = logs.flatten().map(f64::ln).collect();
        let up = ChangeAxis::of(&logs, &logs, LEAST, paper.field.up())?;
        paper.begin(self, &up.axis, &up.ticks);
        let zero = up.axis.place(0.0);
        let (left, right) = paper.field.across();
        paper.svg.line("zero", (left, zero), (right, zero));
        let mut grid = Grid::headed(&["began (UTC)", "policy", "change", "interval", "new level"])
            .aligned(&[Align::Left, Align::Left]);
        for (series, effect) in series.iter().zip(&last.effects) {
            let policy = Some(effect.policy.as_str());
            let starts = self.starts(policy);
            paper.new_levels(&starts);
            let marks = self.entries.iter().enumerate().filter_map(|(at, entry)| {
                let effect = entry
                    .effect(&effect.policy)
                    .filter(|_| entry.is_like(last))?;
                let ratio = effect.ratio?;
                let ends = effect.low.zip(effect.high);
                let [began, _] = self.heads(at);
                let interval = ends.map(|(low, high)| {
                    let [low, high] = percent_ends(low - 1.0, high - 1.0);
                    format!("[{low}, {high}]")
                });
                grid.push([
                    began,
                    series.name.clone(),
                    effect_of_ratio(ratio),
                    interval.unwrap_or_else(|| "–".to_owned()),
                    star(starts.contains(&at)),
                ]);
                let y = |ratio: f64| up.axis.place(ratio.ln());
                Some(Mark {
                    at,
                    y: y(ratio),
                    span: ends.map(|(low, high)| (y(low), y(high))),
                    text: effect_of_ratio(ratio),
                })
            });
            let marks: Vec<Mark> = marks.collect();
            paper.series(self, series, &marks);
        }
        Some(Figure {
            id: "changes".to_owned(),
            title: TITLE.to_owned(),
            caption: format!(
                "The change from {} with its interval in each record, the oldest on the left. A dashed \
                 line is the beginning of a new level of a policy. The scale of changes is logarithmic.",
                plain(&last.verdict.baseline)
            ),
            svg: paper.finish(TITLE),
            table: grid,
        })
    }

    /// The date of each record, or its time of day if all are from one day.
    fn dates(&self) -> Vec<(f64, String)> {
        let days = || self.entries.iter().map(|it| date(it.created_unix_ms));
        let is_one_day = days().zip(days().skip(1)).all(|(one, next)| one == next);
        let time = |it: &Entry| {
            let minute = minute(it.created_unix_ms);
            minute.split_once(' ').map(|(_, time)| time.to_owned())
        };
        let entries = self.entries.iter().enumerate();
        let dates = entries.map(|(at, entry)| {
            let time = time(entry).filter(|_| is_one_day);
            (
                at as f64,
                time.unwrap_or_else(|| date(entry.created_unix_ms)),
            )
        });
        dates.collect()
    }

    /// The starts of new levels of a policy, or of the baseline.
    fn starts(&self, policy: Option<&str>) -> Vec<usize> {
        let own = self
            .splits
            .iter()
            .filter(|it| it.policy.as_deref() == policy);
        own.map(|it| it.at).collect()
    }

    fn heads(&self, at: usize) -> [String; 2] {
        let entry = &self.entries[at];
        [minute(entry.created_unix_ms), plain(&entry.kernel)]
    }

    fn paper(&self, series: &[Series]) -> Option<Paper> {
        let mut svg = Svg::default();
        let keys = series.iter().map(|it| Key {
            index: it.index,
            sign: Sign::Mark(Fill::Full),
            text: it.name.clone(),
        });
        let keys: Vec<Key> = keys.collect();
        let top = if keys.is_empty() {
            0.0
        } else {
            svg.legend(0.0, &keys)
        };
        let field = PlotArea {
            left: 84.0,
            right: WIDTH - 4.0,
            top: top + KERNELS,
            bottom: top + KERNELS + HEIGHT,
        };
        let across = Axis::between(-0.5, self.entries.len() as f64 - 0.5, field.across())?;
        Some(Paper { svg, field, across })
    }
}

/// The levels that begin with the first record and at `starts`: the first record of each, the last, and their median.
fn medians(starts: &[usize], values: &[Option<f64>]) -> Vec<(usize, usize, f64)> {
    let begins = [0].into_iter().chain(starts.iter().copied());
    let ends = starts.iter().copied().chain([values.len()]);
    let levels = begins.zip(ends).filter_map(|(begin, end)| {
        let own: Vec<f64> = values[begin..end].iter().flatten().copied().collect();
        Some((begin, end - 1, median(&own)?))
    });
    levels.collect()
}

fn star(is_new: bool) -> String {
    if is_new { "*" } else { "" }.to_owned()
}

/// A series with one colour.
struct Series {
    name: String,
    /// Its position among the policies, for its colour and shape.
    index: usize,
    /// Offset of its marks from the centre of a record, in records.
    aside: f64,
}

/// One record of a series.
struct Mark {
    at: usize,
    y: f64,
    span: Option<(f64, f64)>,
    text: String,
}

/// A field with records from left to right.
struct Paper {
    svg: Svg,
    field: PlotArea,
    across: Axis,
}

impl Paper {
    /// The grid, the dates below, and the kernels above.
    fn begin(&mut self, history: &History, up: &Axis, ticks: &[(f64, String)]) {
        self.field.grid_up(&mut self.svg, up, ticks);
        let mut dates = history.dates();
        dates.dedup_by(|later, earlier| later.1 == earlier.1);
        self.field.grid_across(&mut self.svg, &self.across, &dates);
        self.field.frame(&mut self.svg);
        let (mut before, mut free) = (None, f64::NEG_INFINITY);
        for (at, entry) in history.entries.iter().enumerate() {
            let x = self.across.place(at as f64 - 0.5);
            if before.replace(&entry.kernel) != Some(&entry.kernel) && x >= free {
                let text = fitted(&entry.kernel, self.field.right - x);
                let place = (x, self.field.top - 6.0);
                self.svg.text("muted", Anchor::Start, place, &text);
                free = x + text_width(&text) + 8.0;
            }
        }
    }

    fn new_levels(&mut self, starts: &[usize]) {
        for &at in starts {
            let x = self.across.place(at as f64 - 0.5);
            let (top, bottom) = (self.field.top, self.field.bottom);
            self.svg.line("fence", (x, top), (x, bottom));
        }
    }

    fn series(&mut self, history: &History, series: &Series, marks: &[Mark]) {
        let across = self.across;
        self.svg.group(&colour(series.index), |svg| {
            for mark in marks {
                let x = across.place(mark.at as f64 + series.aside);
                if let Some((low, high)) = mark.span {
                    svg.line("span", (x, low), (x, high));
                }
                let [began, kernel] = history.heads(mark.at);
                let title = format!("{}, {began}, Linux {kernel}: {}", series.name, mark.text);
                let shape = Shape::of(series.index);
                svg.marker(shape, Fill::Full, (x, mark.y), Some(&title));
            }
        });
    }

    fn lines(&mut self, series: &Series, levels: &[(usize, usize, f64)], up: impl Fn(f64) -> f64) {
        let across = self.across;
        self.svg.group(&colour(series.index), |svg| {
            for &(first, last, value) in levels {
                let [left, right] = [first as f64 - 0.4, last as f64 + 0.4];
                let y = up(value);
                svg.line("thin", (across.place(left), y), (across.place(right), y));
            }
        });
    }

    fn finish(self, title: &str) -> String {
        self.svg.finish(title, self.field.bottom + 24.0)
    }
}
