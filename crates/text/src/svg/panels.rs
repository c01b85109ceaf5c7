//! Panels below each other that share one horizontal axis, such as seconds.

use super::{Anchor, Axis, Key, Place, PlotArea, Svg, WIDTH, colour, fitted};
use crate::number::{Scaler, quantity};
use hugewise_base::units::Unit;

/// Height of a panel of curves, and of the space above it.
const PANEL: f64 = 84.0;
const ABOVE: f64 = 26.0;
/// Height of a row of bands.
const BAND: f64 = 16.0;
const RIGHT: f64 = WIDTH - 12.0;
/// The largest number of stretches per course: a drawing has no more pixels.
const MOST: usize = 360;

/// A value over an interval of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The value; never below 0.
    pub value: f64,
}

/// A curve or row of bands in one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// What it is.
    pub name: String,
    /// Its position among all, which sets the colour.
    pub index: usize,
    /// By ascending place; the line is straight across gaps.
    pub stretches: Vec<Stretch>,
}

impl Course {
    /// Reduces the course to at most [`MOST`] stretches: neighbours are merged into their mean.
    fn thinned(&self) -> Self {
        let together = self.stretches.len().div_ceil(MOST).max(1);
        let chunks = self.stretches.chunks(together);
        Self {
            stretches: chunks.filter_map(mean).collect(),
            ..self.clone()
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.stretches.iter().map(|it| it.value)
    }
}

/// The mean of neighbours, weighted by length.
fn mean(stretches: &[Stretch]) -> Option<Stretch> {
    let (first, last) = (stretches.first()?, stretches.last()?);
    let length: f64 = stretches.iter().map(|it| it.to - it.from).sum();
    let weighed = stretches.iter().map(|it| it.value * (it.to - it.from));
    Some(Stretch {
        from: first.from,
        to: last.to,
        value: match length > 0.0 {
            true => weighed.sum::<f64>() / length,
            false => first.value,
        },
    })
}

/// Unfinished panels.
#[derive(Debug)]
pub struct Panels {
    svg: Svg,
    bottom: f64,
    left: f64,
    across: Axis,
}

impl Panels {
    /// Creates panels over an axis of seconds from 0; `left` is the width for labels. `None` if the axis has no length.
    #[must_use]
    pub fn over_seconds(seconds: f64, left: f64, keys: &[Key]) -> Option<Self> {
        let across = Axis::between(0.0, seconds, (left, RIGHT))?;
        let mut svg = Svg::default();
        let bottom = match keys {
            [] => 0.0,
            keys => svg.legend(0.0, keys),
        };
        Some(Self {
            svg,
            bottom,
            left,
            across,
        })
    }

    /// Adds the next field, with its name above.
    fn field(&mut self, name: &str, height: f64) -> PlotArea {
        let top = self.bottom + ABOVE;
        self.svg.text("head", Anchor::Start, (0.0, top - 8.0), name);
        self.bottom = top + height;
        PlotArea {
            left: self.left,
            right: RIGHT,
            top,
            bottom: self.bottom,
        }
    }

    /// Adds a panel with a curve for each course, through the centres of its stretches.
    pub fn curves(&mut self, name: &str, unit: &Unit, courses: &[Course]) {
        let courses: Vec<Course> = courses.iter().map(Course::thinned).collect();
        let field = self.field(name, PANEL);
        let values = courses.iter().flat_map(Course::values);
        let Some(up) = Axis::from_zero(values, field.up()) else {
            return;
        };
        let ticks = up.labels(unit, 3, |value| quantity(unit, value));
        field.grid_up(&mut self.svg, &up, &ticks);
        field.frame(&mut self.svg);
        for course in &courses {
            let place = |it: &Stretch| -> Option<Place> {
                let middle = f64::midpoint(it.from, it.to);
                Some((self.across.place(middle), up.place(it.value)))
            };
            let places: Vec<Option<Place>> = course.stretches.iter().map(place).collect();
            self.svg
                .group(&colour(course.index), |svg| svg.curve("line", &places));
        }
    }

    /// Adds a panel with a row for each course; a higher bar means a larger value, on one scale for all. `title`
    /// describes a bar.
    pub fn bands(
        &mut self,
        name: &str,
        scaler: &Scaler,
        courses: &[Course],
        title: impl Fn(&Course, &Stretch, &str) -> String,
    ) {
        let courses: Vec<Course> = courses.iter().map(Course::thinned).collect();
        let most = courses.iter().flat_map(Course::values).fold(0.0, f64::max);
        let name = match most > 0.0 {
            true => format!("{name} (highest bar: {})", scaler.show(most)),
            false => name.to_owned(),
        };
        let field = self.field(&name, BAND * courses.len() as f64 + 4.0);
        field.frame(&mut self.svg);
        let Some(length) = Axis::between(0.0, most, (0.0, BAND - 3.0)) else {
            return;
        };
        let across = self.across;
        for (row, course) in courses.iter().enumerate() {
            let floor = field.top + BAND * (row as f64 + 1.0);
            self.svg.group(&colour(course.index), |svg| {
                for it in course.stretches.iter().filter(|it| it.value > 0.0) {
                    let title = title(course, it, &scaler.show(it.value));
                    let [left, right] = [it.from, it.to].map(|end| across.place(end));
                    let top = floor - length.place(it.value).max(1.0);
                    svg.rect("bar", (left, top), (right, floor), Some(&title));
                }
            });
        }
    }

    /// Adds such a panel with the name of each course before its row, for panels without a legend.
    pub fn named_bands(
        &mut self,
        name: &str,
        scaler: &Scaler,
        courses: &[Course],
        title: impl Fn(&Course, &Stretch, &str) -> String,
    ) {
        let top = self.bottom + ABOVE;
        for (row, course) in courses.iter().enumerate() {
            let at = (self.left - 8.0, top + BAND * (row as f64 + 1.0) - 2.0);
            let label = fitted(&course.name, self.left - 8.0);
            self.svg.text("muted", Anchor::End, at, &label);
        }
        self.bands(name, scaler, courses, title);
    }

    /// Returns the drawing, with the seconds below the last panel.
    #[must_use]
    pub fn finish(mut self, title: &str) -> String {
        let field = PlotArea {
            left: self.left,
            right: RIGHT,
            top: self.bottom,
            bottom: self.bottom,
        };
        let ticks = self.across.labels(&Unit::Seconds, 12, |second| {
            format!("{} s", (second * 1e6).round() / 1e6)
        });
        field.grid_across(&mut self.svg, &self.across, &ticks);
        self.svg.finish(title, self.bottom + 24.0)
    }
}
