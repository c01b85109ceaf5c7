//! The report on programs: the first screen has them side by side, the details have the report of
//! each by itself.

use serde_json::{Value, json};

use super::Report;
use super::document::{Table, conclusion, evidence, grids, one_line, remarks, tables};
use super::json::{findings, summaries, value};
use super::notes::{self, Notes};
use super::screen::Room;
use crate::run::compare::{self, Options};
use crate::run::findings::judge;
use crate::run::plan::Program;
use crate::run::record::Record;
use crate::text::document::{Block, Document, Level, Paragraph, Section};
use crate::text::grid::{Cell, Grid};
use crate::text::wrap::{plain, short_command};

/// Longer command lines are cut.
const COMMAND_WIDTH: usize = 68;

/// One program of a record, as a record of its own.
pub(super) struct Part<'a> {
    program: &'a Program,
    record: Record,
    table: compare::Table,
}

/// The programs of a report that can be reported by themselves.
pub(super) fn parts<'a>(report: &'a Report<'_>) -> Vec<Part<'a>> {
    let plan = &report.record.header.plan;
    let verdict = &report.table.verdict;
    let options = Options {
        baseline: Some(plan.policy_of(&verdict.baseline).to_owned()),
        verdict_metric: Some(verdict.metric.clone()),
        threshold: Some(verdict.threshold),
        judge_by: Some(verdict.judge_by),
    };
    let programs = plan.programs.iter().filter_map(|program| {
        let record = report.record.of_program(program);
        let table = compare::table(&record, &options).ok()?;
        Some(Part {
            program,
            record,
            table,
        })
    });
    programs.collect()
}

impl Part<'_> {
    fn report(&self) -> Report<'_> {
        let findings = judge(&self.record, &self.table);
        let report = Report::new(&self.record, self.table.clone(), findings, None);
        Report {
            is_part: true,
            ..report
        }
    }

    /// `new: ./new --size 3`.
    fn heading(&self) -> String {
        let command = short_command(&self.program.command, COMMAND_WIDTH);
        format!("{}: {command}", plain(&self.program.name))
    }
}

pub(super) fn document(report: &Report<'_>, width: usize) -> Document {
    let parts = parts(report);
    let reports: Vec<Report<'_>> = parts.iter().map(Part::report).collect();
    let mut lead = conclusion(report);
    leave_out_policies(report, &mut lead);
    lead.blocks.extend(best(&parts));
    let mut document = Document::new([lead]);
    document
        .sections
        .extend(side_by_side(&parts, &reports, width));
    document.push(remarks(report, Room::FULL));
    for (part, report) in parts.iter().zip(&reports) {
        document.sections.extend(details(part, report, width));
    }
    document
}

/// Where there are many policies, the first screen has the programs under the policy of the baseline
/// and what they gain from the others; under these they are a detail.
fn leave_out_policies(report: &Report<'_>, lead: &mut Section) {
    let plan = &report.record.header.plan;
    let interactions = report.table.interactions.len();
    let told = plan.programs.len().saturating_sub(1) + interactions;
    let answers = report.answers().len();
    if plan.own_policies().len() > 2 {
        for (level, _) in lead.blocks.iter_mut().take(answers).skip(told) {
            *level = Level::Detail;
        }
    }
}

/// The best policy of each program.
fn best(parts: &[Part<'_>]) -> Option<(Level, Block)> {
    let word = |part: &Part<'_>| {
        let best = part.table.verdict.best.as_deref();
        let best = best.map_or_else(|| "not decided".to_owned(), plain);
        format!("{best} for {}", plain(&part.program.name))
    };
    let compared = parts
        .iter()
        .filter(|it| !it.table.verdict.policies.is_empty());
    let words: Vec<String> = compared.map(word).collect();
    let text = format!("Best policy: {}.", words.join(", "));
    (!words.is_empty()).then(|| (Level::First, Paragraph::new(text).hang(4).into()))
}

