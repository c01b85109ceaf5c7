//! The other metrics of the first screen, one column for each policy.

use super::judged::{is_compared, policies, tone};
use super::names::Names;
use crate::run::answer::{Against, Answer, Arm, Claim, Row, SubjectKind, When, words};
use crate::text::apart::shortened_apart;
use crate::text::document::{Block, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::number::quantity;
use crate::text::wrap::{display_width, padded};

/// The most policy columns in a table.
const MOST_POLICIES: usize = 4;

/// Factor of additional rows for a bench: its cells are the answer.
const CELLS: usize = 2;

/// Returns the table of at most that many metrics, in that width.
pub(super) fn section(answer: &Answer, names: &Names, most: usize, width: usize) -> Section {
    let mut section = Section::default();
    let all: Vec<&Row> = shown(answer).collect();
    let most = match answer.subject.kind {
        SubjectKind::Bench => most * CELLS,
        _ => most,
    };
    let rows = &kept(&all, most);
    let compared = columns(answer, rows);
    let mut arms = &compared[..compared.len().min(MOST_POLICIES)];
    let mut grid = draw(answer, names, rows, arms);
    while grid.width() > width && arms.len() > 1 {
        arms = &arms[..arms.len() - 1];
        grid = draw(answer, names, rows, arms);
    }
    if all.is_empty() || compared.is_empty() && !policies(answer).is_empty() {
        return section;
    }
    if rows.is_empty() {
        let note = words::left_out(all.len(), "row");
        return section.with(Block::Notes(vec![note]));
    }
    shorten_labels(&mut grid, width);
    let hidden = [all.len() - rows.len(), compared.len() - arms.len()];
    let legend = legend(&grid, hidden);
    section.push(grid);
    if !legend.is_empty() {
        section.push(Block::Notes(vec![legend]));
    }
    section
}

/// Returns the rows of the first screen without the judged one.
fn shown(answer: &Answer) -> impl Iterator<Item = &Row> {
    let is_bench = answer.subject.kind == SubjectKind::Bench;
    let judged = answer
        .claims
        .iter()
        .find(|claim| claim.contrast.metric == answer.judged.metric);
    let judged = judged.map(|claim| (&claim.contrast.metric, claim.contrast.statistic));
    let rows = answer.rows.iter().filter(|row| row.first_screen);
    rows.filter(move |row| is_bench || judged != Some((&row.metric, row.statistic)))
}

/// Returns that many rows in their order; the mandatory ones replace others.
fn kept<'a>(all: &[&'a Row], most: usize) -> Vec<&'a Row> {
    let stay = all.iter().filter(|row| row.stays).count();
    let mut free = most.saturating_sub(stay);
    let mut kept = all.to_vec();
    kept.retain(|row| {
        let stays = row.stays || free > 0;
        free = free.saturating_sub(usize::from(!row.stays));
        stays
    });
    kept.truncate(most);
    kept
}

fn columns(answer: &Answer, rows: &[&Row]) -> Vec<String> {
    let arms: Vec<&Arm> = match answer.subject.kind {
        SubjectKind::Programs => Vec::new(),
        SubjectKind::Records => answer.arms.iter().collect(),
        _ => policies(answer),
    };
    let has_row = |arm: &&Arm| {
        let mut rows = rows.iter();
        rows.any(|row| effect_on(answer, &arm.name, row).is_some())
    };
    let needs_verdict = matches!(
        answer.subject.kind,
        SubjectKind::Program | SubjectKind::Service | SubjectKind::Live
    );
    let is_shown = |arm: &&Arm| !needs_verdict || is_compared(answer, &arm.name);
    let arms = arms.into_iter().filter(|arm| is_shown(arm) && has_row(arm));
    arms.map(|arm| arm.name.clone()).collect()
}

/// Returns true if two records are compared, so that no policy is the baseline.
fn is_pair(answer: &Answer) -> bool {
    answer.subject.kind == SubjectKind::Records
}

/// Returns the claim of a policy on a metric.
pub(in crate::run::answer) fn effect_on<'a>(
    answer: &'a Answer,
    arm: &str,
    row: &Row,
) -> Option<&'a Claim> {
    let opponent = match is_pair(answer) {
        true => Against::OtherRecord,
        false => Against::Baseline,
    };
    answer.claims.iter().find(|claim| {
        let it = &claim.contrast;
        it.arm == arm
            && it.metric == row.metric
            && it.statistic == row.statistic
            && it.against == opponent
            && matches!(
                it.when,
                When::BackToBack | When::PerRecord(_) | When::LivePeriods
            )
    })
}

