//! One process or the machine, and which rules concern it.

use serde::Serialize;

use hugewise_text::wrap::plain;

use super::access::Access;
use super::command::Command;
use super::fact::Facts;
use super::knowledge::Knowledge;
use super::measured::{Measurement, said_idle};
use super::observation::{Observation, Part};
use super::rule::{Authority, Change, Rule};
use super::ruling::{Ruling, Standing};
use super::settings::Settings;
use super::subject::{Subject, SubjectKind};

/// One process or the machine, and what is said of it.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Its number, where it runs.
    pub pid: Option<u32>,
    /// What it is called.
    pub name: String,
    /// The unit of systemd that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// How it was started, where that can be repeated.
    #[serde(skip)]
    pub command: Option<Command>,
    /// Whether its memory and executable could be read.
    #[serde(skip_serializing_if = "Access::is_open")]
    pub access: Access,
    /// What it is and has.
    pub parts: Vec<Part>,
    /// What is known of it.
    pub facts: Facts,
    /// What was measured of it here: the newest of each policy, what is better first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measurement>,
    /// Rules that apply or may apply, the gravest first.
    pub rulings: Vec<Ruling>,
    /// How many rules do not apply.
    pub others: usize,
}

impl Program {
    /// Its name, and its number where it has one.
    #[must_use]
    pub fn named(&self) -> String {
        let name = plain(&self.name);
        match self.pid {
            Some(pid) => format!("{name} ({pid})"),
            None => name,
        }
    }

    pub(super) fn judged(
        knowledge: &Knowledge,
        host: &Facts,
        observed: Observation,
        measurements: &[Measurement],
    ) -> Self {
        let kernel = host.text("kernel.version").unwrap_or_default();
        let own: Vec<_> = measurements
            .iter()
            .filter(|one| one.is_of(knowledge, &observed, kernel))
            .collect();
        let (mut rulings, mut others) = (Vec::new(), 0);
        for (subject, facts) in subjects(knowledge, host, &observed) {
            for rule in rules(subject, &observed) {
                let tried = || knowledge.tried(rule);
                match Ruling::of(subject, rule, &facts, &own).map(|it| it.with(tried())) {
                    Some(ruling) => rulings.push(ruling),
                    None => others += 1,
                }
            }
        }
        rulings.sort_by_key(|ruling| (ruling.standing, ruling.rank(), ruling.by));
        Self {
            pid: observed.pid,
            name: observed.name,
            access: observed.access,
            service: observed.service,
            command: observed.command,
            parts: observed.parts,
            facts: observed.facts,
            measured: newest(&own),
            rulings,
            others,
        }
    }

    /// What was measured of it here, and the newest measurement; `None` where nothing was.
    #[must_use]
    pub fn measured_here(&self) -> Option<(&Measurement, String)> {
        let newest = self.measured.iter().max_by_key(|one| one.unix_ms)?;
        let (idle, telling): (Vec<_>, Vec<_>) =
            self.measured.iter().partition(|one| one.changed_no_page);
        let mut said: Vec<String> = telling.into_iter().map(Measurement::account).collect();
        if !idle.is_empty() {
            let names: Vec<&str> = idle.iter().map(|one| one.policy.as_str()).collect();
            said.push(said_idle(&names));
        }
        let said = said.join("; ");
        Some((newest, format!("{said} [measured here, {}]", newest.day())))
    }

    /// The gravest rule by which the application's vendor or maintainers keep huge pages from it, and
    /// the application's name.
    #[must_use]
    pub fn against_huge_pages(&self) -> Option<(&str, &Ruling)> {
        let is_against = |ruling: &&Ruling| {
            let is_off = ruling.set.as_ref().is_some_and(Settings::are_off);
            is_off && ruling.standing <= Standing::Followed && ruling.by <= Authority::Maintainer
        };
        let mut rulings = self.rulings.iter().filter(is_against);
        rulings.find_map(|ruling| {
            let part = self.part_of(ruling)?;
            (part.kind == SubjectKind::Application).then_some((part.title.as_str(), ruling))
        })
    }

