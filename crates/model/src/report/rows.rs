//! The table of a report: metrics down, policies across.

use std::collections::BTreeSet;

use super::lines::{plain, shortened};
use super::notes::Notes;
use super::scale::{Scaler, percent_change, three_digits};
use super::table::{Cell, GAP, Grid};
use super::{Report, Tone, Verbosity};
use crate::compare::{Change, Comparison, Statistic};
use crate::findings::medians::Medians;
use crate::metric::{self, Better, METRICS, Metric, Scope, Shown, Unit};
use crate::observation::{Missing, Reading};
use crate::record::Record;

/// The longest label and the longest name of a policy that stand in the table in full: with
/// one interval, these make 80 columns.
const LABEL_WIDTH: usize = 22;
const NAME_WIDTH: usize = 15;

/// One metric under every policy.
pub(super) struct Row<'a> {
    metric: Metric,
    label: String,
    /// One for each column.
    values: Vec<Result<f64, Missing>>,
    /// One for each column but the baseline.
    comparisons: Vec<Option<&'a Comparison>>,
}

/// How much is said of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Change,
    Interval,
    Test,
}

/// Names of the columns: the baseline, then what is compared with it.
pub(super) fn columns<'a>(report: &'a Report<'_>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    if report.other.is_none() {
        let plan = &report.record.header.plan;
        names.push(&plan.baseline);
        names.extend(plan.policies.iter().map(|policy| policy.name.as_str()));
    } else {
        names.extend(
            report
                .table
                .comparisons
                .first()
                .map(|c| c.baseline.as_str()),
        );
        names.extend(report.table.comparisons.iter().map(|c| c.policy.as_str()));
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// The metric of a name: of the table, of its families, or printed by the workload.
pub(super) fn metric_of(record: &Record, name: &str) -> Metric {
    if let Some(known) = metric::find(name) {
        return known;
    }
    let printed = record
        .header
        .plan
        .printed
        .iter()
        .find(|printed| printed.name == name);
    Metric {
        name: name.to_owned().into(),
        label: name.to_owned().into(),
        unit: Unit::Other(printed.map_or_else(String::new, |printed| plain(&printed.unit))),
        better: printed.map_or(Better::Neither, |printed| printed.better),
        scope: Scope::Tree,
        shown: Shown::Always,
        doc: "Printed by the workload.".into(),
    }
}

/// The rows of a report, the metric of the verdict first.
pub(super) fn rows<'a>(report: &'a Report<'_>, verbose: Verbosity) -> Vec<Row<'a>> {
    let medians = Medians::of(report.record);
    let columns = columns(report);
    let mut rows: Vec<Row<'a>> = Vec::new();
    for name in metric_names(report) {
        let metric = metric_of(report.record, &name);
        for statistic in statistics(report, &name) {
            let row = row(report, &medians, &columns, metric.clone(), statistic);
            if row.is_shown(statistic, verbose) {
                rows.push(row);
            }
        }
    }
    rows
}

fn metric_names(report: &Report<'_>) -> Vec<String> {
    let read = report
        .record
        .trials
        .iter()
        .flat_map(|trial| trial.readings.keys());
    let compared = report
        .table
        .comparisons
        .iter()
        .map(|comparison| &comparison.metric);
    let present: BTreeSet<&str> = read.chain(compared).map(String::as_str).collect();
    let verdict = report.table.verdict.metric.as_str();
    let printed = report
        .record
        .header
        .plan
        .printed
        .iter()
        .map(|printed| printed.name.as_str());
    let listed = METRICS.iter().map(|metric| metric.name.as_ref());
    let mut names: Vec<&str> = std::iter::once(verdict)
        .chain(printed)
        .chain(listed)
        .chain(present.iter().copied())
        .collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| present.contains(name) && seen.insert(*name));
    names.into_iter().map(str::to_owned).collect()
}

fn statistics(report: &Report<'_>, metric: &str) -> Vec<Statistic> {
    let mut statistics: Vec<Statistic> = report
        .table
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == metric)
        .map(|comparison| comparison.statistic)
        .chain([Statistic::Center])
        .collect();
    statistics.sort_unstable();
    statistics.dedup();
    statistics
}

fn row<'a>(
    report: &'a Report<'_>,
    medians: &Medians<'_>,
    columns: &[&str],
    metric: Metric,
    statistic: Statistic,
) -> Row<'a> {
    let find = |policy: &str| {
        report.table.comparisons.iter().find(|comparison| {
            comparison.metric == metric.name
                && comparison.statistic == statistic
                && comparison.policy == policy
        })
    };
    let comparisons: Vec<_> = columns.iter().skip(1).map(|policy| find(policy)).collect();
    let own = |policy: &str| match (statistic, report.other) {
        (Statistic::Center, None) => medians.get(policy, &metric.name),
        _ => Err(Missing::NotAsked),
    };
    let values = columns.iter().enumerate().map(|(index, policy)| {
        let compared = match index {
            0 => comparisons.iter().flatten().find_map(|c| c.baseline_value),
            _ => comparisons[index - 1].and_then(|c| c.policy_value),
        };
        own(policy).or_else(|missing| compared.ok_or(missing))
    });
    Row {
        values: values.collect(),
        label: label(&metric, statistic),
        comparisons,
        metric,
    }
}

