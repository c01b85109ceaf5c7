//! One program and its rules.

use super::ROWS;
use super::howto::Way;
use crate::advice::{Part, Program};
use crate::rule::Change;
use crate::ruling::{Ruling, Standing};
use crate::settings::Settings;
use crate::subject::SubjectKind;
use hugewise_text::Tone;
use hugewise_text::document::{Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::counted;
use hugewise_text::wrap::{plain, quoted};

/// The number of rules shown in full on the first screen of one program.
const IN_FULL: usize = 2;

impl Program {
    pub(super) fn is_known(&self) -> bool {
        self.parts.iter().any(|part| part.kind.names_a_process())
    }

    /// Returns true if the program has a well-known subject or a rule with something to report.
    pub(super) fn has_news(&self) -> bool {
        let gravest = self.rulings.first().map(|ruling| ruling.standing);
        self.is_known()
            || gravest.is_some_and(|standing| standing <= Standing::NotFollowed)
            || self.pid.is_none()
    }

    /// Returns true if another process of the same program has the same results.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let said = |program: &Self| -> Vec<_> {
            let rulings = program.rulings.iter();
            rulings
                .map(|ruling| (ruling.id.clone(), ruling.standing))
                .collect()
        };
        self.name == other.name && self.parts == other.parts && said(self) == said(other)
    }

    /// Rules that apply, or can apply to the program itself. Information that is true on every machine is omitted.
    pub(super) fn now(&self) -> impl Iterator<Item = &Ruling> {
        let rulings = self.rulings.iter();
        rulings.filter(|ruling| {
            let applies = ruling.standing < Standing::Unknown && !self.is_of_any_machine(ruling);
            applies || self.may_need(ruling)
        })
    }

    /// Returns true for an informative kernel rule that does not depend on the settings of this machine.
    fn is_of_any_machine(&self, ruling: &Ruling) -> bool {
        let is_of_kernel = self.kind_of(ruling) == Some(SubjectKind::Kernel);
        is_of_kernel && ruling.standing == Standing::Information && ruling.here.is_empty()
    }

    /// Returns true for a rule that depends on unknown facts and does not concern the machine.
    pub(super) fn may_need(&self, ruling: &Ruling) -> bool {
        let kind = self.kind_of(ruling);
        let is_own = kind.is_some_and(|kind| !kind.is_of_the_machine());
        ruling.standing == Standing::Unknown && is_own && !self.changed_no_page(ruling)
    }

    /// Returns true if a record on this machine shows that the settings of a rule change no page of the program.
    fn changed_no_page(&self, ruling: &Ruling) -> bool {
        let policy = ruling.set.as_ref().and_then(|set| set.policy.as_ref());
        let mut idle = self.measured.iter().filter(|one| one.changed_no_page);
        policy.is_some_and(|policy| idle.any(|one| one.policy == *policy))
    }

    /// Its heading with the first screen, and one section per rule.
    pub(super) fn sections(&self, is_alone: bool) -> Vec<Section> {
        let command = self.command.as_ref();
        let rules = self.rulings.iter().map(|ruling| {
            let section = Section::default().with_detail(ruling.paragraph());
            section.with_detail(ruling.fields(command))
        });
        std::iter::once(self.first(is_alone)).chain(rules).collect()
    }

    fn first(&self, is_alone: bool) -> Section {
        let mut section = Section::default();
        let heading = Paragraph::new(self.heading()).tone(Tone::Strong);
        if is_alone {
            section.push(heading);
            self.push_brief(&mut section);
        } else {
            section.push_detail(heading);
        }
        section
    }

    fn push_brief(&self, section: &mut Section) {
        let mut grid = Grid::default().aligned(&[Align::Left, Align::Wrapped]);
        grid.rows.extend(self.measured_rows());
        for (place, ruling) in self.now().take(ROWS).enumerate() {
            grid.rows.push(ruling.row());
            if place < IN_FULL && ruling.standing <= Standing::Open {
                grid.rows.extend(ruling.brief(self.command.as_ref()));
            }
            if !self.is_tried(ruling) {
                grid.rows
                    .extend(ruling.trial(self.command.as_ref(), self.kind_of(ruling)));
            }
        }
        if !grid.rows.is_empty() {
            section.push_brief(grid);
        }
        section.push_brief(self.rest(self.now().count().saturating_sub(ROWS)));
    }

    /// Returns true if a record on this machine covers the arguments of a rule.
    fn is_tried(&self, ruling: &Ruling) -> bool {
        let policy = ruling.set.as_ref().and_then(Settings::arguments_policy);
        policy.is_some_and(|policy| self.measured.iter().any(|it| it.policy == policy.name))
    }

    /// Measurements on this machine: a row for the decided policies with the mechanism, and a row for the undecided
    /// ones.
    fn measured_rows(&self) -> Vec<Vec<Cell>> {
        let Some((newest, text)) = self.measured_here() else {
            return Vec::new();
        };
        let mut rows = vec![vec![Cell::plain("tried here"), Cell::plain(text)]];
        let better = self.measured.first();
        let better = better.filter(|one| one.outcome == Some(Change::Better));
        let way = better.map(|one| Way::of_policy(&one.policy).for_command(self.command.as_ref()));
        let report = Way::new(
            "the whole report",
            format!("hugewise report {}", quoted(newest.name())),
        );
        let cells = way.into_iter().chain([report]).flat_map(Way::cells);
        rows.extend(cells.map(|cell| vec![Cell::plain(""), cell]));
        rows
    }

    pub(super) fn who(&self, count: usize) -> String {
        let name = plain(&self.name);
        match (self.pid, count) {
            (None, _) | (_, 1) => self.named(),
            (Some(pid), count) => format!("{name} ({pid}, +{})", count - 1),
        }
    }

    /// The subjects of the program, in words.
    pub(super) fn shown_parts(&self) -> impl Iterator<Item = String> {
        self.own_parts().map(|part| plain(&part.words()))
    }

    /// The subjects for a narrow column. An unknown version is reported elsewhere.
    pub(super) fn brief(&self) -> String {
        let part = self.own_parts().next();
        part.map_or_else(String::new, |part| match part.version {
            Some(_) => plain(&part.words()),
            None => plain(&part.title),
        })
    }

    /// The subjects of the program, without those of the machine, unless it is the machine. A command that has not
    /// started has no PID either, but it has arguments.
    fn own_parts(&self) -> impl Iterator<Item = &Part> {
        let machine = self.pid.is_none() && self.facts.get("argv").is_none();
        let parts = self.parts.iter();
        parts.filter(move |part| machine || !part.kind.is_of_the_machine())
    }

    fn heading(&self) -> String {
        let parts: Vec<_> = self.shown_parts().collect();
        match parts.is_empty() {
            true => self.who(1),
            false => format!("{}: {}", self.who(1), parts.join(", ")),
        }
    }

    /// The rest that the first screen omits.
    fn rest(&self, later: usize) -> String {
        let unknown = self.standing(Standing::Unknown);
        let unknown = unknown.filter(|ruling| !self.may_need(ruling)).count();
        let past = self.standing(Standing::Past).count();
        let rulings = self.rulings.iter();
        let general = rulings.filter(|it| self.is_of_any_machine(it)).count();
        let parts = [
            (later, "more to read"),
            (general, "for any machine"),
            (unknown, "that may apply"),
            (past, "no longer said"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts =
            parts.map(|(count, words)| format!(", {} {words}", counted(*count as u64, "rule")));
        let more = match self.rulings.is_empty() {
            true => String::new(),
            false => format!(
                "With -v: reasons, means, sources{}. ",
                parts.collect::<String>()
            ),
        };
        let others = match self.others {
            0 => "No other rule is known.".to_owned(),
            1 => "1 rule is for another version or state.".to_owned(),
            more => format!("{more} rules are for another version or state."),
        };
        more + &others
    }
}
