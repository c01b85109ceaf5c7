//! Lays the answer out: the headline, the commands, the judged metric, other metrics, causes, doubts and the
//! next step, always in this order.

use super::{Answer, Choice, Claim, NextStep, SubjectKind, Word, words};
use crate::run::cause::{Cause, CauseOutcome};
use crate::text::document::{Block, Document, Field, Paragraph, Section};
use crate::text::{Style, Tone, to_text};

pub(super) mod judged;
pub(super) mod names;
pub(super) mod table;

use names::Names;

/// Number of lines on the first screen with up to three policies, and with more.
const LINES: [usize; 2] = [24, 30];

/// With more policies, a screen has more lines.
const FEW: usize = 3;

/// Number of parts of each kind on the first screen.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Rows of the judged metric, and their format.
    judged: Judged,
    /// Other metrics.
    rows: usize,
    causes: usize,
    doubts: usize,
}

/// The rows of the judged metric.
#[derive(Clone, Copy, Debug)]
struct Judged {
    policies: usize,
    verdicts: Verdicts,
    scope: Scope,
    /// The width of the longest name shown in full.
    name: usize,
}

/// The place of the note on the scope of the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Below the rows.
    Below,
    /// Only in the details.
    InDetails,
}

/// The form of a verdict in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdicts {
    /// With the rounds that support it.
    WithRounds,
    /// In one word.
    Words,
}

/// From much to little: other metrics are dropped first, because `-v` shows all of them.
const STEPS: [Room; 15] = [
    room(FULL, 5, 2, 3),
    room(FULL, 4, 2, 3),
    room(FULL, 4, 2, 2),
    room(FULL, 4, 1, 2),
    room(FULL, 3, 1, 2),
    room(FULL, 3, 1, 1),
    room(FULL, 2, 1, 1),
    room(UNSCOPED, 2, 1, 1),
    room(SHORT, 2, 1, 1),
    room(SHORT, 1, 1, 1),
    room(SHORT.policies(6), 2, 1, 1),
    room(SHORT.policies(4), 2, 1, 1),
    room(SHORT.policies(4), 1, 1, 1),
    room(SHORT.policies(3), 1, 1, 1),
    room(SHORT.policies(3), 0, 1, 1),
];

const FULL: Judged = Judged {
    policies: 9,
    verdicts: Verdicts::WithRounds,
    scope: Scope::Below,
    name: 24,
};

const UNSCOPED: Judged = Judged {
    scope: Scope::InDetails,
    ..FULL
};

/// Narrow enough for one line per row.
const SHORT: Judged = Judged {
    policies: 9,
    verdicts: Verdicts::Words,
    scope: Scope::InDetails,
    name: 18,
};

impl Judged {
    const fn policies(self, policies: usize) -> Self {
        Self { policies, ..self }
    }
}

const fn room(judged: Judged, rows: usize, causes: usize, doubts: usize) -> Room {
    Room {
        judged,
        rows,
        causes,
        doubts,
    }
}

/// Returns the first screen, filled as far as its lines allow.
pub(super) fn document(answer: &Answer, width: usize) -> Document {
    let [most, .., least] = STEPS;
    if width == usize::MAX {
        return compose(answer, width, most);
    }
    let style = Style {
        width,
        ..Style::default()
    };
    let arms = answer.arms.len().max(answer.programs.len() * (FEW + 1));
    let lines = LINES[usize::from(arms > FEW + 1)];
    let fits = |room: &Room| {
        let text = to_text(&compose(answer, width, *room), &style);
        text.lines().count() <= lines
    };
    let room = STEPS.into_iter().find(fits).unwrap_or(least);
    compose(answer, width, room)
}

fn compose(answer: &Answer, width: usize, room: Room) -> Document {
    let names = Names::of(answer, room.judged.name);
    let mut sections = vec![head(answer)];
    let programs = answer.programs.iter();
    sections.extend(programs.map(|part| program(part, &names, room.judged, width)));
    let mut judged = judged::section(answer, &names, room.judged, width);
    let inside = answer.inside.as_ref();
    judged.heading = inside.map(|_| words::inside::WHOLE_STARTS.to_owned());
    let tables = [
        Some(judged),
        Some(table::section(answer, &names, room.rows, width)),
        inside.map(|it| lasting(it, &names, room.judged, width)),
    ];
    let tables = tables.into_iter().flatten();
    sections.extend(tables.filter(|it| !it.blocks.is_empty()));
    let legend = names.legend(&sections);
    if let (Some(last), false) = (sections.last_mut(), legend.is_empty()) {
        last.push(Block::Notes(legend));
    }
    sections.push(closing(answer, room));
    Document::new(sections)
}

/// Returns the headline and the choice for one program of several.
fn program(answer: &Answer, names: &Names, room: Judged, width: usize) -> Section {
    let mut section = Section::titled(answer.subject.name.clone());
    let sentences = words::headline::headline(answer).join(" ");
    section.push(Paragraph::new(sentences).tone(Tone::Strong));
    section.blocks.extend(to_do(answer).blocks);
    // The note appears once, below the last rows.
    let room = Judged {
        scope: Scope::InDetails,
        ..room
    };
    let rows = judged::section(answer, names, room, width);
    section.blocks.extend(rows.blocks);
    section
}

/// Returns the rows of the periods inside servers.
fn lasting(inside: &Answer, names: &Names, room: Judged, width: usize) -> Section {
    // The note on the intervals appears once, below the rows of whole starts.
    let room = Judged {
        scope: Scope::InDetails,
        ..room
    };
    let mut section = judged::section(inside, names, room, width);
    section.heading = Some(words::inside::heading(inside));
    let memory = inside.switchback.iter().map(words::switchback::memory);
    section.push(Block::Notes(memory.collect()));
    section
}

