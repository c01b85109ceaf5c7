//! Drawings as one file for a browser: no script, nothing loaded from elsewhere.

use std::fmt::Write as _;

use super::scale::Axis;
use super::{Chart, Line, Point};
use crate::base::units::bytes_text;
use crate::text::number::quantity;
use crate::text::xml_escaped;

/// One drawing with its borders.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 400.0;
/// The field of a drawing.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 780.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 350.0;

/// Colours that people who do not tell red from green tell apart (Okabe and Ito 2008), and
/// dashes for paper without colours.
const STROKES: [(&str, &str); 6] = [
    ("#0072b2", "none"),
    ("#d55e00", "7 3"),
    ("#009e73", "2 3"),
    ("#cc79a7", "9 3 2 3"),
    ("#e69f00", "5 5"),
    ("#000000", "1 2"),
];

/// Draws the charts below each other, as one file.
#[must_use]
pub fn render_svg(charts: &[Chart], title: &str) -> String {
    let height = HEIGHT * charts.len().max(1) as f64;
    let mut svg = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n",
        xml_escaped(title)
    );
    for (index, chart) in charts.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<g transform=\"translate(0 {})\">",
            HEIGHT * index as f64
        );
        draw(&mut svg, chart);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where values lie on the paper.
struct Field {
    across: Axis,
    up: Axis,
}

impl Field {
    fn of(chart: &Chart) -> Option<Self> {
        let ends = |point: &Point| {
            let (low, high) = point.interval.unwrap_or((point.value, point.value));
            [low, point.value, high]
        };
        Some(Self {
            across: Axis::of(chart.points().map(|point| point.bytes as f64))?,
            up: Axis::of(chart.points().flat_map(ends))?,
        })
    }

    fn x(&self, bytes: u64) -> f64 {
        LEFT + (RIGHT - LEFT) * self.across.place(bytes as f64)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * self.up.place(value)
    }
}

fn draw(svg: &mut String, chart: &Chart) {
    let Some(field) = Field::of(chart) else {
        return;
    };
    text(svg, (LEFT, 20.0), "start", &chart.title);
    text(
        svg,
        (f64::midpoint(LEFT, RIGHT), 392.0),
        "middle",
        &chart.across,
    );
    grid(svg, chart, &field);
    let strokes = STROKES.into_iter().cycle();
    for (index, (line, stroke)) in chart.lines.iter().zip(strokes).enumerate() {
        draw_line(svg, line, stroke, &field);
        let x = LEFT + 110.0 * index as f64;
        let (colour, dash) = stroke;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} 36h24\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>"
        );
        text(svg, (x + 30.0, 40.0), "start", &line.name);
    }
}

fn grid(svg: &mut String, chart: &Chart, field: &Field) {
    for bytes in field.across.powers_of_two(10) {
        let x = field.x(bytes);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/>");
        text(svg, (x, BOTTOM + 18.0), "middle", &bytes_text(bytes));
    }
    for value in field.up.round_values() {
        let y = field.y(value);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#ddd\"/>");
        text(
            svg,
            (LEFT - 6.0, y + 4.0),
            "end",
            &quantity(&chart.unit, value),
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#000\"/>"
    );
}

/// A line through the medians, with the interval of each.
fn draw_line(svg: &mut String, line: &Line, (colour, dash): (&str, &str), field: &Field) {
    let mut path = String::new();
    for (index, point) in line.points.iter().enumerate() {
        let (x, y) = (field.x(point.bytes), field.y(point.value));
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
        if let Some((low, high)) = point.interval {
            let (low, high) = (field.y(low), field.y(high));
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\" stroke-opacity=\"0.5\"/>"
            );
        }
        let told = format!("{}: {}", line.name, bytes_text(point.bytes));
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"><title>{}</title></circle>",
            xml_escaped(&told)
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = xml_escaped(text);
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Unit;

    fn chart(name: &str, points: &[(u64, f64)]) -> Chart {
        let point = |&(bytes, value): &(u64, f64)| Point {
            bytes,
            value,
            interval: Some((value * 0.9, value * 1.1)),
        };
        Chart {
            title: "a < b & \"c\"".to_owned(),
            across: "block".to_owned(),
            unit: Unit::BytesPerSecond,
            lines: vec![Line {
                name: name.to_owned(),
                points: points.iter().map(point).collect(),
            }],
        }
    }

    /// Every element is closed in the order in which it was opened, and no `&` is bare.
    fn check_well_formed(svg: &str) {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag ends");
            let name = tag
                .split([' ', '/'])
                .find(|word| !word.is_empty())
                .unwrap_or("");
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{svg}");
            } else if !tag.ends_with('/') && !tag.starts_with('?') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        for entity in svg.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;"];
            assert!(
                known.iter().any(|name| entity.starts_with(name)),
                "{entity}"
            );
        }
    }

    #[test]
    fn a_drawing_is_well_formed_and_has_every_point() {
        let charts = [
            chart("4k", &[(4096, 1e9), (65_536, 3e9)]),
            chart("<2m>", &[(4096, 2e9), (65_536, 3e9), (1 << 20, 5e9)]),
        ];
        let svg = render_svg(&charts, "bench & more");
        check_well_formed(&svg);
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(svg.contains("a &lt; b &amp; ") && svg.contains("64 KiB"));
        assert_eq!(svg.matches("http").count(), 1, "nothing is loaded");
    }

    #[test]
    fn more_is_higher_and_larger_is_further_right() {
        let svg = render_svg(&[chart("4k", &[(4096, 1e9), (65_536, 3e9)])], "");
        let attribute = |name: &str| -> Vec<f64> {
            let of = |tag: &str| {
                tag.split_once(&format!("{name}=\""))?
                    .1
                    .split('"')
                    .next()?
                    .parse()
                    .ok()
            };
            svg.split("<circle").skip(1).filter_map(of).collect()
        };
        let (x, y) = (attribute("cx"), attribute("cy"));
        assert_eq!(x, [LEFT, RIGHT]);
        assert!(
            y[0] > y[1] && y.iter().all(|y| (TOP..=BOTTOM).contains(y)),
            "{y:?}"
        );
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let empty = Chart {
            lines: Vec::new(),
            ..chart("", &[])
        };
        check_well_formed(&render_svg(&[empty], ""));
        check_well_formed(&render_svg(&[], ""));
    }
}
