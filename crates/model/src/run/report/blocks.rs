//! How a table is laid out: what each cell says, and how many columns stand side by side.

use super::Report;
use super::change::{Detail, change_text, is_apart, p_text, tone};
use super::conclusion::{HugePages, conclude};
use super::notes::{MACHINE, Notes};
use super::rows::{MetricRow, rows};
use super::section::{Column, Section};
use crate::run::compare::medians::arm_trials;
use crate::run::compare::{Comparison, Statistic, percentile_of_each, summary};
use crate::run::metric::Scope;
use crate::run::stats::quantile::median_interval;
use crate::run::stats::{ALPHA, Quantile, Sample};
use crate::run::trial::Reading;
use crate::text::document::Level;
use crate::text::grid::{Cell, Grid};
use crate::text::number::Scaler;
use crate::text::wrap::plain;
use crate::text::wrap::shortened;

/// The longest label and the longest name of a policy that stand in the table in full. Every
/// label of the metric table does; with one change these make less than 80 columns.
const LABEL_WIDTH: usize = 24;
const NAME_WIDTH: usize = 15;
/// The words of a cell of a bench may be longer than the label of a metric.
const CELL_WIDTH: usize = 40;

impl MetricRow<'_> {
    /// Whether the change of one of these columns is not the one between the medians.
    fn is_apart(&self, arms: &[usize]) -> bool {
        let mut own = arms
            .iter()
            .filter_map(|arm| *self.comparisons.get(arm - 1)?);
        own.any(|comparison| is_apart(comparison, self.threshold))
    }

    fn cells(&self, arms: &[usize], detail: Detail, notes: &Notes) -> Vec<Cell> {
        let label = Cell::plain(self.short_label());
        if let Some(missing) = self.absent() {
            let note = format!("not measured {}", notes.mark(missing));
            return vec![label, Cell::plain(note)];
        }
        let scaler = self.scaler();
        let value = |index: usize| match &self.values[index] {
            Ok(value) => Cell::plain(scaler.show(*value)),
            Err(missing) => Cell::plain(format!("– {}", notes.mark(missing))),
        };
        let mut cells = vec![label, value(0)];
        for &index in arms {
            if detail != Detail::ChangeAlone || self.values[index].is_err() {
                cells.push(value(index));
            }
            if detail == Detail::ChangeAlone && self.values[index].is_err() {
                continue;
            }
            let comparison = self.comparisons.get(index - 1).copied().flatten();
            cells.extend(self.change_cells(comparison, &scaler, detail));
        }
        cells
    }

    /// The label with a mark where other programs are in the number.
    fn short_label(&self) -> String {
        match self.metric.scope {
            Scope::Machine => format!("{} {MACHINE}", shortened(&self.label, LABEL_WIDTH - 2)),
            _ if self.metric.is_of_cell() => shortened(&self.label, CELL_WIDTH),
            _ => shortened(&self.label, LABEL_WIDTH),
        }
    }

    fn change_cells(
        &self,
        comparison: Option<&Comparison>,
        scaler: &Scaler,
        detail: Detail,
    ) -> Vec<Cell> {
        let change = comparison.map_or_else(Cell::default, |comparison| {
            let text = change_text(comparison, scaler, detail);
            Cell::plain(text).tone(tone(self.metric.better, comparison.change))
        });
        if detail != Detail::Test {
            return vec![change];
        }
        let p = comparison.and_then(|comparison| comparison.p);
        vec![change, Cell::plain(p.map_or_else(String::new, p_text))]
    }
}

/// The table of a section as blocks that fit the width. The first screen has one table wherever
/// one fits, with less detail if need be; details have as many columns side by side as there is
/// room for, and the first in each.
pub(super) fn blocks(
    report: &Report<'_>,
    section: &Section<'_>,
    width: usize,
    level: Level,
    notes: &Notes,
) -> Vec<Grid> {
    let tried = match level {
        Level::Detail => None,
        Level::Brief | Level::First => untouched(report, section),
    };
    let section = tried.as_ref().unwrap_or(section);
    let mut rows = rows(report, section, level);
    if level == Level::Detail && report.cells.is_none() {
        rows.retain(|row| !notes.tells(row));
    }
    if section.columns.len() == 1 {
        return vec![single(&rows, &section.columns[0], notes)];
    }
    let arms = match level {
        Level::Brief | Level::First => acting(report, section),
        Level::Detail => (1..section.columns.len()).collect(),
    };
    // The values of two records and of cells are what is asked for.
    let is_of_rounds = report.cells.is_none() && report.other.is_none();
    let layout = Layout {
        names: short_names(section),
        full_names: section.columns.iter().map(|it| plain(it.name)).collect(),
        shams: shams(report, section),
        level,
        judged: is_of_rounds.then_some(&report.table.verdict.metric),
        rows,
        width,
        notes,
    };
    match level {
        Level::Brief | Level::First => {
            let is_unchanged = |arm: &usize| {
                !arms.contains(arm) && report.changed_no_page(section.columns[*arm].policy)
            };
            let unchanged = (1..section.columns.len()).filter(is_unchanged);
            let unchanged = unchanged.filter(|arm| !layout.shams.contains(arm));
            let names = unchanged.map(|arm| layout.full_names[arm].clone());
            notes.left_out(names.collect());
            layout.first(&arms, important(report, section, &arms))
        }
        Level::Detail => layout.several(&arms),
    }
}

