//! The whole answer for `-v`: every claim, reading, cause, doubt and circumstance. This module computes nothing.

use std::collections::BTreeMap;

use super::screen::judged::{label, tone};
use super::screen::{chosen, head, listed, next, scope, table};
use super::{Against, Answer, Claim, Row, words};
use crate::text::Tone;
use crate::text::document::{Block, Document, Field, Paragraph, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::number::quantity;

/// Returns the full content of the answer.
pub(super) fn document(answer: &Answer) -> Document {
    let mut sections = vec![head(answer)];
    sections.extend(answer.programs.iter().flat_map(part));
    sections.extend(body(answer));
    sections.extend(answer.inside.iter().flat_map(|inside| lasting(inside)));
    Document::new(sections)
}

/// Returns the sections for the periods inside servers.
fn lasting(inside: &Answer) -> Vec<Section> {
    let headline = words::inside::headline(inside);
    let heading = words::inside::heading(inside);
    let first = Section::titled(heading).with(Paragraph::new(headline).tone(Tone::Strong));
    std::iter::once(first).chain(body(inside)).collect()
}

/// Returns everything below the headline.
fn body(answer: &Answer) -> Vec<Section> {
    let mut sections = claims(answer);
    sections.push(metrics(answer));
    sections.push(closing(answer));
    sections.push(policies(answer));
    let subject = words::circumstances::subject(answer);
    sections.push(Section::titled(words::EXPERIMENT).with(subject));
    sections.extend(answer.circumstances.iter().map(|it| {
        let fields = words::circumstances::circumstances(it);
        Section::titled(words::CIRCUMSTANCES).with(fields)
    }));
    sections
}

/// Returns the sections for one program of several.
fn part(answer: &Answer) -> Vec<Section> {
    let mut first = Section::titled(answer.subject.name.clone());
    first.blocks.extend(head(answer).blocks);
    first.push(words::circumstances::subject(answer));
    let mut sections = vec![first];
    sections.extend(claims(answer));
    sections.push(closing(answer));
    sections.push(policies(answer));
    sections
}

/// Returns one table for each compared pair, and the readings without a claim.
fn claims(answer: &Answer) -> Vec<Section> {
    let mut groups: Vec<(String, Vec<&Claim>)> = Vec::new();
    for claim in &answer.claims {
        let title = words::pair(answer, &claim.contrast);
        match groups.iter_mut().find(|(known, _)| *known == title) {
            Some((_, claims)) => claims.push(claim),
            None => groups.push((title, vec![claim])),
        }
    }
    let sections = groups
        .into_iter()
        .map(|(title, claims)| pair(answer, title, claims));
    sections.chain(readings(answer)).collect()
}

/// Returns the claims of one pair as a table. Metrics without a value, or with only zeros, share a line.
fn pair(answer: &Answer, title: String, claims: Vec<&Claim>) -> Section {
    let is_empty = |it: &&Claim| it.effect.is_none() && it.to.is_none() && it.call.why().is_none();
    let is_zero = |it: &&Claim| it.from == Some(0.0) && it.to == Some(0.0);
    let (empty, claims): (Vec<_>, Vec<_>) = claims.into_iter().partition(is_empty);
    let (zero, claims): (Vec<_>, Vec<_>) = claims.into_iter().partition(is_zero);
    let mut section = Section::titled(title);
    if !claims.is_empty() {
        section.push(comparison(answer, &claims));
    }
    let notes = [(words::ZERO, zero), (words::NO_READING, empty)];
    let notes = notes.into_iter().filter(|(_, claims)| !claims.is_empty());
    let notes = notes.map(|(note, claims)| {
        let labels = claims
            .into_iter()
            .map(|claim| label(answer, &claim.contrast.metric, claim.contrast.statistic));
        format!("{note}: {}", labels.collect::<Vec<_>>().join(", "))
    });
    let notes = notes.chain(warnings(answer, &claims));
    section.push(Block::Notes(notes.collect()));
    section
}

/// Returns each warning once, with its metrics unless it applies to all.
fn warnings(answer: &Answer, claims: &[&Claim]) -> Vec<String> {
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for claim in claims {
        let contrast = &claim.contrast;
        for warning in &claim.warnings {
            let labels = by_text.entry(warning.to_string()).or_default();
            labels.push(label(answer, &contrast.metric, contrast.statistic));
        }
    }
    let lines = by_text
        .into_iter()
        .map(|(text, labels)| match labels.len() == claims.len() {
            true => text,
            false => format!("{}: {text}", labels.join(", ")),
        });
    lines.collect()
}

/// Returns the claims of one pair, a row each.
fn comparison(answer: &Answer, claims: &[&Claim]) -> Grid {
    let mut grid = Grid::headed(&words::COLUMNS);
    grid.align = vec![
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Wrapped,
    ];
    for claim in claims {
        grid.rows.push(cells(answer, claim));
    }
    grid
}

fn cells(answer: &Answer, claim: &Claim) -> Vec<Cell> {
    let contrast = &claim.contrast;
    let name = label(answer, &contrast.metric, contrast.statistic);
    let scope = answer
        .metrics
        .get(&contrast.metric)
        .map(|facts| facts.scope);
    let scope = scope.map_or("", words::scope);
    let value = |value: Option<f64>| {
        let value = value.map(|value| words::value(answer, contrast, value));
        Cell::plain(value.unwrap_or_default())
    };
    let verdict = words::verdict(answer, claim);
    vec![
        Cell::plain(format!("{name}{}{scope}", words::when(contrast.when))),
        value(claim.from),
        value(claim.to),
        Cell::plain(words::change(answer, claim).unwrap_or_default()),
        Cell::plain(interval(answer, claim)),
        Cell::plain(verdict).tone(tone(claim)),
    ]
}

/// Returns an interval with the mark of its probability.
fn interval(answer: &Answer, claim: &Claim) -> String {
    let covers = claim.interval.map_or("", |it| words::covers(it.covers));
    let interval = words::interval(answer, claim).unwrap_or_default();
    format!("{interval}{covers}")
}

/// Returns the readings of all policies that no claim shows.
fn readings(answer: &Answer) -> Option<Section> {
    let has_claim = |row: &Row, arm: &str| {
        let claim = table::effect_on(answer, arm, row);
        claim.is_some_and(|claim| claim.to.is_some())
    };
    let baseline = &answer.judged.baseline;
    let is_from = |row: &Row| {
        answer.claims.iter().any(|claim| {
            claim.contrast.metric == row.metric
                && claim.contrast.statistic == row.statistic
                && claim.contrast.against == Against::Baseline
                && claim.from.is_some()
        })
    };
    let mut grid = Grid::default().aligned(&[Align::Left, Align::Left, Align::Wrapped]);
    for row in &answer.rows {
        let unit = answer.metrics.get(&row.metric).map(|facts| &facts.unit);
        for cell in &row.cells {
            let is_shown = match &cell.arm == baseline {
                true => is_from(row),
                false => has_claim(row, &cell.arm),
            };
            if !is_shown {
                let value = cell
                    .value
                    .zip(unit)
                    .map(|(value, unit)| quantity(unit, value));
                let text = value.unwrap_or_else(|| words::not_read(cell.missing.as_ref()));
                grid.push([row.label.clone(), cell.arm.clone(), text]);
            }
        }
    }
    let has_rows = !grid.rows.is_empty();
    has_rows.then(|| Section::titled(words::READINGS).with(grid))
}

/// Returns the metrics by their good direction.
fn metrics(answer: &Answer) -> Section {
    let mut by_direction: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for facts in answer.metrics.values() {
        let labels = by_direction.entry(words::better(facts.better)).or_default();
        labels.push(facts.label.clone());
    }
    let fields = by_direction.into_iter();
    let fields: Vec<Field> = fields
        .map(|(direction, labels)| Field::new(direction, labels.join(", ")))
        .collect();
    let mut section = Section::titled(words::METRICS);
    if !fields.is_empty() {
        section.push(fields);
        let notes = [words::INTERVAL_LEGEND, words::STAR_LEGEND];
        section.push(Block::Notes(notes.map(str::to_owned).into()));
    }
    section
}

/// Returns all causes, doubts and next steps.
fn closing(answer: &Answer) -> Section {
    let causes: Vec<String> = answer.causes.iter().map(words::cause::full).collect();
    let doubts = answer.doubts.iter();
    let doubts: Vec<String> = doubts
        .map(|doubt| words::doubt::in_full(answer, doubt))
        .collect();
    let mut fields = listed(words::WHY, causes, usize::MAX);
    fields.extend(chosen(answer));
    fields.extend(scope(answer));
    fields.extend(listed(words::DOUBTS, doubts, usize::MAX));
    fields.extend(next(answer, usize::MAX));
    Section::default().with(fields)
}

/// Returns the facts of every policy.
fn policies(answer: &Answer) -> Section {
    let arms = answer.arms.iter();
    let arms: Vec<Field> = arms.map(words::circumstances::arm).collect();
    Section::titled(words::POLICIES).with(arms)
}
