//! The advice as a document.

use std::collections::BTreeSet;

use super::advice::{Advice, Program, Ruling, Standing};
use super::contradiction::Contradiction;
use super::measured::Belief;
use super::rule::Settings;
use crate::text::Tone;
use crate::text::csv::Csv;
use crate::text::document::{Document, Field, Paragraph, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::number::counted;
use crate::text::wrap::plain;

/// Rules in full on the first screen of one program.
const IN_FULL: usize = 2;
/// Rows on the first screen of many programs.
const ROWS: usize = 8;

impl Advice {
    /// What to do, the gravest first; as details every rule with its reason and its source.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut document = Document::default();
        document.push(Section::default().with(Paragraph::new(self.answer()).tone(Tone::Strong)));
        let groups = groups(&self.programs);
        let is_one = groups.len() == 1;
        if !is_one {
            document.push(overview(&groups));
        }
        for (program, _) in &groups {
            document.push(program.section(is_one));
        }
        for contradiction in &self.contradictions {
            document.push(contradiction.section());
        }
        document.push(Section::default().with_detail(
            "Belief, the most first: measured here, proved state, kernel, vendor, maintainer, \
             measured elsewhere, report, folklore.",
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
        match self.contradictions.len() as u64 {
            0 => {}
            more => parts.push(counted(more, "contradiction")),
        }
        if parts.is_empty() {
            return "Nothing to do: no rule that applies here is neglected.".to_owned();
        }
        format!("Found: {}.", parts.join(", "))
    }

    /// One row a program and rule.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&[
            "pid", "program", "subject", "version", "rule", "standing", "missing", "by", "said",
            "says",
        ]);
        for program in &self.programs {
            for ruling in &program.rulings {
                let part = program
                    .parts
                    .iter()
                    .find(|part| part.subject == ruling.subject);
                csv.row([
                    program.pid.map(|pid| pid.to_string()).unwrap_or_default(),
                    program.name.clone(),
                    ruling.subject.clone(),
                    part.and_then(|part| part.version.clone())
                        .unwrap_or_default(),
                    ruling.id.clone(),
                    ruling.standing.words().to_owned(),
                    ruling.missing.clone().unwrap_or_default(),
                    ruling.by.to_string(),
                    ruling.said.clone(),
                    ruling.says.clone(),
                ]);
            }
        }
        csv.into_text()
    }
}

/// Programs of which there is something to say, those that people know first; processes of one
/// program of which the same is said are one.
fn groups(programs: &[Program]) -> Vec<(&Program, usize)> {
    let mut groups: Vec<(&Program, usize)> = Vec::new();
    for program in programs.iter().filter(|program| program.has_news()) {
        match groups.iter_mut().find(|(other, _)| other.is_like(program)) {
            Some((_, count)) => *count += 1,
            None => groups.push((program, 1)),
        }
    }
    groups.sort_by_key(|(program, _)| {
        let gravest = program.rulings.first().map(|ruling| ruling.standing);
        let is_of_machine = program.pid.is_none();
        let breaks = gravest == Some(Standing::Breaks);
        (!breaks, !program.is_known(), !is_of_machine)
    });
    groups
}

/// One row a program with its gravest rule.
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
                format!("{}: {}", ruling.standing.words(), ruling.says),
                ruling.tone(),
            ),
            None => ("no rule applies".to_owned(), Tone::Plain),
        };
        let more = match rulings.count() {
            0 => String::new(),
            more => format!(" (+{more})"),
        };
        let is = program.shown_parts().next().unwrap_or_default();
        grid.rows.push(vec![
            Cell::plain(program.who(*count)),
            Cell::plain(is),
            Cell::plain(format!("{says}{more}")).tone(tone),
        ]);
    }
    let mut section = Section::default();
    section.push_brief(grid);
    let left = groups.len().saturating_sub(ROWS);
    section.push_brief(match left {
        0 => "Reasons, means and sources: hugewise advise -v PID".to_owned(),
        left => format!("{left} more; all, with reasons, means and sources: -v"),
    });
    section
}

impl Program {
    fn is_known(&self) -> bool {
        self.parts.iter().any(|part| part.kind.names_a_process())
    }

