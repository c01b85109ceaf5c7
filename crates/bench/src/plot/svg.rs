//! Curves as figures of a report, and as a separate file.

use super::{Chart, PlotLine, charts};
use hugewise_base::units::{Unit, bytes_text};
use hugewise_experiment::run::record::Record;
use hugewise_text::figure::Figure;
use hugewise_text::grid::Grid;
use hugewise_text::number::{Scaler, quantity};
use hugewise_text::svg::{
    Anchor, Axis, Fill, Key, PlotArea, Shape, Sign, Svg, WIDTH, colour, fitted,
};
use hugewise_text::wrap::capitalised;

/// The margins of the field in a drawing.
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 24.0;
const HEIGHT: f64 = 260.0;

/// Returns the curves of a record, each with its numbers.
#[must_use]
pub fn figures(record: &Record) -> Vec<Figure> {
    let charts = charts(record).into_iter().enumerate();
    let figure = |(index, chart): (usize, Chart)| {
        let mut svg = Svg::default();
        let bottom = draw(&mut svg, &chart, 0.0);
        Figure {
            id: format!("curves-{}", index + 1),
            caption: format!(
                "The median over rounds by {}, with its interval; both axes are logarithmic.",
                chart.across
            ),
            svg: svg.finish(&chart.title, bottom),
            table: table(&chart),
            title: capitalised(&chart.title),
        }
    };
    charts.map(figure).collect()
}

fn table(chart: &Chart) -> Grid {
    let heads = ["policy", &chart.across, "median", "95 % interval"];
    let mut grid = Grid::headed(&heads);
    for line in &chart.lines {
        for point in &line.points {
            let ends = point.interval.unwrap_or((point.value, point.value));
            let scaler = Scaler::for_row(&chart.unit, &[ends.0, point.value, ends.1]);
            let interval = point.interval.map(|(low, high)| {
                let [low, high] = [low, high].map(|end| scaler.show(end));
                format!("[{low}, {high}]")
            });
            grid.push([
                line.name.clone(),
                bytes_text(point.bytes),
                scaler.show(point.value),
                interval.unwrap_or_else(|| "–".to_owned()),
            ]);
        }
    }
    grid
}

/// Draws the charts below each other, as one file.
#[must_use]
pub fn render_svg(charts: &[Chart], title: &str) -> String {
    let mut svg = Svg::default();
    let mut bottom = 0.0;
    for chart in charts {
        svg.text(
            "head",
            Anchor::Start,
            (0.0, bottom + 16.0),
            &fitted(&chart.title, WIDTH),
        );
        bottom = draw(&mut svg, chart, bottom + 24.0) + 16.0;
    }
    svg.file(title, bottom)
}

/// Draws a chart downwards from `top`; returns its lower edge.
fn draw(svg: &mut Svg, chart: &Chart, top: f64) -> f64 {
    let keys = chart.lines.iter().enumerate().map(|(index, line)| Key {
        index,
        sign: Sign::Mark(Fill::Full),
        text: line.name.clone(),
    });
    let top = svg.legend(top, &keys.collect::<Vec<_>>()) + 8.0;
    let field = PlotArea {
        left: LEFT,
        right: RIGHT,
        top,
        bottom: top + HEIGHT,
    };
    let bytes = chart.points().map(|point| point.bytes as f64);
    let ends = chart.points().flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.value, point.value));
        [low, point.value, high]
    });
    let across = Axis::logarithmic(bytes.collect::<Vec<_>>(), field.across());
    let up = Axis::logarithmic(ends.collect::<Vec<_>>(), field.up());
    let (Some(across), Some(up)) = (across, up) else {
        return top;
    };
    let ticks = across.labels(&Unit::Bytes, 10, |bytes| bytes_text(bytes as u64));
    field.grid_across(svg, &across, &ticks);
    let ticks = up.labels(&Unit::Seconds, 8, |value| quantity(&chart.unit, value));
    field.grid_up(svg, &up, &ticks);
    field.frame(svg);
    for (index, line) in chart.lines.iter().enumerate() {
        svg.group(&colour(index), |svg| {
            curve(svg, chart, line, index, (&across, &up));
        });
    }
    let middle = (f64::midpoint(LEFT, RIGHT), field.bottom + 34.0);
    svg.text(
        "muted",
        Anchor::Middle,
        middle,
        &fitted(&chart.across, RIGHT - LEFT),
    );
    field.bottom + 40.0
}

/// Draws a line through the medians, with the interval of each.
fn curve(svg: &mut Svg, chart: &Chart, line: &PlotLine, index: usize, axes: (&Axis, &Axis)) {
    let (across, up) = axes;
    let places = line
        .points
        .iter()
        .map(|it| (across.place(it.bytes as f64), up.place(it.value)));
    let places: Vec<_> = places.collect();
    svg.curve(
        "line",
        &places.iter().copied().map(Some).collect::<Vec<_>>(),
    );
    for (point, at) in line.points.iter().zip(places) {
        if let Some((low, high)) = point.interval {
            svg.line("thin", (at.0, up.place(low)), (at.0, up.place(high)));
        }
        let value = quantity(&chart.unit, point.value);
        let title = format!("{}, {}: {value}", line.name, bytes_text(point.bytes));
        svg.marker(Shape::of(index), Fill::Full, at, Some(&title));
    }
}

#[cfg(test)]
mod tests {
    use super::super::PlotPoint;
    use super::*;

    fn chart(name: &str, points: &[(u64, f64)]) -> Chart {
        let point = |&(bytes, value): &(u64, f64)| PlotPoint {
            bytes,
            value,
            interval: Some((value * 0.9, value * 1.1)),
        };
        Chart {
            title: "a < b & \"c\"".to_owned(),
            across: "block".to_owned(),
            unit: Unit::BytesPerSecond,
            lines: vec![PlotLine {
                name: name.to_owned(),
                points: points.iter().map(point).collect(),
            }],
        }
    }

    /// Checks that elements are closed in reverse order, and no `&` is bare.
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
        assert_eq!(
            svg.matches("class=\"mark\"").count(),
            5 + 2,
            "points and the legend"
        );
        assert!(svg.contains("a &lt; b &amp; ") && svg.contains("64 KiB"));
        assert_eq!(svg.matches("http").count(), 1, "nothing is loaded");
    }

    #[test]
    fn more_is_higher_and_larger_is_further_right() {
        let svg = render_svg(&[chart("4k", &[(4096, 1e9), (65_536, 3e9)])], "");
        let attribute = |name: &str| -> Vec<f64> {
            let of = |tag: &str| {
                let (_, value) = tag.split_once(&format!("{name}=\""))?;
                value.split('"').next()?.parse().ok()
            };
            // The first circle is that of the legend.
            svg.split("<circle").skip(2).filter_map(of).collect()
        };
        let (x, y) = (attribute("cx"), attribute("cy"));
        assert_eq!(x, [LEFT, RIGHT]);
        assert!(y[0] > y[1], "{y:?}");
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