fn shams(report: &Report<'_>, section: &Section<'_>) -> Vec<usize> {
    let plan = &report.record.header.plan;
    let columns = section.columns.iter().enumerate();
    let shams = columns.filter(|(_, column)| plan.is_sham(column.policy));
    shams.map(|(index, _)| index).collect()
}

/// The column of the baseline alone, where no policy changed a page of the program: the others would be
/// columns of chance.
fn untouched<'a>(report: &Report<'_>, section: &Section<'a>) -> Option<Section<'a>> {
    let conclusion = conclude(report)?;
    let mut others = section.columns.iter().skip(1);
    let is_untouched = match conclusion.huge_pages {
        HugePages::DoNotMatter => conclusion.policy.is_none(),
        HugePages::NotTried => others.all(|column| report.changed_no_page(column.policy)),
        _ => false,
    };
    is_untouched.then(|| Section {
        title: section.title.clone(),
        columns: section.columns[..1].to_vec(),
    })
}

/// The columns of the policies that changed a page; all where none did, and where cells or two
/// records are compared. A column of chance beside a policy that did nothing would be read as its
/// effect.
fn acting(report: &Report<'_>, section: &Section<'_>) -> Vec<usize> {
    let all: Vec<usize> = (1..section.columns.len()).collect();
    if report.other.is_some() || report.cells.is_some() {
        return all;
    }
    let is_acting = |arm: &usize| {
        let policy = section.columns[*arm].policy;
        !report.changed_no_page(policy) && !is_not_in_force(report, policy)
    };
    let mut acting: Vec<usize> = all.iter().copied().filter(is_acting).collect();
    let names: Vec<&str> = acting
        .iter()
        .map(|arm| section.columns[*arm].policy)
        .collect();
    acting.retain(|arm| explains(report, section.columns[*arm].policy, &names));
    match acting.is_empty() {
        true => all,
        false => acting,
    }
}

/// Whether a policy is one of these in its own right, or a sham that tells what the means of one of these do.
fn explains(report: &Report<'_>, policy: &str, acting: &[&str]) -> bool {
    let plan = &report.record.header.plan;
    let mut policies = plan.policies.iter();
    let is_idle = policies.any(|it| it.name == policy && it.is_idle_means());
    let realisations = &report.record.header.realisations;
    let is_reached = |name: &&str| {
        let realisation = realisations.get(*name);
        realisation.is_some_and(|it| it.is_traced() || it.preload.is_some() || it.library.is_some())
    };
    let mut others = acting.iter().filter(|name| !plan.is_sham(name));
    !is_idle || others.any(is_reached)
}

/// Whether a policy has no answer because it was not in force: its column would be one of the baseline.
fn is_not_in_force(report: &Report<'_>, policy: &str) -> bool {
    let mut trials = report.record.trials.iter();
    report.table.verdict.reasons.contains_key(policy)
        && trials.any(|it| it.policy == policy && it.lacked_its_policy())
}

/// These columns, that of the policy that is recommended first, then those that were shown to change something, then
/// that of the answer, which has its estimate in words, and shams last; `None` where the answer is
/// not about one policy, and does not have the estimates of the others.
fn important(report: &Report<'_>, section: &Section<'_>, arms: &[usize]) -> Option<Vec<usize>> {
    let conclusion = conclude(report)?;
    let verdict = &report.table.verdict;
    let plan = &report.record.header.plan;
    let is_of_answer = |name: &str| {
        let mut policies = plan.policies.iter();
        let own = policies.find(|it| conclusion.policy.as_ref() == Some(&it.name));
        let alone = own.and_then(|own| plan.malloc_alone(own));
        conclusion.beside_malloc && alone.is_some_and(|it| it.name == name)
    };
    let rank = |arm: &usize| {
        let policy = section.columns[*arm].policy;
        let is_shown = verdict.policies.get(policy).is_some_and(|it| it.is_shown());
        let is = |name: Option<&str>| name == Some(policy);
        let of_answer = conclusion.policy.as_deref();
        // The machine as it is has nothing to show beside what the answer is about.
        let best = verdict.best.as_deref().filter(|best| *best != "as-is");
        let is_sham = plan.is_sham(policy) && !is_of_answer(policy);
        (!is(best), is_sham, !is_shown, !is(of_answer))
    };
    let mut arms = arms.to_vec();
    arms.sort_by_key(rank);
    Some(arms)
}