    /// Whether people know it by what it is, or a rule says something.
    fn has_news(&self) -> bool {
        let gravest = self.rulings.first().map(|ruling| ruling.standing);
        self.is_known()
            || gravest.is_some_and(|standing| standing <= Standing::NotFollowed)
            || self.pid.is_none()
    }

    /// Whether the same is said of another process of the same program.
    fn is_like(&self, other: &Self) -> bool {
        let said = |program: &Self| -> Vec<_> {
            let rulings = program.rulings.iter();
            rulings
                .map(|ruling| (ruling.id.clone(), ruling.standing))
                .collect()
        };
        self.name == other.name && self.parts == other.parts && said(self) == said(other)
    }

    /// Rules that apply and still hold.
    fn now(&self) -> impl Iterator<Item = &Ruling> {
        self.rulings
            .iter()
            .filter(|ruling| ruling.standing < Standing::Unknown)
    }

    fn section(&self, is_alone: bool) -> Section {
        let mut section = Section::default();
        let heading = Paragraph::new(self.heading()).tone(Tone::Strong);
        if is_alone {
            section.push(heading);
            self.push_brief(&mut section);
        } else {
            section.push_detail(heading);
        }
        for ruling in &self.rulings {
            section.push_detail(ruling.paragraph());
            section.push_detail(ruling.fields());
        }
        section
    }

    fn push_brief(&self, section: &mut Section) {
        let mut grid = Grid::default().aligned(&[Align::Left, Align::Wrapped]);
        for (place, ruling) in self.now().take(ROWS).enumerate() {
            grid.rows.push(ruling.row());
            if place < IN_FULL && ruling.standing <= Standing::Open {
                grid.rows.extend(ruling.brief());
            }
        }
        if !grid.rows.is_empty() {
            section.push_brief(grid);
        }
        section.push_brief(self.rest(self.now().count().saturating_sub(ROWS)));
    }

    fn who(&self, count: usize) -> String {
        let name = plain(&self.name);
        match (self.pid, count) {
            (None, _) => name,
            (Some(pid), 1) => format!("{name} ({pid})"),
            (Some(pid), count) => format!("{name} ({pid}, +{})", count - 1),
        }
    }

    /// What it is and has, without what the machine has.
    fn shown_parts(&self) -> impl Iterator<Item = String> {
        let machine = self.pid.is_none();
        let own = self
            .parts
            .iter()
            .filter(move |part| machine || !part.kind.is_of_the_machine());
        own.map(|part| plain(&part.words()))
    }

    fn heading(&self) -> String {
        let parts: Vec<_> = self.shown_parts().collect();
        match parts.is_empty() {
            true => self.who(1),
            false => format!("{}: {}", self.who(1), parts.join(", ")),
        }
    }