    /// The part of the program that a rule is about.
    fn part_of(&self, ruling: &Ruling) -> Option<&Part> {
        let mut parts = self.parts.iter();
        parts.find(|part| part.subject == ruling.subject)
    }

    /// What the subject of a rule is.
    pub(super) fn kind_of(&self, ruling: &Ruling) -> Option<SubjectKind> {
        self.part_of(ruling).map(|part| part.kind)
    }

    /// Rules of a standing.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Ruling> {
        self.rulings
            .iter()
            .filter(move |ruling| ruling.standing == standing)
    }
}

/// The newest measurement of each policy, of measurements with the newest first; what is better, then what is worse.
fn newest(all: &[&Measurement]) -> Vec<Measurement> {
    let mut newest: Vec<Measurement> = Vec::new();
    for one in all {
        if !newest.iter().any(|known| known.policy == one.policy) {
            newest.push((*one).clone());
        }
    }
    newest.sort_by_key(|one| match one.outcome {
        Some(Change::Better) => 0,
        Some(Change::Depends) => 1,
        Some(Change::Worse) => 2,
        Some(Change::None) => 3,
        None => 4,
    });
    newest
}

/// The name of a rule, what it asks, of whom, and what is not so.
pub(super) fn complaint(ruling: &Ruling, programs: &[&Program]) -> String {
    const NAMED: usize = 3;
    let mut names: Vec<_> = programs.iter().take(NAMED).map(|it| it.named()).collect();
    if let more @ 1.. = programs.len().saturating_sub(NAMED) {
        names.push(format!("{more} more"));
    }
    // A state that breaks programs is its own condition.
    let reasons = match ruling.differs.is_empty() {
        true => &ruling.here,
        false => &ruling.differs,
    };
    format!(
        "{}: {} [{}] Here, for {}: {}.",
        ruling.id,
        ruling.words(),
        ruling.authority(),
        names.join(", "),
        reasons.join("; ")
    )
}

/// The rules of a subject that are judged of what was observed: what concerns the machine is said
/// of the machine alone.
pub(super) fn rules<'a>(
    subject: &'a Subject,
    observed: &Observation,
) -> impl Iterator<Item = &'a Rule> {
    let is_process = observed.pid.is_some() || observed.command.is_some();
    subject.rules.iter().filter(move |rule| {
        !(subject.kind.is_of_the_machine() || subject.kind == SubjectKind::State)
            || rule.is_about_a_process() == is_process
    })
}

/// The subjects whose rules are judged, with the facts for them: those that were found, and states,
/// which name their own.
pub(super) fn subjects<'a>(
    knowledge: &'a Knowledge,
    host: &Facts,
    observed: &'a Observation,
) -> impl Iterator<Item = (&'a Subject, Facts)> {
    let facts = host.with(&observed.facts).with(&parts_as_facts(observed));
    let found = observed.parts.iter();
    let found = found.filter_map(|part| Some((Some(part), knowledge.subject(&part.subject)?)));
    let states = knowledge
        .subjects()
        .filter(|subject| subject.kind == SubjectKind::State);
    let all = found.chain(states.map(|subject| (None, subject)));
    all.map(move |(part, subject)| {
        let mut facts = facts.clone();
        let version = part.and_then(|part: &Part| part.version.clone());
        facts.set_known("app.version", version);
        (subject, facts)
    })
}

/// `has.NAME` and `version.NAME` of the parts.
fn parts_as_facts(observed: &Observation) -> Facts {
    let mut facts = Facts::default();
    for part in &observed.parts {
        facts.set(format!("has.{}", part.subject), true);
        facts.set_known(format!("version.{}", part.subject), part.version.clone());
    }
    facts
}
