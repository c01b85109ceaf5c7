//! The judged metric as rows: the baseline, each policy, and the baseline against itself.

use super::names::Names;
use super::{Judged, Scope, Verdicts};
use crate::run::answer::{
    Against, Answer, Arm, ArmRole, Budget, Call, Claim, ClaimId, HoldsFor, SubjectKind, When, words,
};
use crate::run::compare::Statistic;
use crate::text::Tone;
use crate::text::document::{Block, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::wrap::wrapped;

/// Returns the rows of the judged metric.
pub(super) fn section(answer: &Answer, names: &Names, room: Judged, width: usize) -> Section {
    let mut section = Section::default();
    let rows = rows(answer);
    if rows.is_empty() {
        return section;
    }
    let mut grid = Grid {
        rows: vec![title(answer, &rows, names)],
        align: vec![Align::Left, Align::Right, Align::Left, Align::Wrapped],
    };
    let alone = rows.iter().filter(|row| row.is_alone());
    let alone: Vec<_> = alone
        .map(|row| row.cells(answer, names, room.verdicts))
        .collect();
    if !alone.is_empty() {
        grid.push([format!("  {}", words::PAGES_ALONE)]);
        grid.rows.extend(alone);
    }
    let mut shown: Vec<&str> = Vec::new();
    let mut hidden: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.is_alone()) {
        if !shown.contains(&row.arm) && shown.len() == room.policies {
            hidden.push(row.arm);
        } else {
            shown.push(row.arm);
            shown.dedup();
            grid.rows.push(row.cells(answer, names, room.verdicts));
        }
    }
    grid.rows.extend(control(answer, names, room.verdicts));
    section.push(with_wrapped_notes(grid, width));
    hidden.dedup();
    if !hidden.is_empty() {
        let note = words::left_out(hidden.len(), "policy row");
        section.push(Block::Notes(vec![note]));
    }
    let is_said = |_: &HoldsFor| room.scope == Scope::Below;
    if let Some(it) = answer.judged.holds_for.filter(is_said) {
        section.push(Block::Notes(vec![words::circumstances::intervals(it)]));
    }
    section
}

/// Returns the grid with its notes wrapped to as many lines as they need.
fn with_wrapped_notes(mut grid: Grid, width: usize) -> Grid {
    if grid.columns() == 2 {
        grid.align = vec![Align::Left, Align::Wrapped];
        return grid;
    }
    let name = grid.widths().first().copied().unwrap_or(0);
    let room = width.saturating_sub(name + 2);
    let rows = std::mem::take(&mut grid.rows);
    for row in rows {
        match row.as_slice() {
            [name, note] if width < usize::MAX => {
                let lines = clipped(wrapped(&note.text, room, 0)).into_iter();
                let names = std::iter::once(name.clone()).chain(std::iter::repeat(Cell::default()));
                let rows = names.zip(lines);
                grid.rows
                    .extend(rows.map(|(name, line)| vec![name, Cell::plain(line)]));
            }
            _ => grid.rows.push(row),
        }
    }
    grid
}

/// Returns the first lines of a note: `-v` shows all.
fn clipped(mut lines: Vec<String>) -> Vec<String> {
    let is_long = lines.len() > NOTE_LINES;
    lines.truncate(NOTE_LINES);
    if let Some(last) = lines.last_mut().filter(|_| is_long) {
        last.push('…');
    }
    lines
}

/// The lines of a note in the table, such as the output of a failed program.
const NOTE_LINES: usize = 2;

/// Fewer starts go in the same direction by chance: `-v` lists them, and a doubt reports their number.
const TELLING_STARTS: u32 = 3;

/// One row: a claim, or a policy without one.
struct Row<'a> {
    arm: &'a str,
    claim: Option<&'a Claim>,
    silent: Option<String>,
    indent: usize,
}

impl<'a> Row<'a> {
    fn of(claim: &'a Claim) -> Self {
        Self {
            arm: &claim.contrast.arm,
            claim: Some(claim),
            silent: None,
            indent: 2,
        }
    }

    fn is_alone(&self) -> bool {
        let against = self.claim.map(|claim| &claim.contrast.against);
        matches!(against, Some(Against::SmallPagesSameMalloc(_)))
    }

