//! What is advised on a machine: which rules concern what runs there, and whether they are followed.

use serde::Serialize;

use super::condition::Truth;
use super::contradiction::{self, Contradiction};
use super::fact::Facts;
use super::knowledge::Knowledge;
use super::measured::{Belief, Measurement};
use super::rule::{Authority, Effects, Rule, Settings, Status, Test};
use super::subject::{Kind, Subject};
use super::version::{Order, Version};

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
    /// The service that started it, where there is one.
    pub service: Option<String>,
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
    /// The service that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// What it is and has.
    pub parts: Vec<Part>,
    /// What is known of it.
    pub facts: Facts,
    /// Rules that apply or may apply, the gravest first.
    pub rulings: Vec<Ruling>,
    /// How many rules do not apply.
    pub others: usize,
}

/// A rule, and how it stands here.
#[derive(Clone, Debug, Serialize)]
pub struct Ruling {
    /// How it stands.
    pub standing: Standing,
    /// The fact that would be needed to tell more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Name of the rule.
    pub id: String,
    /// Its subject.
    pub subject: String,
    /// What to do or to know.
    pub says: String,
    /// Why.
    pub why: String,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<String>,
    /// Who says so.
    pub by: Authority,
    /// Since when.
    pub said: String,
    /// When the source was last read.
    pub checked: String,
    /// Where it is said.
    pub sources: Vec<String>,
    /// Whether it still holds.
    pub status: Status,
    /// The rule that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// What following it changes.
    pub effects: Effects,
    /// How to follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Settings>,
    /// What tests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Tests that were made elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<Test>,
    /// What was measured on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measurement>,
    /// What that means for the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub belief: Option<Belief>,
    #[serde(skip)]
    binds: bool,
}

/// How a rule stands, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A state that breaks or kills programs.
    Breaks,
    /// It applies and is not followed.
    NotFollowed,
    /// It applies; whether it is followed cannot be told.
    Open,
    /// It applies, and only informs.
    Information,
    /// It applies and is followed.
    Followed,
    /// A measurement on this machine says otherwise.
    Refuted,
    /// Whether it applies cannot be told.
    Unknown,
    /// It is not said any more.
    Past,
}

impl Standing {
    /// In a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Breaks => "breaks",
            Self::NotFollowed => "to do",
            Self::Open => "to check",
            Self::Information => "to know",
            Self::Followed => "done",
            Self::Refuted => "refuted here",
            Self::Unknown => "may apply",
            Self::Past => "no longer said",
        }
    }
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
    fn judged(
        knowledge: &Knowledge,
        host: &Facts,
        observed: Observation,
        measurements: &[Measurement],
    ) -> Self {
        let facts = host.with(&observed.facts).with(&parts_as_facts(&observed));
        let kernel = host.text("kernel.version").unwrap_or_default();
        let own: Vec<_> = measurements
            .iter()
            .filter(|one| one.is_of(&observed.name, kernel))
            .collect();
        let (mut rulings, mut others) = (Vec::new(), 0);
        for (part, subject) in subjects(knowledge, &observed) {
            let mut facts = facts.clone();
            let version = part.and_then(|part| part.version.clone());
            facts.set_known("app.version", version);
            for rule in subject.rules.iter().filter(|rule| {
                !(subject.kind.is_of_the_machine() || subject.kind == Kind::State)
                    || rule.is_about_a_process() == observed.pid.is_some()
            }) {
                match Ruling::of(subject, rule, &facts, &own) {
                    Some(ruling) => rulings.push(ruling),
                    None => others += 1,
                }
            }
        }
        rulings.sort_by_key(|ruling| (ruling.standing, ruling.rank(), ruling.by));
        Self {
            pid: observed.pid,
            name: observed.name,
            service: observed.service,
            parts: observed.parts,
            facts: observed.facts,
            rulings,
            others,
        }
    }

    /// Rules of a standing.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Ruling> {
        self.rulings
            .iter()
            .filter(move |ruling| ruling.standing == standing)
    }
}

/// The subjects whose rules are judged: those that were found, and states, which name their own.
fn subjects<'a>(
    knowledge: &'a Knowledge,
    observed: &'a Observation,
) -> impl Iterator<Item = (Option<&'a Part>, &'a Subject)> {
    let found = observed.parts.iter();
    let found = found.filter_map(|part| Some((Some(part), knowledge.subject(&part.subject)?)));
    let states = knowledge
        .subjects()
        .filter(|subject| subject.kind == Kind::State);
    found.chain(states.map(|subject| (None, subject)))
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

impl Ruling {
    /// How a rule stands; `None` where it does not apply.
    fn of(
        subject: &Subject,
        rule: &Rule,
        facts: &Facts,
        measurements: &[&Measurement],
    ) -> Option<Self> {
        let measured = measurements
            .iter()
            .find(|one| one.is_about(rule))
            .map(|one| (*one).clone());
        let belief = measured.as_ref().and_then(|one| one.belief(rule));
        let (standing, missing) = match rule.applies(facts, subject.order) {
            Truth::No => return None,
            _ if rule.status != Status::Current => (Standing::Past, None),
            // A state that cannot be told is no news: most rules of a state are about others.
            Truth::CannotTell(_) if subject.kind == Kind::State => return None,
            Truth::CannotTell(fact) => (Standing::Unknown, Some(fact)),
            Truth::Yes if belief == Some(Belief::Refuted) => (Standing::Refuted, None),
            Truth::Yes => standing(rule, facts, subject.order),
        };
        Some(Self {
            standing,
            missing,
            measured,
            belief,
            ..Self::blank(subject, rule)
        })
    }

    fn blank(subject: &Subject, rule: &Rule) -> Self {
        Self {
            standing: Standing::Unknown,
            missing: None,
            id: rule.id.clone(),
            subject: subject.name.clone(),
            says: rule.says.clone(),
            why: rule.why.clone(),
            costs: rule.costs.clone(),
            by: rule.by,
            said: rule.said.clone(),
            checked: rule.checked.clone(),
            sources: rule.sources.clone(),
            status: rule.status,
            superseded_by: rule.superseded_by.clone(),
            effects: rule.effects,
            set: rule.set.clone(),
            experiment: rule.experiment.clone(),
            tested: rule.tested.clone(),
            measured: None,
            belief: None,
            binds: rule.binds(),
        }
    }

    /// What was measured here is believed most, then what is proved of the process, then words.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match (&self.belief, self.subject.as_str()) {
            (Some(_), _) => 0,
            (None, "state") => 1,
            _ => 2,
        }
    }

    /// Who says so and since when.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}, {}", self.by, self.said)
    }
}

fn standing(rule: &Rule, facts: &Facts, order: Order) -> (Standing, Option<String>) {
    match rule.followed(facts, order) {
        _ if rule.breaks => (Standing::Breaks, None),
        None => (Standing::Information, None),
        Some(Truth::Yes) => (Standing::Followed, None),
        Some(Truth::No) => (Standing::NotFollowed, None),
        Some(Truth::CannotTell(fact)) => (Standing::Open, Some(fact)),
    }
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
        .subject(name)
        .ok_or_else(|| format!("nothing is known about `{name}`"))?;
    if let Some(version) = version
        && Version::parse(version, subject.order).is_none()
    {
        return Err(format!("`{version}` is no version"));
    }
    let part = Part::new(subject, version.map(str::to_owned));
    Ok(Observation {
        name: name.to_owned(),
        parts: vec![part],
        ..Observation::default()
    })
}