/// What the blocks of one section share.
struct Layout<'a, 'n> {
    rows: Vec<MetricRow<'a>>,
    names: Vec<String>,
    full_names: Vec<String>,
    /// The columns of shams.
    shams: Vec<usize>,
    level: Level,
    /// The metric whose change the first screen has alone where the medians beside it give another one.
    judged: Option<&'a str>,
    width: usize,
    notes: &'n Notes,
}

impl Layout<'_, '_> {
    /// One table of these columns where it fits. What did nothing has its clause in the answer.
    /// Where none fits, one of those that fit, the first of `important` before the others.
    fn first(&self, arms: &[usize], important: Option<Vec<usize>>) -> Vec<Grid> {
        match (self.fitting(arms), important) {
            (Some(grid), _) => vec![grid],
            (None, Some(important)) => vec![self.narrow(&important)],
            (None, None) => self.several(arms),
        }
    }

    /// One table of as many of these columns as fit.
    fn narrow(&self, important: &[usize]) -> Grid {
        let mut chosen = Vec::new();
        let grids = (1..=important.len()).rev().find_map(|count| {
            chosen = important[..count].to_vec();
            chosen.sort_unstable();
            self.fitting(&chosen)
        });
        let left_out = important.iter().filter(|arm| !chosen.contains(arm));
        // A sham is a control of others, and no answer.
        let left_out = left_out.filter(|arm| !self.shams.contains(arm));
        let left_out = left_out.map(|&arm| self.full_names[arm].clone());
        self.notes.no_room_for(left_out.collect());
        grids.unwrap_or_else(|| self.grid(&chosen, Detail::Change))
    }

    fn several(&self, mut arms: &[usize]) -> Vec<Grid> {
        let mut blocks = Vec::new();
        while !arms.is_empty() {
            let (grid, count) = self.block(arms);
            blocks.push(grid);
            arms = &arms[count..];
        }
        blocks
    }

    /// The widest block that begins with the first of these columns, and how many it has. One
    /// column always goes in, with less detail if need be.
    fn block(&self, arms: &[usize]) -> (Grid, usize) {
        let mut block = None;
        for count in 1..=arms.len() {
            match self.fitting(&arms[..count]) {
                Some(grid) => block = Some((grid, count)),
                None => break,
            }
        }
        block.unwrap_or_else(|| (self.grid(&arms[..1], Detail::Change), 1))
    }

    fn fitting(&self, arms: &[usize]) -> Option<Grid> {
        let mut grids = self
            .wanted(arms)
            .iter()
            .map(|&detail| (detail, self.grid(arms, detail)));
        let (detail, grid) = grids.find(|(_, grid)| grid.width() <= self.width)?;
        if detail != Detail::ChangeAlone && self.has_apart(arms) {
            self.notes.apart();
        }
        Some(grid)
    }

    /// Whether a change stands beside medians that give another one.
    fn has_apart(&self, arms: &[usize]) -> bool {
        self.rows.iter().any(|row| row.is_apart(arms))
    }

    /// What to try to say of these changes, most first. Everybody takes the change between two medians for the one of the
    /// rounds, and finds an error: where they are not the same, the first screen has the change alone.
    fn wanted(&self, arms: &[usize]) -> &'static [Detail] {
        let is_judged = |row: &&MetricRow<'_>| {
            self.judged == Some(&row.metric.name) && row.statistic == Statistic::Center
        };
        let judged = self.rows.iter().find(is_judged);
        match judged.is_some_and(|row| row.is_apart(arms)) && self.level != Level::Detail {
            true => &[Detail::ChangeAlone],
            false => detail(1 + arms.len(), self.level),
        }
    }

    fn grid(&self, arms: &[usize], detail: Detail) -> Grid {
        let mut heading = vec![Cell::default(), Cell::plain(&self.names[0])];
        for name in arms.iter().map(|&arm| &self.names[arm]) {
            heading.push(Cell::plain(name));
            heading.extend((detail != Detail::ChangeAlone).then(|| Cell::plain("change")));
            heading.extend((detail == Detail::Test).then(Cell::default));
        }
        let mut grid = Grid {
            rows: vec![heading],
            ..Grid::default()
        };
        let rows = self.rows.iter();
        grid.rows
            .extend(rows.map(|row| row.cells(arms, detail, self.notes)));
        grid
    }
}

