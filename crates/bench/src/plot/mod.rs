//! Plots of cells: a metric over a number of bytes, one line for each policy.

use hugewise_base::units::Unit;
use hugewise_experiment::run::compare::medians::arm_trials;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::stats::quantile::median_interval;
use hugewise_experiment::run::stats::{ALPHA, median};
use hugewise_experiment::run::trial::Reading;
use hugewise_text::wrap::plain;

use hugewise_experiment::run::cells::suite::{Place, Words};
use hugewise_experiment::run::cells::{Bench, BenchCell, Suite};
use hugewise_experiment::run::metric::cells::of_cell;

pub mod svg;
pub mod text;

pub use svg::{figures, render_svg};
pub use text::render_text;

/// One drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The values common to all of its cells.
    pub title: String,
    /// The meaning of the bytes.
    pub across: String,
    /// Unit of the values.
    pub unit: Unit,
    /// One for each policy with values.
    pub lines: Vec<PlotLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotLine {
    /// Name of the policy.
    pub name: String,
    /// By bytes, ascending.
    pub points: Vec<PlotPoint>,
}

/// One point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotPoint {
    /// Bytes; never 0.
    pub bytes: u64,
    /// The median over rounds; above 0.
    pub value: f64,
    /// The interval of the median, if there are enough rounds.
    pub interval: Option<(f64, f64)>,
}

impl Chart {
    /// Returns the number of points of the longest line.
    #[must_use]
    pub fn longest(&self) -> usize {
        let lengths = self.lines.iter().map(|line| line.points.len());
        lengths.max().unwrap_or(0)
    }

    fn points(&self) -> impl Iterator<Item = &PlotPoint> {
        self.lines.iter().flat_map(|line| &line.points)
    }
}

/// The limits of plots in text: fewer sizes are easy to read in the table, and more plots would fill screens.
const FEWEST_SIZES: usize = 6;
const MOST_DRAWINGS: usize = 4;

/// Columns of a drawing.
const COLUMNS: usize = 80;

/// Returns the plots of a report.
#[must_use]
pub fn in_text(record: &Record) -> Vec<Vec<String>> {
    let mut charts = charts(record);
    charts.retain(|chart| chart.longest() >= FEWEST_SIZES);
    if charts.len() > MOST_DRAWINGS {
        return Vec::new();
    }
    let drawn = charts.iter().map(|chart| render_text(chart, COLUMNS));
    drawn.collect()
}

/// Returns the charts of a record: the primary metric over the byte axis at the beginning of rows, one for each
/// combination of the other axes. Empty for a suite without such an axis, or with fewer than two sizes.
#[must_use]
pub fn charts(record: &Record) -> Vec<Chart> {
    let Some(bench) = &record.header.plan.bench else {
        return Vec::new();
    };
    let Some(suite) = bench.suite() else {
        return Vec::new();
    };
    let chart = |group: Group<'_>| Chart {
        title: title(bench, &group.others),
        across: suite.axes[group.axis].name.to_owned(),
        unit: of_cell(suite.primary()).map_or(Unit::Seconds, |metric| metric.unit.clone()),
        lines: lines(record, suite, &group),
    };
    let charts = groups(bench).into_iter().map(chart);
    charts.filter(|chart| chart.longest() >= 2).collect()
}

/// Returns true if the cells of a bench can be plotted.
#[must_use]
pub fn is_drawn(bench: &Bench) -> bool {
    groups(bench).iter().any(|group| group.cells.len() >= 2)
}

/// Cells that differ only in their bytes.
struct Group<'a> {
    axis: usize,
    others: Vec<String>,
    cells: Vec<&'a BenchCell>,
}

fn groups(bench: &Bench) -> Vec<Group<'_>> {
    let Some(axis) = bench.suite().and_then(bytes_axis) else {
        return Vec::new();
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in &bench.cells {
        let others = words_but(cell, axis);
        match groups.iter_mut().find(|group| group.others == others) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                axis,
                others,
                cells: vec![cell],
            }),
        }
    }
    groups
}

fn bytes_axis(suite: &Suite) -> Option<usize> {
    let drawn = |axis: &hugewise_experiment::run::cells::suite::CellAxis| {
        axis.words == Words::Bytes && axis.place == Place::Row
    };
    suite.axes.iter().position(drawn)
}

fn words_but(cell: &BenchCell, axis: usize) -> Vec<String> {
    let words = cell.parts().enumerate();
    let others = words.filter(|(index, _)| *index != axis);
    others.map(|(_, word)| word.to_owned()).collect()
}

fn title(bench: &Bench, others: &[String]) -> String {
    let words = [bench.suite.clone()]
        .into_iter()
        .chain(others.iter().map(|word| plain(word)));
    words.collect::<Vec<_>>().join(" ")
}

fn lines(record: &Record, suite: &Suite, group: &Group<'_>) -> Vec<PlotLine> {
    let policies = record.header.plan.policies.iter();
    let lines = policies.map(|policy| {
        let point = |cell: &&BenchCell| {
            let bytes = cell.number(group.axis).filter(|&bytes| bytes > 0)?;
            point(record, &policy.name, &cell.reading(suite.primary()), bytes)
        };
        let mut points: Vec<PlotPoint> = group.cells.iter().filter_map(point).collect();
        points.sort_by_key(|point| point.bytes);
        PlotLine {
            name: plain(&policy.name),
            points,
        }
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

fn point(record: &Record, policy: &str, metric: &str, bytes: u64) -> Option<PlotPoint> {
    let good = arm_trials(record, policy).filter(|trial| trial.succeeded());
    let values: Vec<f64> = good
        .filter_map(|trial| match trial.readings.get(metric) {
            Some(Reading::Value { value }) => Some(*value),
            _ => None,
        })
        .collect();
    let value = median(&values).filter(|value| *value > 0.0)?;
    Some(PlotPoint {
        bytes,
        value,
        interval: median_interval(&values, ALPHA).filter(|(low, _)| *low > 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::run::record;

    #[test]
    fn a_record_has_a_drawing_for_each_group_of_sizes() {
        let text = include_bytes!("../../../../fixtures/benches/memory.jsonl");
        let record = record::parse(text).unwrap();
        let charts = charts(&record);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "memory copy libc written 1",
                "memory copy libc untouched 1",
                "memory read sse2 written 1",
                "memory read sse2 untouched 1",
            ]
        );
        for chart in &charts {
            assert_eq!((chart.lines.len(), chart.longest()), (2, 2), "{chart:?}");
            assert!(chart.points().all(|point| point.interval.is_some()));
        }
    }
}
