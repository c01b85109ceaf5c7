//! The advice as a document.

use std::collections::BTreeSet;

use super::access::Access;
use super::advice::{Advice, Program};
use super::fact::HIDING;
use super::ruling::Standing;
use hugewise_base::missing::READERS;
use hugewise_text::Tone;
use hugewise_text::document::{Document, Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::counted;
use hugewise_text::wrap::plain;

mod contradiction;
mod howto;
mod program;
mod ruling;

/// The number of rows on the first screen for several programs.
const ROWS: usize = 8;
/// The number of names shown for programs that could not be inspected.
const NAMED: usize = 3;

impl Advice {
    /// Renders the document: actions, most severe first. The details list every rule with its reason and source.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut document = Document::default();
        document.push(Section::default().with(Paragraph::new(self.answer()).tone(Tone::Strong)));
        let groups = groups(&self.programs);
        let is_one = groups.len() == 1;
        if groups.len() > 1 {
            document.push(overview(&groups));
        }
        for (program, _) in &groups {
            document.sections.extend(program.sections(is_one));
        }
        document.push(self.closed());
        for contradiction in &self.contradictions {
            document.push(contradiction.section());
        }
        document.push(Section::default().with_detail(
            "Where rules differ, believe in this order: a record made here, what is proved of the \
             process, the kernel's authors, the vendor, the maintainers, what others measured, a \
             report, folklore.",
        ));
        document
    }

    fn answer(&self) -> String {
        let of = |standing| {
            let rulings = self.programs.iter().flat_map(|it| it.standing(standing));
            let ids: BTreeSet<_> = rulings.map(|ruling| &ruling.id).collect();
            ids.len() as u64
        };
        let mut parts = Vec::new();
        match of(Standing::Breaks) {
            0 => {}
            1 => parts.push("1 state that breaks programs".to_owned()),
            more => parts.push(format!("{more} states that break programs")),
        }
        match of(Standing::NotFollowed) {
            0 => {}
            more => parts.push(format!("{} not followed", counted(more, "rule"))),
        }
        match of(Standing::Open) {
            0 => {}
            more => parts.push(format!("{} to check", counted(more, "rule"))),
        }
        match self.to_know() {
            0 => {}
            more => parts.push(format!("{} to know", counted(more, "rule"))),
        }
        match self.contradictions.len() as u64 {
            0 => {}
            more => parts.push(counted(more, "contradiction")),
        }
        match (parts.is_empty(), self.conditional()) {
            (true, 0) if self.is_blind() => {
                format!("Cannot tell: the memory of this program may not be read. {READERS}")
            }
            (true, 0) => "Nothing to do: no rule that applies here is neglected.".to_owned(),
            (true, _) if self.is_measured() => {
                "Measured here, see below. No rule that applies is known to be broken.".to_owned()
            }
            (true, 1) => "1 rule may apply: it depends on what is not known here.".to_owned(),
            (true, more) => {
                format!("{more} rules may apply: they depend on what is not known here.")
            }
            (false, 0) => format!("Found: {}.", parts.join(", ")),
            (false, more) => format!("Found: {}; {more} more may apply.", parts.join(", ")),
        }
    }

    /// Lists unreadable data of several programs, and the advice that is missing for that reason.
    fn closed(&self) -> Section {
        let closed = self.programs.iter();
        let closed = closed.filter(|program| program.access == Access::Closed);
        let closed: Vec<&Program> = match self.programs.len() {
            1 => Vec::new(),
            _ => closed.collect(),
        };
        let hiding = self.programs.iter();
        let hiding = hiding
            .filter_map(|program| program.facts.text(HIDING))
            .next();
        let mut section = Section::default();
        if !closed.is_empty() {
            section.push_brief(not_looked_into(&closed));
        }
        if let Some(option) = hiding {
            section.push_brief(format!(
                "Processes of other users are not listed here, and not counted: /proc is mounted with \
                 {option}. Root sees them: sudo hugewise advise"
            ));
        }
        section
    }

    /// Returns true if a record on this machine has an answer for the only program.
    fn is_measured(&self) -> bool {
        let [program] = &self.programs[..] else {
            return false;
        };
        program.measured.iter().any(|it| it.outcome.is_some())
    }

    /// Returns true if nothing identifies the only program, because it cannot be read.
    fn is_blind(&self) -> bool {
        let [program] = &self.programs[..] else {
            return false;
        };
        program.access == Access::Closed && program.shown_parts().next().is_none()
    }

    /// The number of informative rules with a row.
    fn to_know(&self) -> u64 {
        let programs = self.programs.iter();
        let rows = programs.flat_map(Program::now);
        let rows = rows.filter(|ruling| ruling.standing == Standing::Information);
        let ids: BTreeSet<_> = rows.map(|ruling| &ruling.id).collect();
        ids.len() as u64
    }

    /// The number of rules that can apply to programs, and depend on unknown facts.
    fn conditional(&self) -> usize {
        let rulings = self.programs.iter().flat_map(|program| {
            let rulings = program.rulings.iter();
            rulings.filter(|ruling| program.may_need(ruling))
        });
        let ids: BTreeSet<_> = rulings.map(|ruling| &ruling.id).collect();
        ids.len()
    }
}