fn draw(answer: &Answer, names: &Names, rows: &[&Row], arms: &[String]) -> Grid {
    let base = &answer.judged.baseline;
    let has_interval = answer.subject.kind == SubjectKind::Bench && arms.len() == 1;
    let has_base = !is_pair(answer);
    let heads = arms.iter().map(|arm| Cell::plain(names.shorten(arm)));
    let corner = has_base.then(|| Cell::plain(names.shorten(base)));
    let head: Vec<Cell> = std::iter::once(Cell::default())
        .chain(corner)
        .chain(heads)
        .collect();
    let mut grid = Grid {
        rows: vec![head],
        align: Vec::new(),
    };
    if has_interval {
        grid.align = vec![
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Wrapped,
        ];
        grid.rows[0].extend([Cell::default(), Cell::default()]);
    }
    let marks: Vec<usize> = arms
        .iter()
        .map(|arm| marks_width(answer, rows, arm))
        .collect();
    for row in rows {
        let base = has_base.then(|| Cell::plain(typical(answer, row, base)));
        let label = Cell::plain(format!("  {}", row.label));
        let mut cells: Vec<Cell> = std::iter::once(label).chain(base).collect();
        for (arm, marks) in arms.iter().zip(&marks) {
            let claim = effect_on(answer, arm, row);
            match (claim, has_interval) {
                (Some(claim), true) => cells.extend(in_full(answer, claim)),
                (Some(claim), false) => cells.push(cell(answer, claim, *marks)),
                (None, _) => cells.push(Cell::plain(padded_value(answer, row, arm, *marks))),
            }
        }
        grid.rows.push(cells);
    }
    grid
}

/// Shortens labels that are too long for the page.
fn shorten_labels(grid: &mut Grid, width: usize) {
    const INDENT: &str = "  ";
    const NARROWEST: usize = 20;
    let labels = || grid.rows[1..].iter().filter_map(|row| row.first());
    let widest = labels().map(|cell| display_width(&cell.text)).max();
    let (Some(widest), Some(excess @ 1..)) = (widest, grid.width().checked_sub(width)) else {
        return;
    };
    let names: Vec<String> = labels()
        .map(|cell| cell.text.trim_start().to_owned())
        .collect();
    let room = widest.saturating_sub(INDENT.len() + excess).max(NARROWEST);
    let short = shortened_apart(&names, room);
    for (row, label) in grid.rows[1..].iter_mut().zip(short) {
        row[0].text = format!("{INDENT}{label}");
    }
}

/// Returns the effect, its interval and one word of verdict: all cells of a bench ran in equally many rounds.
fn in_full(answer: &Answer, claim: &Claim) -> Vec<Cell> {
    let is_answer = claim.call.why().is_none();
    let figure = |text: Option<String>| text.filter(|_| is_answer).unwrap_or_default();
    vec![
        Cell::plain(figure(words::change(answer, claim))),
        Cell::plain(figure(words::interval(answer, claim))),
        Cell::plain(mark(claim)).tone(tone(claim)),
    ]
}

/// Returns the effect and one word of verdict, padded to align the figures of a column.
fn cell(answer: &Answer, claim: &Claim, marks: usize) -> Cell {
    let mark = mark(claim);
    let change = words::change(answer, claim).filter(|_| claim.call.why().is_none());
    match change {
        Some(change) if marks == 0 => Cell::plain(change).tone(tone(claim)),
        Some(change) => Cell::plain(format!("{change} {}", padded(&mark, marks))).tone(tone(claim)),
        None => Cell::plain(mark),
    }
}

/// Returns the verdict word, with a star if no error budget covers it.
fn mark(claim: &Claim) -> String {
    match words::star(claim) {
        "" => words::mark(&claim.call).to_owned(),
        star => star.to_owned(),
    }
}

fn marks_width(answer: &Answer, rows: &[&Row], arm: &str) -> usize {
    let claims = rows.iter().filter_map(|row| effect_on(answer, arm, row));
    let claims = claims.filter(|claim| claim.effect.is_some());
    claims
        .map(|claim| display_width(&mark(claim)))
        .max()
        .unwrap_or(0)
}

fn padded_value(answer: &Answer, row: &Row, arm: &str, marks: usize) -> String {
    let value = typical(answer, row, arm);
    match marks {
        0 => value,
        marks => format!("{value} {}", padded("", marks)),
    }
}

/// Returns the typical value of a policy, or why there is none.
pub(in crate::run::answer) fn typical(answer: &Answer, row: &Row, arm: &str) -> String {
    let cell = row.cells.iter().find(|cell| cell.arm == arm);
    let unit = answer.metrics.get(&row.metric).map(|facts| &facts.unit);
    match (cell.and_then(|cell| cell.value), unit) {
        (Some(value), Some(unit)) => quantity(unit, value),
        _ => words::NOT_READ.to_owned(),
    }
}

/// Returns the meaning of the signs, and the number of rows and columns left out.
fn legend(grid: &Grid, [rows, policies]: [usize; 2]) -> String {
    let signs = [('—', words::DASH_LEGEND), ('*', words::STAR_LEGEND)];
    let cells = || grid.rows[1..].iter().flatten();
    let signs = signs
        .into_iter()
        .filter(|(sign, _)| cells().any(|cell| cell.text.contains(*sign)));
    let signs = signs.map(|(_, legend)| legend.to_owned());
    let hidden = [(rows, "row"), (policies, "policy column")];
    let hidden = hidden.into_iter().filter(|(count, _)| *count > 0);
    words::joined(signs.chain(hidden.map(|(count, noun)| words::left_out(count, noun))))
}
