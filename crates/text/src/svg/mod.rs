//! Drawings as SVG: the output is well formed for any input.
//!
//! Text is escaped, a mark without a place is left out, and a width is never negative. A drawing has classes and no
//! colours: [`STYLE`] has those, for light, dark and paper.

use std::fmt::Write as _;

use super::wrap::{display_width, plain, shortened};
use super::xml_escaped;

mod axis;
mod change_axis;
mod field;
mod marker;
mod panels;
#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use change_axis::ChangeAxis;
pub use field::{Key, PlotArea, Sign};
pub use marker::{Fill, Shape};
pub use panels::{Course, Panels, Stretch};

/// Width of every drawing, in its own units: pixels at full size.
pub const WIDTH: f64 = 720.0;

/// Colours, strokes and font of the classes in drawings, for a page with drawings.
pub const STYLE: &str = include_str!("style.css");

/// The number of colours, not counting that of the baseline. After each pass through them the shapes change and lines
/// get wider.
const COLOURS: usize = 5;

/// The average width of a letter, at most: 0.6 em of a 12 px font.
const LETTER: f64 = 7.2;

/// A place: to the right of and below the upper left corner.
pub type Place = (f64, f64);

/// The part of a text at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// Returns the width of a text, rather too large than too small.
#[must_use]
pub fn text_width(text: &str) -> f64 {
    display_width(text) as f64 * LETTER
}

/// Shortens a text from outside to a width.
#[must_use]
pub fn fitted(text: &str, room: f64) -> String {
    shortened(&plain(text), (room / LETTER).max(1.0) as usize)
}

/// Returns the class of a policy's marks, by its position in the plan.
#[must_use]
pub fn colour(index: usize) -> String {
    match turned(index) {
        None => "p0".to_owned(),
        Some((colour, 0)) => format!("p{}", colour + 1),
        Some((colour, turn)) => format!("p{} w{turn}", colour + 1),
    }
}

/// Returns the index of its colour and the number of passes before it; `None` for the baseline.
fn turned(index: usize) -> Option<(usize, usize)> {
    let after = index.checked_sub(1)?;
    Some((after % COLOURS, after / COLOURS))
}

/// An unfinished drawing.
#[derive(Debug, Default)]
pub struct Svg {
    body: String,
    /// The length of the body when the last group ended, and the classes of that group.
    last_group: Option<(usize, String)>,
}

/// How a group ends.
const GROUP_END: &str = "</g>\n";

impl Svg {
    /// Draws into a group with these classes. Consecutive groups with the same classes are merged: marks are drawn one
    /// at a time, and need no group each.
    pub fn group(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        match &self.last_group {
            Some((end, last)) if *end == self.body.len() && last == class => {
                self.body.truncate(end - GROUP_END.len());
            }
            _ => {
                let _ = writeln!(self.body, "<g class=\"{}\">", xml_escaped(class));
            }
        }
        draw(self);
        self.body.push_str(GROUP_END);
        self.last_group = Some((self.body.len(), class.to_owned()));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: Place, to: Place) {
        self.curve(class, &[Some(from), Some(to)]);
    }

    /// Draws a line through places, interrupted at missing ones.
    pub fn curve(&mut self, class: &str, places: &[Option<Place>]) {
        let mut path = Path::default();
        for place in places {
            path.to(place.and_then(written));
        }
        if path.has_lines {
            self.element("path", class, &format!("d=\"{}\"", path.text), None);
        }
    }

    /// Draws a rectangle between two of its corners.
    pub fn rect(&mut self, class: &str, one: Place, other: Place, title: Option<&str>) {
        let (left, top) = (one.0.min(other.0), one.1.min(other.1));
        let size = ((one.0 - other.0).abs(), (one.1 - other.1).abs());
        if let (Some((x, y)), Some((width, height))) = (written((left, top)), written(size)) {
            let at = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
            self.element("rect", class, &at, title);
        }
    }

    /// One line of text.
    pub fn text(&mut self, class: &str, anchor: Anchor, at: Place, text: &str) {
        let Some((x, y)) = written(at) else { return };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{}\"", xml_escaped(class)),
        };
        let text = xml_escaped(text);
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\"{anchor}{class}>{text}</text>"
        );
    }

    /// Draws a heading, followed by a remark, which can be empty.
    pub fn heading(&mut self, at: Place, text: &str, remark: &str) {
        let Some((x, y)) = written(at) else { return };
        let [text, remark] = [text, remark].map(xml_escaped);
        let remark = match remark.is_empty() {
            true => remark,
            false => format!(" <tspan class=\"muted\" dx=\"6\">{remark}</tspan>"),
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" class=\"head\">{text}{remark}</text>"
        );
    }

    /// Writes an element without children except a title.
    fn element(&mut self, name: &str, class: &str, attributes: &str, title: Option<&str>) {
        let class = xml_escaped(class);
        let _ = write!(self.body, "<{name} class=\"{class}\" {attributes}");
        let _ = match title {
            Some(title) => {
                let title = xml_escaped(title);
                writeln!(self.body, "><title>{title}</title></{name}>")
            }
            None => writeln!(self.body, "/>"),
        };
    }

    /// Returns the drawing with this height; `label` describes it for screen readers.
    #[must_use]
    pub fn finish(self, label: &str, height: f64) -> String {
        self.with(label, height, "")
    }

    /// Returns the drawing as a separate file, with its colours.
    #[must_use]
    pub fn file(self, label: &str, height: f64) -> String {
        let paper = format!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>");
        let style = format!("<style>\n{STYLE}</style>\n{paper}\n");
        let drawing = self.with(label, height, &style);
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{drawing}")
    }

    fn with(self, label: &str, height: f64, style: &str) -> String {
        let label = xml_escaped(label);
        let height = height.max(1.0).ceil();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">\n{style}{}\
             </svg>\n",
            self.body
        )
    }
}

/// The path of a line: a start, then relative steps, which are shorter than places.
#[derive(Default)]
struct Path {
    text: String,
    last: Option<Place>,
    has_lines: bool,
}

impl Path {
    fn to(&mut self, place: Option<Place>) {
        let _ = match (self.last, place) {
            (_, None) => Ok(()),
            (None, Some((x, y))) => write!(self.text, "M{x} {y}"),
            (Some(from), Some(to)) => {
                self.has_lines = true;
                self.step(tenth(to.0 - from.0), tenth(to.1 - from.1))
            }
        };
        self.last = place;
    }

    fn step(&mut self, right: f64, down: f64) -> std::fmt::Result {
        match (right == 0.0, down == 0.0) {
            (_, true) => write!(self.text, "h{right}"),
            (true, false) => write!(self.text, "v{down}"),
            (false, false) => write!(self.text, "l{right} {down}"),
        }
    }
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}

/// Returns a place rounded to a tenth; `None` if it is not finite, or far outside every drawing.
fn written((x, y): Place) -> Option<(f64, f64)> {
    const FAR: f64 = 1e9;
    (x.abs() < FAR && y.abs() < FAR).then(|| (tenth(x), tenth(y)))
}