/// The label of a metric, with the property of its sample where that is not the middle.
pub(super) fn label(metric: &Metric, statistic: Statistic) -> String {
    let label = plain(&metric.label);
    match statistic {
        Statistic::Center => label,
        Statistic::P95 => format!("{label}, p95"),
        Statistic::P99 => format!("{label}, p99"),
        Statistic::P999 => format!("{label}, p99.9"),
        Statistic::Max => format!("{label}, max"),
    }
}

impl Row<'_> {
    fn is_shown(&self, statistic: Statistic, verbose: Verbosity) -> bool {
        let asked = |value: &Result<f64, Missing>| *value != Err(Missing::NotAsked);
        if !self.values.iter().any(asked) {
            return false;
        }
        if verbose == Verbosity::Verbose {
            return true;
        }
        match self.metric.shown {
            Shown::Always => statistic == Statistic::Center || self.is_decided(),
            Shown::WhenNonZero => self
                .values
                .iter()
                .any(|v| v.as_ref().is_ok_and(|v| *v != 0.0)),
            Shown::OnRequest => false,
        }
    }

    fn is_decided(&self) -> bool {
        let decided = |c: &&Comparison| matches!(c.change, Change::Higher | Change::Lower);
        self.comparisons.iter().flatten().any(decided)
    }

    fn scaler(&self) -> Scaler {
        let values: Vec<f64> = self
            .values
            .iter()
            .filter_map(|v| v.as_ref().ok().copied())
            .collect();
        Scaler::for_row(&self.metric.unit, &values)
    }

    /// The reason that all columns share, where nothing was measured.
    fn absent(&self) -> Option<&Missing> {
        let first = self.values.first()?.as_ref().err()?;
        self.values
            .iter()
            .all(|v| v.as_ref().err() == Some(first))
            .then_some(first)
    }

    fn cells(&self, arms: &std::ops::Range<usize>, detail: Detail, notes: &mut Notes) -> Vec<Cell> {
        let label = Cell::plain(shortened(&self.label, LABEL_WIDTH));
        if let Some(missing) = self.absent() {
            let note = format!("not measured {}", notes.mark(missing));
            return vec![label, Cell::plain(note)];
        }
        let scaler = self.scaler();
        let mut value = |index: usize| match &self.values[index] {
            Ok(value) => Cell::plain(scaler.show(*value)),
            Err(missing) => Cell::plain(format!("– {}", notes.mark(missing))),
        };
        let mut cells = vec![label, value(0)];
        for index in arms.clone() {
            cells.push(value(index));
            let comparison = self.comparisons.get(index - 1).copied().flatten();
            cells.extend(self.change_cells(comparison, &scaler, detail));
        }
        cells
    }

    fn change_cells(
        &self,
        comparison: Option<&Comparison>,
        scaler: &Scaler,
        detail: Detail,
    ) -> Vec<Cell> {
        let change = comparison.map_or_else(Cell::default, |comparison| Cell {
            text: change_text(comparison, scaler, detail),
            tone: tone(self.metric.better, comparison.change),
        });
        if detail != Detail::Test {
            return vec![change];
        }
        let p = comparison.and_then(|comparison| comparison.p);
        vec![change, Cell::plain(p.map_or_else(String::new, p_text))]
    }
}

/// A p-value: three digits are more than a sample of this size knows.
fn p_text(p: f64) -> String {
    if p < 0.001 {
        "p<0.001".to_owned()
    } else {
        format!("p={p:.3}")
    }
}

fn tone(better: Better, change: Change) -> Tone {
    match (better, change) {
        (Better::Lower, Change::Lower) | (Better::Higher, Change::Higher) => Tone::Good,
        (Better::Lower, Change::Higher) | (Better::Higher, Change::Lower) => Tone::Bad,
        _ => Tone::Plain,
    }
}

fn change_text(comparison: &Comparison, scaler: &Scaler, detail: Detail) -> String {
    let effect = match comparison.change {
        Change::CannotTell => "~".to_owned(),
        Change::NoDifference => "=".to_owned(),
        Change::Higher | Change::Lower => effect_text(comparison, scaler),
    };
    match interval_text(comparison, scaler) {
        Some(interval) if detail != Detail::Change => format!("{effect} {interval}"),
        _ => effect,
    }
}

/// The size of an effect. Ten times is easier to read than 900 %.
pub(super) fn effect_text(comparison: &Comparison, scaler: &Scaler) -> String {
    match (comparison.ratio, comparison.difference) {
        (Some(ratio), _) if ratio >= 10.0 => format!("×{}", three_digits(ratio)),
        (Some(ratio), _) => format!("{} %", percent_change(ratio - 1.0)),
        (None, Some(difference)) => scaler.show_change(difference),
        (None, None) => "~".to_owned(),
    }
}