    /// What the first screen leaves out.
    fn rest(&self, later: usize) -> String {
        let unknown = self.standing(Standing::Unknown).count();
        let past = self.standing(Standing::Past).count();
        let parts = [
            (later, "more"),
            (unknown, "may apply"),
            (past, "no longer said"),
            (self.others, "not for this version or state"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<_> = parts
            .map(|(count, words)| format!("{count} {words}"))
            .collect();
        match parts.is_empty() {
            true => "No rules are known.".to_owned(),
            false => format!("Other rules: {} (-v shows them).", parts.join(", ")),
        }
    }
}

impl Ruling {
    fn tone(&self) -> Tone {
        match self.standing {
            Standing::Breaks | Standing::NotFollowed => Tone::Bad,
            Standing::Followed => Tone::Good,
            _ => Tone::Plain,
        }
    }

    fn row(&self) -> Vec<Cell> {
        vec![
            Cell::plain(self.standing.words()).tone(self.tone()),
            Cell::plain(format!("{} [{}]", self.says, self.authority())),
        ]
    }

    /// Reason, means and test below its row.
    fn brief(&self) -> Vec<Vec<Cell>> {
        let means = self
            .set
            .as_ref()
            .and_then(|set| means(set).into_iter().next());
        let lines = [Some(self.why.clone()), means, self.test()];
        let lines = lines.into_iter().flatten();
        lines
            .map(|line| vec![Cell::plain(""), Cell::plain(line)])
            .collect()
    }

    fn test(&self) -> Option<String> {
        Some(format!("To test it: {}", self.experiment.as_ref()?))
    }

    fn paragraph(&self) -> Paragraph {
        let standing = match &self.missing {
            Some(fact) => format!("{}, {fact} is not known", self.standing.words()),
            None => self.standing.words().to_owned(),
        };
        Paragraph::new(format!("{} ({standing}; {})", self.says, self.id)).tone(Tone::Strong)
    }

    fn fields(&self) -> Vec<Field> {
        let mut fields = vec![Field::new("Why", &self.why)];
        let mut add = |label: &str, text: Option<String>| {
            fields.extend(text.map(|text| Field::new(label, text)));
        };
        let set = self.set.as_ref().map(means).unwrap_or_default();
        for (place, means) in set.into_iter().enumerate() {
            add(if place == 0 { "How" } else { "or" }, Some(means));
        }
        add("Costs", self.costs.clone());
        add(
            "Changes",
            Some(self.effects.words()).filter(|words| !words.is_empty()),
        );
        add("Measured here", self.measured_words());
        let tested = self
            .tested
            .iter()
            .map(|test| format!("{} on {} ({})", test.verdict, test.date, test.record));
        let tested: Vec<_> = tested.collect();
        add(
            "Tried",
            Some(match tested.is_empty() {
                true => "never by us".to_owned(),
                false => tested.join(", "),
            }),
        );
        add("Test", self.experiment.clone());
        let said = format!("{}, read on {}", self.authority(), self.checked);
        add("Said by", Some(said));
        add("Now", self.superseded_by.clone());
        add("Source", Some(self.sources.join(" ")));
        fields
    }

    fn measured_words(&self) -> Option<String> {
        let measured = self.measured.as_ref()?;
        let belief = match self.belief {
            Some(Belief::Confirmed) => "confirms it: ",
            Some(Belief::Refuted) => "refutes it: ",
            None => "",
        };
        Some(format!(
            "{belief}{} ({})",
            measured.words(),
            measured.record
        ))
    }
}

/// How to follow a rule, what reaches the process alone first.
fn means(set: &Settings) -> Vec<String> {
    let mut means = Vec::new();
    if let Some(conf) = &set.conf {
        means.push(format!("in {}: {}", conf.file, conf.line));
    }
    for (name, value) in &set.env {
        means.push(format!("environment: {name}={value}"));
    }
    if !set.args.is_empty() {
        means.push(format!("arguments: {}", set.args.join(" ")));
    }
    if let Some(policy) = &set.policy {
        means.push(format!(
            "this process alone: hugewise exec --policy {policy} -- COMMAND"
        ));
    }
    let thp = set.thp.iter();
    means.extend(thp.map(|(file, value)| {
        format!("whole machine: echo {value} > /sys/kernel/mm/transparent_hugepage/{file}")
    }));
    let sysctl = set.sysctl.iter();
    means.extend(sysctl.map(|(name, value)| format!("whole machine: sysctl -w {name}={value}")));
    means.extend(set.action.clone());
    means
}

impl Contradiction {
    /// A small matrix: who wants what, and what each can do alone.
    fn section(&self) -> Section {
        let now = self.now.as_deref().unwrap_or("not known");
        let mut section = Section::titled(format!("Contradiction: {} is {now}", self.setting));
        let align = [Align::Left, Align::Left, Align::Left, Align::Wrapped];
        let mut grid =
            Grid::headed(&["program", "wants", "said by", "by its own means"]).aligned(&align);
        for wish in &self.wishes {
            grid.push([
                plain(&wish.who()),
                wish.value.clone(),
                wish.by.to_string(),
                wish.own_means.clone().unwrap_or_else(|| "none".to_owned()),
            ]);
        }
        section.push(grid);
        section.push(match &self.solution {
            Some(value) => format!(
                "Both: set {} to {value} for the machine; the others use their own means.",
                self.setting
            ),
            None => {
                "No setting of the machine serves all of them: separate them by host.".to_owned()
            }
        });
        section
    }
}
