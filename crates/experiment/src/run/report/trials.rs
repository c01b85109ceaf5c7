//! Every trial of one metric: its distribution per policy, and its course over the rounds. A median hides modes,
//! outliers and drift; this shows them.

use super::arms::{Arm, arms};
use crate::run::compare::labels::metric_of;
use crate::run::record::Record;
use crate::run::stats::{Sample, median, quantile};
use crate::text::document::{Block, Document, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::number::Scaler;
use crate::text::wrap::{display_width, plain};

/// Eighths of a line, from the least to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A trial that failed.
const FAILED: char = '×';
/// More columns show nothing more for the number of trials in an experiment.
const MOST_COLUMNS: usize = 64;

/// The trials of `metric` under each policy of the record, drawn in so many text columns.
#[must_use]
pub fn trials(record: &Record, metric: &str, width: usize) -> Document {
    let arms = arms(record, metric);
    let metric = metric_of(record, metric);
    let values: Vec<f64> = arms.iter().flat_map(Arm::values).collect();
    let label = plain(&metric.label);
    let Some(range) = Range::of(&values) else {
        let none = format!("No trial has a value of {label}.");
        return Document::new([Section::default().with(none)]);
    };
    let scaler = Scaler::for_row(&metric.unit, &values);
    let all = Section::titled(format!("{label} per trial"));
    let mut document = Document::new([all.with(numbers(&arms, &scaler, width))]);
    if range.least == range.most {
        document.push(Section::default().with("All values are equal."));
        return document;
    }
    let names = arms.iter().map(|arm| display_width(&arm.name));
    let columns = width.saturating_sub(names.max().unwrap_or(0) + 2);
    let columns = columns.clamp(8, MOST_COLUMNS);
    let ends = [range.least, range.most].map(|end| scaler.show(end));
    let spread = format!(
        "Distribution from {} (left) to {} (right)",
        ends[0], ends[1]
    );
    document.push(Section::titled(spread).with(Block::Lines(places(&arms, range, columns))));
    let mut course = Section::titled("Round by round, a higher bar is a larger value");
    course.push(Block::Lines(rounds(&arms, range, columns)));
    if arms.iter().any(|arm| arm.failed() > 0) {
        course.push(Block::Notes(vec![format!("{FAILED} failed trial")]));
    }
    document.push(course);
    document
}

/// The smallest and the largest value.
#[derive(Clone, Copy)]
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            least: values.iter().copied().min_by(f64::total_cmp)?,
            most: values.iter().copied().max_by(f64::total_cmp)?,
        })
    }

    /// The index of the part, among `count` equal ones, that contains a value.
    fn part(self, value: f64, count: usize) -> usize {
        let share = (value - self.least) / (self.most - self.least);
        ((share * count as f64) as usize).min(count - 1)
    }
}