/// The tables of the first screen: one where the columns of all programs are the same.
fn side_by_side(parts: &[Part<'_>], reports: &[Report<'_>], width: usize) -> Vec<Section> {
    let notes = Notes::default();
    let each = reports
        .iter()
        .map(|it| tables(it, width, Level::First, &notes));
    let each: Vec<Vec<Table>> = each.collect();
    let all: Vec<Grid> = each.iter().flat_map(|tables| grids(tables)).collect();
    let signs = reports
        .first()
        .map(|first| one_line(&notes::signs(first, &all)));
    let mut legend: Vec<String> = parts.iter().map(Part::heading).collect();
    let mut sections = match joined(parts, &each) {
        Some(grid) => vec![Section::default().with(Block::Table(grid))],
        None => apart(&std::mem::take(&mut legend), each),
    };
    if let Some(last) = sections.last_mut() {
        last.push(Block::Notes(signs.unwrap_or_default()));
        last.push(Block::Notes(legend));
        last.push(Block::Notes(notes.lines()));
    }
    sections
}

/// One table, in which the rows of a program stand below its name.
fn joined(parts: &[Part<'_>], each: &[Vec<Table>]) -> Option<Grid> {
    let grids = each.iter().map(|tables| match tables.as_slice() {
        [table] => Some(table.grid()),
        _ => None,
    });
    let grids: Vec<&Grid> = grids.collect::<Option<_>>()?;
    let heading = grids.first()?.rows.first()?;
    if !grids.iter().all(|grid| grid.rows.first() == Some(heading)) {
        return None;
    }
    let mut rows = vec![heading.clone()];
    for (part, grid) in parts.iter().zip(&grids) {
        rows.push(vec![Cell::plain(plain(&part.program.name))]);
        rows.extend(grid.rows.iter().skip(1).cloned());
    }
    Some(Grid {
        rows,
        ..Grid::default()
    })
}

/// The tables of each program below its command.
fn apart(headings: &[String], each: Vec<Vec<Table>>) -> Vec<Section> {
    let mut sections = Vec::new();
    for (heading, tables) in headings.iter().zip(each) {
        let mut heading = Some(heading.clone());
        for table in tables {
            let section = table.section(Level::First);
            sections.push(Section {
                heading: heading.take().or(section.heading),
                ..section
            });
        }
    }
    sections
}

/// All that is known of one program, as details.
fn details(part: &Part<'_>, report: &Report<'_>, width: usize) -> Vec<Section> {
    let notes = Notes::default();
    let mut sections = vec![Section {
        heading: Some(part.heading()),
        ..conclusion(report)
    }];
    let all = tables(report, width, Level::Detail, &notes);
    let signs = notes::signs(report, &grids(&all));
    sections.extend(all.into_iter().map(|table| table.section(Level::Detail)));
    let footnotes = [one_line(&signs), notes.lines()].concat();
    sections.push(Section::default().with(Block::Notes(footnotes)));
    sections.push(evidence(report));
    for section in &mut sections {
        section.blocks.retain(|(level, _)| *level != Level::Brief);
        for (level, _) in &mut section.blocks {
            *level = Level::Detail;
        }
    }
    sections
}

/// What programs are told of each: the policies of this program against each other.
pub(super) fn json(report: &Report<'_>) -> Vec<Value> {
    let object = |part: &Part<'_>| {
        let report = part.report();
        json!({
            "name": part.program.name,
            "command": part.program.command,
            "baseline": part.table.verdict.baseline,
            "comparisons": value(&part.table.comparisons),
            "control": value(&part.table.control),
            "verdict": value(&part.table.verdict),
            "conclusion": value(&report.conclusion()),
            "findings": findings(&report),
            "answers": report.answers(),
            "summaries": summaries(&part.record),
        })
    };
    parts(report).iter().map(object).collect()
}