/// What to try to say of a change, most first.
fn detail(columns: usize, level: Level) -> &'static [Detail] {
    match (columns, level) {
        (_, Level::Detail) => &[Detail::Test, Detail::Interval],
        (2, Level::First) => &[Detail::Interval, Detail::Change, Detail::ChangeAlone],
        _ => &[Detail::Change, Detail::ChangeAlone],
    }
}

/// One policy alone: the middle with its interval, the smallest and the largest reading; of a
/// percentile, that of all requests, and those of the trials.
fn single(rows: &[MetricRow<'_>], column: &Column<'_>, notes: &Notes) -> Grid {
    let middles = rows.iter().all(|row| row.statistic == Statistic::Center);
    let value = if middles { "median" } else { "estimate" };
    let heading = ["", value, "95 % interval", "min", "max"];
    let mut grid = Grid {
        rows: vec![heading.iter().map(|text| Cell::plain(*text)).collect()],
        ..Grid::default()
    };
    for row in rows {
        let readings = readings(column, row);
        let mut cells = row.cells(&[], Detail::Change, notes);
        if row.absent().is_none() && !readings.is_empty() {
            let scaler = row.scaler();
            let low = readings.iter().copied().fold(f64::INFINITY, f64::min);
            let high = readings.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            cells.push(Cell::plain(interval(row, column, &readings, &scaler)));
            cells.extend([low, high].map(|value| Cell::plain(scaler.show(value))));
        }
        grid.rows.push(cells);
    }
    grid
}

/// The interval of a median over trials, which few trials do not have, and percentiles of all
/// requests together neither: theirs is that of a comparison.
fn interval(row: &MetricRow<'_>, column: &Column<'_>, readings: &[f64], scaler: &Scaler) -> String {
    let found = match row.statistic {
        Statistic::Center => summary(column.record, column.policy, &row.metric.name)
            .and_then(|summary| summary.low.zip(summary.high)),
        Statistic::Quantile(Quantile::Max) => median_interval(readings, ALPHA),
        Statistic::Quantile(_) => None,
    };
    match found {
        Some((low, high)) => format!("[{}, {}]", scaler.show(low), scaler.show(high)),
        None => "–".to_owned(),
    }
}

/// What the trials said, one by one.
fn readings(column: &Column<'_>, row: &MetricRow<'_>) -> Vec<f64> {
    let metric = &row.metric.name;
    if let Statistic::Quantile(quantile) = row.statistic {
        return percentile_of_each(column.record, column.policy, metric, quantile);
    }
    arm_trials(column.record, column.policy)
        .filter(|trial| trial.succeeded())
        .filter_map(|trial| trial.readings.get(metric))
        .flat_map(|reading| match reading {
            Reading::Value { value } => vec![*value],
            Reading::Values { values } => values.clone(),
            Reading::Histogram { histogram } => {
                Sample::Counted(histogram).middle().into_iter().collect()
            }
            Reading::Missing { .. } => Vec::new(),
        })
        .collect()
}

/// Names that fit a column; one that was shortened carries its number, by which the legend
/// gives it in full.
fn short_names(section: &Section<'_>) -> Vec<String> {
    let mut number = 0;
    let mut short = |column: &Column<'_>| {
        let name = plain(column.name);
        if name.chars().count() <= NAME_WIDTH {
            return name;
        }
        number += 1;
        let number = format!("({number})");
        format!("{}{number}", shortened(&name, NAME_WIDTH - number.len()))
    };
    section.columns.iter().map(&mut short).collect()
}

/// The names that were shortened in the heading of this table, in full.
pub(super) fn legend(section: &Section<'_>, table: &Grid) -> Vec<String> {
    let is_drawn = |short: &str| {
        let mut headings = table.rows.iter().take(1).flatten();
        headings.any(|cell| cell.text == short)
    };
    let columns = section.columns.iter().zip(short_names(section));
    let shortened = columns.filter(|(column, short)| plain(column.name) != *short);
    let numbered = shortened.enumerate();
    let drawn = numbered.filter(|(_, (_, short))| is_drawn(short));
    drawn
        .map(|(index, (column, _))| format!("({}) {}", index + 1, plain(column.name)))
        .collect()
}