/// Returns the headline and the commands.
pub(super) fn head(answer: &Answer) -> Section {
    let mut section = Section::default();
    for sentence in words::headline::headline(answer) {
        section.push(Paragraph::new(sentence).tone(Tone::Strong));
    }
    if let Some(inside) = &answer.inside {
        section.push(Paragraph::new(words::inside::headline(inside)).tone(Tone::Strong));
    }
    if answer.subject.kind != SubjectKind::Programs {
        section.blocks.extend(to_do(answer).blocks);
    }
    section
}

/// Returns the commands: those for the program and those for the machine are always separate blocks.
fn to_do(answer: &Answer) -> Section {
    let mut section = Section::default();
    let Some(choice) = answer.choice.as_ref().filter(|choice| is_there(choice)) else {
        section.push(words::action::nothing_to_do(answer));
        return section;
    };
    let commands = |machine_wide: bool| {
        let all = choice.commands.iter();
        let all = all.filter(move |it| it.machine_wide == machine_wide);
        all.map(|command| format!("  {}", command.line))
    };
    let steps = choice.steps.iter();
    let steps = steps.map(|step| format!("  {}", words::action::step(step)));
    let program: Vec<String> = steps.chain(commands(false)).collect();
    let machine: Vec<String> = commands(true).collect();
    let blocks = [
        (words::action::set_for_program(answer, choice), program),
        (words::action::set_for_machine(choice), machine),
    ];
    let blocks = blocks.into_iter().filter(|(_, lines)| !lines.is_empty());
    let leads = [words::action::DO, words::action::DO_ALSO];
    for (lead, (heading, lines)) in leads.iter().zip(blocks) {
        section.push(Paragraph::new(format!("{lead}{heading}")));
        section.push(Block::Lines(lines));
    }
    section
}

fn is_there(choice: &Choice) -> bool {
    !(choice.commands.is_empty() && choice.steps.is_empty())
}

/// Returns causes, the choice between rivals, doubts and the next step.
fn closing(answer: &Answer, room: Room) -> Section {
    let mut fields = why(answer, room.causes);
    fields.extend(chosen(answer));
    fields.extend(scope(answer));
    let doubts = answer.doubts.iter();
    let doubts = doubts.map(|doubt| words::doubt::doubt(answer, doubt));
    fields.extend(listed(words::DOUBTS, doubts.collect(), room.doubts));
    fields.extend(next(answer, 1));
    Section::default().with(fields)
}

/// Returns the shown causes, or a line that there are none. Those of the headline's policy come first.
fn why(answer: &Answer, most: usize) -> Vec<Field> {
    let claims = answer.headline.iter().map(|id| answer.claim(*id));
    let claims: Vec<&Claim> = claims.collect();
    let named = claims.first().map(|claim| &claim.contrast.arm);
    let shown = answer
        .causes
        .iter()
        .filter(|it| it.outcome == CauseOutcome::Shown);
    let mut shown: Vec<&Cause> = shown.collect();
    shown.sort_by_key(|cause| cause.arm.as_ref() != named);
    let shown: Vec<String> = shown.into_iter().map(words::cause::brief).collect();
    let has_effect = answer.word != Word::Compared && claims.iter().any(|it| it.call.is_shown());
    match (shown.is_empty(), has_effect) {
        (true, false) => Vec::new(),
        (true, true) => vec![Field::new(words::WHY, words::NO_CAUSE)],
        (false, _) => listed(words::WHY, shown, most),
    }
}

/// Returns the choice between equals.
pub(super) fn chosen(answer: &Answer) -> Option<Field> {
    let choice = answer.choice.as_ref()?;
    let text = words::action::chosen(answer, choice)?;
    Some(Field::new(words::CHOSEN, text))
}

/// Returns the memory and the kind of effect in the answer about a running process.
pub(super) fn scope(answer: &Answer) -> Option<Field> {
    let switchback = answer.switchback.as_ref()?;
    let text = match answer.subject.kind {
        // Whole starts are in the same report.
        SubjectKind::Service => words::switchback::memory(switchback),
        _ => words::switchback::scope(switchback),
    };
    Some(Field::new(words::SCOPE, text))
}

/// Returns one field for each text, with the label only before the first.
pub(super) fn listed(label: &str, mut texts: Vec<String>, most: usize) -> Vec<Field> {
    let hidden = texts.len().saturating_sub(most);
    texts.truncate(most);
    match texts.last_mut() {
        Some(last) if hidden > 0 => *last = words::with_more(last, hidden),
        Some(_) => {}
        None => texts.push(words::NONE.to_owned()),
    }
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let fields = labels.zip(texts);
    fields
        .map(|(label, text)| Field::new(label, text))
        .collect()
}

/// Returns that many next steps with their commands, and the number of those left out.
pub(super) fn next(answer: &Answer, most: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    let left_out = answer.next.iter().skip(most);
    let hidden = left_out.filter(|it| it.step != NextStep::Verbose).count();
    for step in answer.next.iter().take(most) {
        let text = words::action::next(answer, step, hidden);
        let text = (!text.is_empty()).then(|| Field::new("", text));
        let command = step
            .command
            .as_ref()
            .map(|it| Field::whole("", it.line.clone()));
        fields.extend(text.into_iter().chain(command));
    }
    match fields.first_mut() {
        Some(first) => words::NEXT.clone_into(&mut first.label),
        None => fields.push(Field::new(words::NEXT, words::NONE)),
    }
    fields
}