    fn cells(&self, answer: &Answer, names: &Names, verdicts: Verdicts) -> Vec<Cell> {
        let indent = " ".repeat(self.indent);
        match self.claim {
            Some(claim) => {
                let name = names.shorten(&words::row(&claim.contrast, self.arm));
                let verdict = match verdicts {
                    Verdicts::WithRounds => words::call(answer, claim),
                    Verdicts::Words => words::side(answer, claim),
                };
                let verdict = names.shorten(&verdict);
                cells(answer, claim, format!("{indent}{name}"), verdict)
            }
            None => {
                let why = self.silent.clone().unwrap_or_default();
                let texts = [format!("{indent}{}", names.shorten(self.arm)), why];
                texts.into_iter().map(Cell::plain).collect()
            }
        }
    }
}

/// Returns the cells of a claim: name, effect, interval and verdict.
fn cells(answer: &Answer, claim: &Claim, name: String, verdict: String) -> Vec<Cell> {
    let change = words::change(answer, claim).filter(|_| claim.call.why().is_none());
    match change {
        None => vec![Cell::plain(name), Cell::plain(verdict)],
        Some(change) => vec![
            Cell::plain(name),
            Cell::plain(change),
            Cell::plain(words::interval(answer, claim).unwrap_or_default()),
            Cell::plain(verdict).tone(tone(claim)),
        ],
    }
}

