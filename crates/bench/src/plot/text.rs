//! A plot in characters: logarithmic on both axes, one symbol for each policy.

use super::Chart;
use hugewise_base::units::{Unit, bytes_text};
use hugewise_text::number::quantity;
use hugewise_text::svg::Axis;

/// Symbols of the lines, in order; a point shared by several lines has a separate one.
const SIGNS: [char; 6] = ['o', 'x', '+', '*', '#', '@'];
const SEVERAL: char = '=';

/// Lines of the field.
const HEIGHT: usize = 14;
/// Columns before the field: a value and a border.
const MARGIN: usize = 11;
/// Columns for a label of the byte axis.
const MARK: usize = 9;

/// Draws a chart in `columns` columns, as lines; empty for a chart without points.
#[must_use]
pub fn render_text(chart: &Chart, columns: usize) -> Vec<String> {
    let width = columns.saturating_sub(MARGIN + 1).max(20);
    let axis = |values: Vec<f64>| Axis::logarithmic(values, (0.0, 1.0));
    let across = axis(chart.points().map(|point| point.bytes as f64).collect());
    let up = axis(chart.points().map(|point| point.value).collect());
    let (Some(across), Some(up)) = (across, up) else {
        return Vec::new();
    };
    let mut field = vec![vec![' '; width]; HEIGHT];
    for (line, sign) in chart.lines.iter().zip(SIGNS.into_iter().cycle()) {
        for point in &line.points {
            let column = cell(across.place(point.bytes as f64), width);
            let row = HEIGHT - 1 - cell(up.place(point.value), HEIGHT);
            let place = &mut field[row][column];
            *place = if *place == ' ' || *place == sign {
                sign
            } else {
                SEVERAL
            };
        }
    }
    let mut lines = vec![heading(chart)];
    lines.extend(field.iter().enumerate().map(|(row, signs)| {
        let label = label(chart, &up, row);
        let signs: String = signs.iter().collect();
        format!("{label:>9} |{signs}").trim_end().to_owned()
    }));
    lines.push(format!("{:>10}+{}", "", "-".repeat(width)));
    lines.push(marks(&across, width));
    lines
}

fn cell(place: f64, cells: usize) -> usize {
    (place * (cells - 1) as f64).round() as usize
}

/// Explains the symbols.
fn heading(chart: &Chart) -> String {
    let names = chart.lines.iter().zip(SIGNS.into_iter().cycle());
    let mut signs: Vec<String> = names
        .map(|(line, sign)| format!("{sign} {}", line.name))
        .collect();
    if signs.len() > 1 {
        signs.push(format!("{SEVERAL} several"));
    }
    format!("{}: {}", chart.title, signs.join(", "))
}

/// Labels every third line with the value at its middle.
fn label(chart: &Chart, up: &Axis, row: usize) -> String {
    if !row.is_multiple_of(3) && row + 1 != HEIGHT {
        return String::new();
    }
    let place = (HEIGHT - 1 - row) as f64 / (HEIGHT - 1) as f64;
    quantity(&chart.unit, up.value(place))
}

/// Labels powers of two below their columns, as many as fit.
fn marks(across: &Axis, width: usize) -> String {
    let mut text = vec![' '; MARGIN + width];
    for bytes in across.ticks(&Unit::Bytes, width / MARK) {
        let mark: Vec<char> = bytes_text(bytes as u64).chars().collect();
        let middle = MARGIN + cell(across.place(bytes), width);
        let start = (middle.saturating_sub(mark.len() / 2)).min(MARGIN + width - mark.len());
        text[start..start + mark.len()].copy_from_slice(&mark);
    }
    text.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{PlotLine, PlotPoint};
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    fn chart(lines: &[(&str, &[(u64, f64)])]) -> Chart {
        let point = |&(bytes, value): &(u64, f64)| PlotPoint {
            bytes,
            value,
            interval: None,
        };
        Chart {
            title: "latency".to_owned(),
            across: "footprint".to_owned(),
            unit: Unit::Seconds,
            lines: lines
                .iter()
                .map(|(name, points)| PlotLine {
                    name: (*name).to_owned(),
                    points: points.iter().map(point).collect(),
                })
                .collect(),
        }
    }

    #[test]
    fn two_lines_part_where_they_differ() {
        let small = [
            (4 << 10, 1e-9),
            (64 << 10, 4e-9),
            (1 << 20, 16e-9),
            (16 << 20, 256e-9),
        ];
        let huge = [
            (4 << 10, 1e-9),
            (64 << 10, 4e-9),
            (1 << 20, 8e-9),
            (16 << 20, 64e-9),
        ];
        let drawn = render_text(&chart(&[("4k", &small), ("2m", &huge)]), 60);
        expect![[r#"
            latency: o 4k, x 2m, = several
               256 ns |                                               o
                      |
                      |
              71.2 ns |                                               x
                      |
                      |
              19.8 ns |                               o
                      |
                      |                               x
              5.51 ns |
                      |                =
                      |
              1.53 ns |
              1.00 ns |=
                      +------------------------------------------------
                     4 KiB          64 KiB          1 MiB        16 MiB"#]]
        .assert_eq(&drawn.join("\n"));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(render_text(&chart(&[]), 80).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_columns(
            points in proptest::collection::vec((1_u64..1 << 50, 1e-12_f64..1e4), 1..20),
            columns in 40_usize..120,
        ) {
            for line in render_text(&chart(&[("a", &points)]), columns) {
                prop_assert!(line.chars().count() <= columns, "{line}");
            }
        }
    }
}
