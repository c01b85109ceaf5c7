//! What is advised on a machine: which rules concern what runs there, and whether they are followed.

use serde::Serialize;

use super::access::Access;
use super::command::Command;
use super::condition::Truth;
use super::contradiction::{self, Contradiction};
use super::fact::{Facts, WALKED};
use super::knowledge::Knowledge;
use super::measured::{Measurement, said_idle};
use super::rule::{Authority, Change, Rule};
use super::ruling::{Ruling, Standing};
use super::settings::Settings;
use super::subject::{Kind, Subject};
use super::version::Version;
use hugewise_text::wrap::plain;

/// The kind and version of the JSON document.
pub const FORMAT: &str = "hugewise-advice 1";

/// What is known of a process, or of the machine itself.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Its number; none for the machine, and for an application that does not run.
    pub pid: Option<u32>,
    /// What it is called.
    pub name: String,
    /// Its executable, where it is known.
    pub exe: Option<String>,
    /// Whether its memory and executable may be read.
    pub access: Access,
    /// The unit of systemd that it belongs to, where its cgroup tells one.
    pub service: Option<String>,
    /// How it was started, where that can be repeated.
    pub command: Option<Command>,
    /// The subjects that it has.
    pub parts: Vec<Part>,
    /// What is known of it.
    pub facts: Facts,
}

/// A subject that was found, with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Name of the subject.
    pub subject: String,
    /// Its name for people.
    pub title: String,
    /// What it is.
    pub kind: Kind,
    /// Its version as it was found.
    pub version: Option<String>,
}

impl Part {
    /// A subject in a version.
    #[must_use]
    pub fn new(subject: &Subject, version: Option<String>) -> Self {
        Self {
            subject: subject.name.clone(),
            title: subject.title.clone(),
            kind: subject.kind,
            version,
        }
    }

    /// Name and version for people, without what a distribution adds to the version of a program.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.version {
            Some(version) if self.kind.is_of_the_machine() => format!("{} {version}", self.title),
            Some(version) => format!("{} {}", self.title, upstream(version)),
            None => format!("{} (version unknown)", self.title),
        }
    }
}

/// The version of a package without its epoch, its revision and the mark of what was repacked.
fn upstream(version: &str) -> &str {
    let version = match version.split_once(':') {
        Some((epoch, rest)) if epoch.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => version,
    };
    let revised = version.rsplit_once('-');
    let revised =
        revised.filter(|(_, revision)| revision.starts_with(|c: char| c.is_ascii_digit()));
    let version = revised.map_or(version, |(upstream, _)| upstream);
    version.split('+').next().unwrap_or(version)
}

/// What is advised.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// [`FORMAT`].
    pub format: &'static str,
    /// What is known of the machine.
    pub host: Facts,
    /// What runs, and the machine itself.
    pub programs: Vec<Program>,
    /// Settings of the machine of which programs want different values.
    pub contradictions: Vec<Contradiction>,
}

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

/// What is advised for what was observed.
#[must_use]
pub fn advise(
    knowledge: &Knowledge,
    host: &Facts,
    observed: Vec<Observation>,
    measurements: &[Measurement],
) -> Advice {
    let programs = observed.into_iter();
    let programs: Vec<_> = programs
        .map(|one| Program::judged(knowledge, host, one, measurements))
        .collect();
    Advice {
        format: FORMAT,
        host: host.clone(),
        contradictions: contradiction::find(&programs, host),
        programs,
    }
}

impl Advice {
    /// What `--check` says of each rule that is not followed: its name, what it asks and where that is not so.
    /// Processes that differ in the same are in one line.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let mut found: Vec<(&Ruling, Vec<&Program>)> = Vec::new();
        for (program, ruling) in self.neglected() {
            let mut known = found.iter_mut();
            let same = |one: &Ruling| one.id == ruling.id && one.differs == ruling.differs;
            match known.find(|(one, _)| same(one)) {
                Some((_, programs)) => programs.push(program),
                None => found.push((ruling, vec![program])),
            }
        }
        let found = found.iter();
        found
            .map(|(ruling, programs)| ruling.complaint(programs))
            .collect()
    }

    /// Rules of the kernel or a vendor that apply here, are not refuted and are not followed.
    pub fn neglected(&self) -> impl Iterator<Item = (&Program, &Ruling)> {
        let all = self
            .programs
            .iter()
            .flat_map(|program| program.rulings.iter().map(move |ruling| (program, ruling)));
        all.filter(|(_, ruling)| ruling.binds && ruling.standing <= Standing::NotFollowed)
    }
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

    fn judged(
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
            (part.kind == Kind::Application).then_some((part.title.as_str(), ruling))
        })
    }

    /// The part of the program that a rule is about.
    fn part_of(&self, ruling: &Ruling) -> Option<&Part> {
        let mut parts = self.parts.iter();
        parts.find(|part| part.subject == ruling.subject)
    }

    /// What the subject of a rule is.
    pub(super) fn kind_of(&self, ruling: &Ruling) -> Option<Kind> {
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

/// Whether a rule that may apply to a process asks for what the kernel counts only by walking its
/// page tables. It holds a lock of the process meanwhile, so nobody should ask in vain.
#[must_use]
pub fn needs_page_walk(knowledge: &Knowledge, host: &Facts, observed: &Observation) -> bool {
    subjects(knowledge, host, observed).any(|(subject, facts)| {
        rules(subject, observed).any(|rule| {
            let mut names = rule.conditions().flat_map(|condition| condition.facts());
            names.any(|name| WALKED.contains(&name))
                && rule.applies(&facts, subject.order) != Truth::No
        })
    })
}

/// The rules of a subject that are judged of what was observed: what concerns the machine is said
/// of the machine alone.
fn rules<'a>(subject: &'a Subject, observed: &Observation) -> impl Iterator<Item = &'a Rule> {
    let is_process = observed.pid.is_some() || observed.command.is_some();
    subject.rules.iter().filter(move |rule| {
        !(subject.kind.is_of_the_machine() || subject.kind == Kind::State)
            || rule.is_about_a_process() == is_process
    })
}

/// The subjects whose rules are judged, with the facts for them: those that were found, and states,
/// which name their own.
fn subjects<'a>(
    knowledge: &'a Knowledge,
    host: &Facts,
    observed: &'a Observation,
) -> impl Iterator<Item = (&'a Subject, Facts)> {
    let facts = host.with(&observed.facts).with(&parts_as_facts(observed));
    let found = observed.parts.iter();
    let found = found.filter_map(|part| Some((Some(part), knowledge.subject(&part.subject)?)));
    let states = knowledge
        .subjects()
        .filter(|subject| subject.kind == Kind::State);
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

/// An application that does not run, as `--app NAME=VERSION` names it.
///
/// # Errors
/// There is no such subject, or the version has no number.
pub fn named(knowledge: &Knowledge, text: &str) -> Result<Observation, String> {
    let (name, version) = match text.split_once('=') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    let subject = knowledge
        .called(name)
        .ok_or_else(|| format!("nothing is known about `{name}`"))?;
    if version == Some("") {
        return Err(format!(
            "no version follows `=`; write {name}=VERSION, or {name} alone"
        ));
    }
    if let Some(version) = version
        && Version::parse(version, subject.order).is_none()
    {
        return Err(format!("`{version}` is no version"));
    }
    let part = Part::new(subject, version.map(str::to_owned));
    Ok(Observation {
        name: subject.name.clone(),
        parts: vec![part],
        ..Observation::default()
    })
}