/// The heading of a column and its text per arm; `None` if an arm has no values.
type Column = (&'static str, Vec<Option<String>>);

/// Five numbers for the distribution of the values, the number of trials, and the number of doubtful ones. If that is
/// too wide, three.
pub(super) fn numbers(arms: &[Arm<'_>], scaler: &Scaler, width: usize) -> Grid {
    let mut columns = spread(arms, scaler);
    columns.extend(counts(arms));
    let grid = grid(arms, &columns);
    if grid.width() <= width {
        return grid;
    }
    columns.retain(|(head, _)| !head.ends_with('%'));
    self::grid(arms, &columns)
}

fn spread(arms: &[Arm<'_>], scaler: &Scaler) -> Vec<Column> {
    type Number = fn(&[f64]) -> Option<f64>;
    let columns: [(&str, Number); 5] = [
        ("min", |all| Some(Range::of(all)?.least)),
        ("25 %", |all| quantile(&[Sample::Plain(all)], 0.25)),
        ("median", median),
        ("75 %", |all| quantile(&[Sample::Plain(all)], 0.75)),
        ("max", |all| Some(Range::of(all)?.most)),
    ];
    let values: Vec<Vec<f64>> = arms.iter().map(|arm| arm.values().collect()).collect();
    let show = |number: Number| {
        let shown = values.iter().map(|all| Some(scaler.show(number(all)?)));
        shown.collect()
    };
    columns.map(|(head, number)| (head, show(number))).into()
}

/// Number of trials, and of those that failed or have a mark, if there are any.
fn counts(arms: &[Arm<'_>]) -> Vec<Column> {
    type Count = fn(&Arm<'_>) -> usize;
    let columns: [(&str, Count); 3] = [
        ("trials", |arm| arm.trials.len()),
        ("failed", |arm| arm.failed()),
        ("marked", |arm| arm.marked()),
    ];
    let some = columns
        .into_iter()
        .filter(|(_, count)| arms.iter().any(|arm| count(arm) > 0));
    let text = |count: Count| arms.iter().map(move |arm| Some(count(arm).to_string()));
    some.map(|(head, count)| (head, text(count).collect()))
        .collect()
}

fn grid(arms: &[Arm<'_>], columns: &[Column]) -> Grid {
    let heads = columns.iter().map(|(head, _)| Cell::plain(*head));
    let mut rows = vec![std::iter::once(Cell::plain("")).chain(heads).collect()];
    rows.extend(arms.iter().enumerate().map(|(index, arm)| {
        let texts = columns.iter().map(|(_, texts)| texts[index].as_deref());
        let cells = texts.map(|text| Cell::plain(text.unwrap_or("–")));
        std::iter::once(Cell::plain(&arm.name))
            .chain(cells)
            .collect()
    }));
    Grid {
        rows,
        ..Grid::default()
    }
}

/// Number of trials in each part of the range; the fullest part over all arms has the highest bar.
fn places(arms: &[Arm<'_>], range: Range, columns: usize) -> Vec<String> {
    let counted = arms.iter().map(|arm| {
        let mut counts = vec![0_usize; columns];
        for value in arm.values() {
            counts[range.part(value, columns)] += 1;
        }
        counts
    });
    let counted: Vec<Vec<usize>> = counted.collect();
    let fullest = counted.iter().flatten().max().copied().unwrap_or(1);
    let bar = |&count: &usize| match count {
        0 => ' ',
        count => BARS[(count * BARS.len()).div_ceil(fullest) - 1],
    };
    strips(arms, counted.iter().map(|it| it.iter().map(bar).collect()))
}

/// One column for each round, or for as many rounds as needed to fit: their median, or a mark if a trial failed.
fn rounds(arms: &[Arm<'_>], range: Range, columns: usize) -> Vec<String> {
    let all = arms.iter().flat_map(|arm| &arm.trials);
    let last = all.map(|(trial, _)| trial.round as usize).max();
    let count = last.map_or(1, |last| last + 1);
    let each = count.div_ceil(columns);
    let sign = |arm: &Arm<'_>, column: usize| {
        let there = arm.trials.iter();
        let there = there.filter(|(trial, _)| trial.round as usize / each == column);
        if there.clone().any(|(trial, _)| !trial.succeeded()) {
            return FAILED;
        }
        let values: Vec<f64> = there.filter_map(|(_, value)| *value).collect();
        median(&values).map_or(' ', |value| BARS[range.part(value, BARS.len())])
    };
    let used = count.div_ceil(each);
    let strip = |arm: &Arm<'_>| (0..used).map(|column| sign(arm, column)).collect();
    strips(arms, arms.iter().map(strip))
}

fn strips(arms: &[Arm<'_>], strips: impl Iterator<Item = String>) -> Vec<String> {
    let row = |(arm, strip): (&Arm<'_>, String)| vec![Cell::plain(&arm.name), Cell::plain(strip)];
    let grid = Grid {
        rows: arms.iter().zip(strips).map(row).collect(),
        ..Grid::default()
    };
    let grid = grid.aligned(&[Align::Left, Align::Left]);
    grid.lines(usize::MAX, |text, _| text.to_owned())
}