/// Returns the colour of a verdict; a row without an error budget has none.
pub(in crate::run::answer) fn tone(claim: &Claim) -> Tone {
    match (claim.budget, &claim.call) {
        (Budget::Uncorrected, _) => Tone::Plain,
        (_, Call::Better) => Tone::Good,
        (_, Call::Worse | Call::RareSlow(_)) => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// Returns the name of the metric, and the baseline with its typical value.
fn title(answer: &Answer, rows: &[Row<'_>], names: &Names) -> Vec<Cell> {
    let first = rows
        .iter()
        .find(|row| !row.is_alone() && row.claim.is_some());
    let claim = first.and_then(|row| row.claim);
    let contrast = claim.map(|claim| &claim.contrast);
    let metric = match contrast {
        Some(contrast) => label(answer, &contrast.metric, contrast.statistic),
        None => label(answer, &answer.judged.metric, Statistic::Center),
    };
    let typical = claim.and_then(|claim| {
        let contrast = &claim.contrast;
        let read = typical(
            answer,
            &answer.judged.baseline,
            &contrast.metric,
            contrast.statistic,
        );
        Some(words::value(answer, contrast, read.or(claim.from)?))
    });
    let title = words::title(answer, contrast, typical.as_deref());
    let title = names.shorten(&title);
    vec![Cell::plain(metric).tone(Tone::Strong), Cell::plain(title)]
}

/// Returns the name of a metric in a table.
pub(in crate::run::answer) fn label(answer: &Answer, metric: &str, statistic: Statistic) -> String {
    let row = |row: &&crate::run::answer::Row| row.metric == metric && row.statistic == statistic;
    let row = answer.rows.iter().find(row).map(|row| row.label.clone());
    let facts = || answer.metrics.get(metric).map(|facts| facts.label.clone());
    row.or_else(facts).unwrap_or_else(|| metric.to_owned())
}

/// Returns the typical value of a policy.
pub(in crate::run::answer) fn typical(
    answer: &Answer,
    arm: &str,
    metric: &str,
    statistic: Statistic,
) -> Option<f64> {
    let fits = |row: &&crate::run::answer::Row| row.metric == metric && row.statistic == statistic;
    let row = answer.rows.iter().find(fits)?;
    row.cells.iter().find(|cell| cell.arm == arm)?.value
}

/// Returns all rows: the isolated effects of pages first, then the policies of the headline, then the others.
fn rows(answer: &Answer) -> Vec<Row<'_>> {
    match answer.subject.kind {
        SubjectKind::Bench => Vec::new(),
        SubjectKind::Records => claims(answer, |against| *against == Against::OtherRecord),
        SubjectKind::Programs => claims(answer, |against| {
            matches!(against, Against::Program(_) | Against::GainOfProgram(_))
        }),
        SubjectKind::Program | SubjectKind::Service | SubjectKind::Live => {
            let is_alone = |it: &Against| matches!(it, Against::SmallPagesSameMalloc(_));
            let mut rows = claims(answer, is_alone);
            rows.extend(
                policies(answer)
                    .into_iter()
                    .flat_map(|arm| policy(answer, arm)),
            );
            rows
        }
    }
}

/// Returns the rows of the judged property against these opponents.
fn claims(answer: &Answer, fits: impl Fn(&Against) -> bool) -> Vec<Row<'_>> {
    let claims = answer.claims.iter();
    let claims = claims.filter(|it| it.contrast.metric == answer.judged.metric);
    let claims: Vec<&Claim> = claims.filter(|it| fits(&it.contrast.against)).collect();
    let judged = claims.first().map(|claim| claim.contrast.statistic);
    let claims = claims.into_iter();
    let claims = claims.filter(|claim| Some(claim.contrast.statistic) == judged);
    claims.map(Row::of).collect()
}

/// Returns the judged policies: those of the headline, the other compared ones, then the rest.
pub(in crate::run::answer) fn policies(answer: &Answer) -> Vec<&Arm> {
    let headline: Vec<&str> = answer
        .headline
        .iter()
        .map(|id| answer.claim(*id))
        .map(|claim| claim.contrast.arm.as_str())
        .collect();
    let arms = answer.arms.iter().filter(|arm| arm.role == ArmRole::Policy);
    let mut arms: Vec<&Arm> = arms.collect();
    arms.sort_by_key(|arm| {
        let place = headline.iter().position(|name| *name == arm.name);
        (place.unwrap_or(usize::MAX), !is_compared(answer, &arm.name))
    });
    arms
}

/// Returns true if a policy has an effect on the judged metric that counts as a comparison.
pub(in crate::run::answer) fn is_compared(answer: &Answer, arm: &str) -> bool {
    let is_judged = |claim: &Claim| claim.effect.is_some() && claim.call.why().is_none();
    answer.judged_claim(arm).is_some_and(is_judged)
}

/// Returns the row of a policy, and below it its rows for other runs.
fn policy<'a>(answer: &'a Answer, arm: &'a Arm) -> Vec<Row<'a>> {
    let row = |claim, silent, indent| Row {
        arm: &arm.name,
        claim,
        silent,
        indent,
    };
    let fits = |claim: &&Claim| {
        claim.contrast.arm == arm.name
            && claim.contrast.metric == answer.judged.metric
            && claim.contrast.against == Against::Baseline
            && !matches!(claim.contrast.when, When::PerStart(starts) if starts < TELLING_STARTS)
    };
    let others = answer.claims.iter().filter(fits);
    let main = answer.judged_claim(&arm.name);
    let main = main.or_else(|| {
        others
            .clone()
            .find(|it| it.contrast.when == When::BackToBack)
    });
    let headline: Vec<&str> = answer
        .headline
        .iter()
        .map(|id| answer.claim(*id).contrast.arm.as_str())
        .collect();
    // A row by the state of the host memory is more informative than a row that mixes both; once the mixed row is
    // decided, it counts.
    let is_idle_open = answer.claims.iter().any(|claim| {
        claim.contrast.arm == arm.name
            && matches!(claim.contrast.when, When::AfterIdle(_))
            && claim.call.is_open()
    });
    let is_sorted = others
        .clone()
        .any(|it| it.contrast.when == When::AfterIdleCold);
    // Starts of the other policies are details.
    let is_shown = |claim: &&Claim| match claim.contrast.when {
        When::AfterIdle(_) => !(is_sorted && is_idle_open),
        When::AfterIdleCold | When::AfterIdleWarm => is_idle_open,
        When::PerStart(_) => headline.contains(&arm.name.as_str()),
        when => when != main.map_or(When::BackToBack, |main| main.contrast.when),
    };
    let others = others.filter(is_shown);
    let silent = main.is_none().then(|| words::circumstances::no_claim(arm));
    let first = row(main, silent, 2);
    let others = others.map(|claim| row(Some(claim), None, 4));
    std::iter::once(first).chain(others).collect()
}

/// Returns the row of the baseline against itself.
fn control(answer: &Answer, names: &Names, verdicts: Verdicts) -> Option<Vec<Cell>> {
    let is_control = |claim: &Claim| {
        claim.contrast.against == Against::Itself && claim.contrast.metric == answer.judged.metric
    };
    let id: ClaimId = answer.find(is_control)?;
    let interval = words::interval(answer, answer.claim(id)).unwrap_or_default();
    let verdict = match verdicts {
        Verdicts::WithRounds => words::control(answer, id),
        Verdicts::Words => words::control_word(answer, id),
    };
    let texts = [
        names.shorten(&format!("  {}", words::itself(answer))),
        String::new(),
        interval,
        verdict.to_owned(),
    ];
    Some(texts.into_iter().map(Cell::plain).collect())
}
