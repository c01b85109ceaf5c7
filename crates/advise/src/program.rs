//! One process or the machine, and its rules.

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

/// One process or the machine, and the advice for it.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// The PID, if it is running.
    pub pid: Option<u32>,
    /// The name.
    pub name: String,
    /// Its systemd unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Its command, if it can be repeated.
    #[serde(skip)]
    pub command: Option<Command>,
    /// Access to its memory and executable.
    #[serde(skip_serializing_if = "Access::is_open")]
    pub access: Access,
    /// The detected subjects.
    pub parts: Vec<Part>,
    /// Known facts.
    pub facts: Facts,
    /// Measurements on this machine: the newest of each policy, better results first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measurement>,
    /// Rules that apply or can apply, most severe first.
    pub rulings: Vec<Ruling>,
    /// The number of rules that do not apply.
    pub others: usize,
}

impl Program {
    /// Returns the name, and the PID if there is one.
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

    /// Returns the newest measurement on this machine and a summary of all; `None` if there is none.
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

    /// Returns the most severe rule by which the application's vendor or maintainers disable huge pages, and the
    /// application's name.
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

    /// Returns the part of the program that a rule concerns.
    fn part_of(&self, ruling: &Ruling) -> Option<&Part> {
        let mut parts = self.parts.iter();
        parts.find(|part| part.subject == ruling.subject)
    }

    /// Returns the kind of the subject of a rule.
    pub(super) fn kind_of(&self, ruling: &Ruling) -> Option<SubjectKind> {
        self.part_of(ruling).map(|part| part.kind)
    }

    /// Rules with a given standing.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Ruling> {
        self.rulings
            .iter()
            .filter(move |ruling| ruling.standing == standing)
    }
}

/// Returns the newest measurement of each policy, from measurements sorted newest first. Better results come first,
/// then worse ones.
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

/// Returns the name of a rule, its demand, the programs, and the difference.
pub(super) fn complaint(ruling: &Ruling, programs: &[&Program]) -> String {
    const NAMED: usize = 3;
    let mut names: Vec<_> = programs.iter().take(NAMED).map(|it| it.named()).collect();
    if let more @ 1.. = programs.len().saturating_sub(NAMED) {
        names.push(format!("{more} more"));
    }
    // For a state that breaks programs, the reason is its condition.
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

/// The rules of a subject that are evaluated for an observation. Rules about the machine are evaluated only for the
/// machine.
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

/// The subjects whose rules are evaluated, with their facts: the detected subjects, and states, which name other
/// subjects in their conditions.
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

/// `has.NAME` and `version.NAME` facts of the parts.
fn parts_as_facts(observed: &Observation) -> Facts {
    let mut facts = Facts::default();
    for part in &observed.parts {
        facts.set(format!("has.{}", part.subject), true);
        facts.set_known(format!("version.{}", part.subject), part.version.clone());
    }
    facts
}