/// `Not looked into: 21 processes (among them cron, sshd, getty), so …`
fn not_looked_into(closed: &[&Program]) -> String {
    let mut names: Vec<String> = Vec::new();
    for program in closed {
        let name = plain(&program.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let among = match names.len() > NAMED {
        true => "among them ",
        false => "",
    };
    names.truncate(NAMED);
    format!(
        "Not looked into: {} ({among}{}), so rules about memory, allocators and settings are not judged \
         there. Root may look, unless a container or a security module forbids it.",
        counted(closed.len() as u64, "process"),
        names.join(", "),
    )
}

/// Groups programs with something to report: well-known programs first, and the most severe first among those.
/// Processes of one program with equal results form one group.
fn groups(programs: &[Program]) -> Vec<(&Program, usize)> {
    let mut groups: Vec<(&Program, usize)> = Vec::new();
    let is_one = programs.len() == 1;
    for program in programs.iter().filter(|one| is_one || one.has_news()) {
        match groups.iter_mut().find(|(other, _)| other.is_like(program)) {
            Some((_, count)) => *count += 1,
            None => groups.push((program, 1)),
        }
    }
    groups.sort_by_key(|(program, _)| {
        let gravest = program.now().next();
        let gravest = gravest.map_or(Standing::Past, |ruling| ruling.standing);
        let is_of_machine = program.pid.is_none();
        let breaks = gravest == Standing::Breaks;
        (!breaks, !program.is_known(), gravest, !is_of_machine)
    });
    groups
}

/// One row per program with its most severe rule.
fn overview(groups: &[(&Program, usize)]) -> Section {
    let mut grid = Grid::headed(&["program", "is", "rule"]).aligned(&[
        Align::Left,
        Align::Left,
        Align::Wrapped,
    ]);
    for (program, count) in groups.iter().take(ROWS) {
        let mut rulings = program.now();
        let (says, tone) = match rulings.next() {
            Some(ruling) => (
                format!("{}: {}", ruling.standing.words(), ruling.words()),
                ruling.tone(),
            ),
            None => ("no rule asks for anything".to_owned(), Tone::Plain),
        };
        let more = match rulings.count() {
            0 => String::new(),
            more => format!(" (+{more})"),
        };
        grid.rows.push(vec![
            Cell::plain(program.who(*count)),
            Cell::plain(program.brief()),
            Cell::plain(format!("{says}{more}")).tone(tone),
        ]);
    }
    let mut section = Section::default();
    section.push_brief(grid);
    let left = groups.len().saturating_sub(ROWS);
    section.push_brief(match left {
        0 => "Reasons, means and sources: -v".to_owned(),
        left => format!("{left} more; all, with reasons, means and sources: -v"),
    });
    section
}