fn interval_text(comparison: &Comparison, scaler: &Scaler) -> Option<String> {
    let (low, high) = (comparison.low?, comparison.high?);
    if low >= high {
        return None;
    }
    let end = |end: f64| match comparison.ratio {
        Some(ratio) if ratio >= 10.0 => three_digits(end),
        Some(_) => percent_change(end - 1.0),
        None => scaler.show_change(end),
    };
    Some(format!("[{}, {}]", end(low), end(high)))
}

/// The table as blocks that fit the width: as many policies side by side as there is room for.
pub(super) fn blocks(
    report: &Report<'_>,
    width: usize,
    verbose: Verbosity,
    notes: &mut Notes,
) -> Vec<Grid> {
    let rows = rows(report, verbose);
    let names = short_names(&columns(report));
    let mut blocks = Vec::new();
    let mut start = 1;
    while start < names.len() {
        let wanted = detail(names.len(), verbose);
        let mut block = None;
        for end in start + 1..=names.len() {
            let draw = |notes: &mut Notes, detail| grid(&rows, &names, start..end, detail, notes);
            let fits = |grid: &Grid| total(grid) <= width;
            let drawn = wanted.iter().map(|&d| draw(notes, d)).find(fits);
            match drawn {
                Some(grid) => block = Some((grid, end)),
                None if block.is_none() => block = Some((draw(notes, Detail::Change), end)),
                None => break,
            }
        }
        let Some((grid, end)) = block else { break };
        blocks.push(grid);
        start = end;
    }
    blocks
}

/// What to try to say of a change, most first. Beside other policies the intervals have no
/// room; the sentences above the table give those of the verdict.
fn detail(columns: usize, verbose: Verbosity) -> &'static [Detail] {
    match (columns, verbose) {
        (_, Verbosity::Verbose) => &[Detail::Test, Detail::Interval],
        (2, _) => &[Detail::Interval, Detail::Change],
        _ => &[Detail::Change],
    }
}

fn total(grid: &Grid) -> usize {
    let widths = grid.widths();
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

fn grid(
    rows: &[Row<'_>],
    names: &[String],
    arms: std::ops::Range<usize>,
    detail: Detail,
    notes: &mut Notes,
) -> Grid {
    let mut heading = vec![Cell::default(), Cell::plain(&names[0])];
    for name in &names[arms.clone()] {
        heading.extend([Cell::plain(name), Cell::plain("change")]);
        heading.extend((detail == Detail::Test).then(Cell::default));
    }
    let mut grid = Grid {
        rows: vec![heading],
    };
    grid.rows
        .extend(rows.iter().map(|row| row.cells(&arms, detail, notes)));
    grid
}

/// One policy alone: the middle, the smallest and the largest reading.
pub(super) fn single(report: &Report<'_>, verbose: Verbosity, notes: &mut Notes) -> Grid {
    let policy = &report.record.header.plan.baseline;
    let heading = ["", "median", "smallest", "largest"];
    let mut grid = Grid {
        rows: vec![heading.iter().map(|text| Cell::plain(*text)).collect()],
    };
    for row in rows(report, verbose) {
        let readings = readings(report.record, policy, &row.metric.name);
        let mut cells = row.cells(&(1..1), Detail::Change, notes);
        if row.absent().is_none() && !readings.is_empty() {
            let scaler = row.scaler();
            let low = readings.iter().copied().fold(f64::INFINITY, f64::min);
            let high = readings.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            cells.extend([low, high].map(|value| Cell::plain(scaler.show(value))));
        }
        grid.rows.push(cells);
    }
    grid
}

fn readings(record: &Record, policy: &str, metric: &str) -> Vec<f64> {
    crate::findings::medians::arm_trials(record, policy)
        .filter(|trial| trial.succeeded())
        .filter_map(|trial| trial.readings.get(metric))
        .flat_map(|reading| match reading {
            Reading::Value { value } => vec![*value],
            Reading::Values { values } => values.clone(),
            Reading::Missing { .. } => Vec::new(),
        })
        .collect()
}

/// Names that fit a column; one that was shortened carries its number, by which the legend
/// gives it in full.
pub(super) fn short_names(columns: &[&str]) -> Vec<String> {
    let short = |(index, name): (usize, &&str)| {
        let name = plain(name);
        if name.chars().count() <= NAME_WIDTH {
            return name;
        }
        let number = format!("({})", index + 1);
        format!("{}{number}", shortened(&name, NAME_WIDTH - number.len()))
    };
    columns.iter().enumerate().map(short).collect()
}

/// The names that were shortened, in full.
pub(super) fn legend(columns: &[&str]) -> Vec<String> {
    let shorts = short_names(columns);
    let long = columns.iter().zip(shorts).enumerate();
    long.filter(|(_, (name, short))| plain(name) != *short)
        .map(|(index, (name, _))| format!("({}) {}", index + 1, plain(name)))
        .collect()
}
