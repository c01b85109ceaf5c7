//! The field of a drawing: its axes with their labels, and the legend.

use super::{Anchor, Axis, Fill, Shape, Svg, WIDTH, colour, fitted, text_width};

/// The area of the marks in a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotArea {
    /// Its left edge.
    pub left: f64,
    /// Its right edge.
    pub right: f64,
    /// Its upper edge.
    pub top: f64,
    /// Its lower edge.
    pub bottom: f64,
}

/// The space between two labels.
const GAP: f64 = 8.0;
/// A line of text.
pub(super) const LINE: f64 = 18.0;
/// The width of the longest label of a legend.
const LONGEST: f64 = 220.0;

impl PlotArea {
    /// The ends of an axis from left to right.
    #[must_use]
    pub fn across(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// The ends of an axis from below upwards.
    #[must_use]
    pub fn up(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }

    /// Draws vertical lines at values of a horizontal axis, with labels below if they fit; the label of zero comes
    /// first.
    pub fn grid_across(&self, svg: &mut Svg, axis: &Axis, ticks: &[(f64, String)]) {
        for (value, _) in ticks {
            let x = axis.place(*value);
            svg.line("grid", (x, self.top), (x, self.bottom));
        }
        labels_across(svg, axis, ticks, self.bottom + LINE);
    }

    /// Repeats the labels above: a high field does not fit on one screen.
    pub fn labels_above(&self, svg: &mut Svg, axis: &Axis, ticks: &[(f64, String)]) {
        labels_across(svg, axis, ticks, self.top - GAP);
    }

    /// Draws horizontal lines at values of a vertical axis, with labels to the left.
    pub fn grid_up(&self, svg: &mut Svg, axis: &Axis, ticks: &[(f64, String)]) {
        let mut free = f64::INFINITY;
        for (value, label) in ticks {
            let y = axis.place(*value);
            svg.line("grid", (self.left, y), (self.right, y));
            if y + 4.0 <= free {
                let label = fitted(label, self.left - GAP);
                svg.text("muted", Anchor::End, (self.left - GAP, y + 4.0), &label);
                free = y + 4.0 - 14.0;
            }
        }
    }

    /// Draws the lines at the left and the bottom.
    pub fn frame(&self, svg: &mut Svg) {
        let corner = (self.left, self.bottom);
        svg.line("axis", (self.left, self.top), corner);
        svg.line("axis", corner, (self.right, self.bottom));
    }
}

/// Draws the labels of a horizontal axis if they fit; the label of zero comes first.
fn labels_across(svg: &mut Svg, axis: &Axis, ticks: &[(f64, String)], y: f64) {
    let mut ticks: Vec<&(f64, String)> = ticks.iter().collect();
    ticks.sort_by_key(|(value, _)| *value != 0.0);
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (value, label) in ticks {
        let half = text_width(label) / 2.0;
        let x = axis.place(*value);
        let middle = x.clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
        let (left, right) = (middle - half, middle + half);
        let is_free = |it: &(f64, f64)| right + GAP <= it.0 || it.1 + GAP <= left;
        if taken.iter().all(is_free) {
            svg.text("muted", Anchor::Middle, (middle, y), label);
            taken.push((left, right));
        }
    }
}

/// The sign of a policy in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Its mark.
    Mark(Fill),
    /// A piece of its line.
    Line,
}

/// A sign of a legend and its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The position of the policy in the plan, which sets colour and shape.
    pub index: usize,
    /// How it is drawn.
    pub sign: Sign,
    /// The meaning.
    pub text: String,
}

impl Svg {
    /// Draws the legend downwards from `top`; returns its lower edge.
    pub fn legend(&mut self, top: f64, keys: &[Key]) -> f64 {
        let (mut x, mut y) = (0.0, top + 12.0);
        for key in keys {
            let text = fitted(&key.text, LONGEST);
            let sign = match key.sign {
                Sign::Mark(_) => 14.0,
                Sign::Line => 34.0,
            };
            let width = sign + 2.0 + text_width(&text);
            if x > 0.0 && x + width > WIDTH {
                (x, y) = (0.0, y + LINE);
            }
            let middle = y - 4.0;
            self.group(&colour(key.index), |svg| match key.sign {
                Sign::Mark(fill) => {
                    svg.marker(Shape::of(key.index), fill, (x + 5.0, middle), None);
                }
                Sign::Line => svg.line("line", (x, middle), (x + 28.0, middle)),
            });
            self.text("", Anchor::Start, (x + sign, y), &text);
            x += width + 2.0 * GAP;
        }
        y + 8.0
    }
}
