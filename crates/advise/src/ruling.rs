//! A rule as it stands on a machine: whether it applies, and whether it is followed.

use serde::Serialize;

use super::aim::PAGES;
use super::condition::{Truth, once_each, state_of};
use super::fact::Facts;
use super::measured::{Belief, Measurement};
use super::rule::{Authority, Effects, Rule, Status};
use super::settings::Settings;
use super::subject::{Subject, SubjectKind};
use super::tried::Tried;
use super::version::Order;

/// A rule, and how it stands here.
#[derive(Clone, Debug, Serialize)]
pub struct Ruling {
    /// How it stands.
    pub standing: Standing,
    /// The fact that would be needed to tell more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// What would have to be so for it to apply, where that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What is known here of the facts that it asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub here: Vec<String>,
    /// What of these is not as it asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
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
    /// What it was compared with on that day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<String>,
    /// Why it was not compared with its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncompared: Option<String>,
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
    pub tested: Vec<Tried>,
    /// What was measured on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measurement>,
    /// What that means for the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub belief: Option<Belief>,
    /// What has to be so besides and cannot be read from a machine.
    #[serde(skip)]
    pub(super) premise: Option<String>,
    /// Whether it is asked of everybody (`--check`).
    #[serde(skip)]
    pub(super) binds: bool,
}

/// Whether a program was started with the arguments by which it may run faster.
fn has_its_arguments(rule: &Rule, facts: &Facts, order: Order) -> bool {
    rule.own_setting().is_some() && rule.followed(facts, order) == Some(Truth::Yes)
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
            Self::Followed => "already so",
            Self::Refuted => "refuted here",
            Self::Unknown => "may apply",
            Self::Past => "no longer said",
        }
    }
}

impl Ruling {
    /// How a rule stands; `None` where it does not apply.
    pub(super) fn of(
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
            Truth::CannotTell(_) if subject.kind == SubjectKind::State => return None,
            // An argument that is there is not to be tried.
            Truth::CannotTell(_) if has_its_arguments(rule, facts, subject.order) => {
                (Standing::Followed, None)
            }
            Truth::CannotTell(fact) => (Standing::Unknown, Some(fact)),
            Truth::Yes if belief == Some(Belief::Refuted) => (Standing::Refuted, None),
            Truth::Yes => standing(rule, facts, subject.order),
        };
        Some(Self {
            standing,
            condition: match standing {
                Standing::Unknown => open_condition(rule, facts, subject.order),
                _ => None,
            },
            missing,
            here: here(rule, facts),
            differs: match standing {
                Standing::NotFollowed => differences(rule, facts, subject.order),
                _ => Vec::new(),
            },
            measured,
            belief,
            ..Self::blank(subject, rule)
        })
    }

    fn blank(subject: &Subject, rule: &Rule) -> Self {
        Self {
            standing: Standing::Unknown,
            missing: None,
            condition: None,
            here: Vec::new(),
            differs: Vec::new(),
            id: rule.id.clone(),
            subject: subject.name.clone(),
            says: rule.says.clone(),
            why: rule.why.clone(),
            costs: rule.costs.clone(),
            by: rule.by,
            said: rule.said.clone(),
            checked: rule.checked.clone(),
            compared: rule.compared.clone(),
            uncompared: rule.uncompared.clone(),
            sources: rule.sources.clone(),
            status: rule.status,
            superseded_by: rule.superseded_by.clone(),
            effects: rule.effects,
            set: rule.set.clone(),
            experiment: rule.experiment.clone(),
            tested: Vec::new(),
            measured: None,
            belief: None,
            premise: rule.premise.clone(),
            binds: rule.binds(),
        }
    }

    /// The same with the tests that were made elsewhere.
    pub(super) fn with(self, tested: Vec<Tried>) -> Self {
        Self { tested, ..self }
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

    /// What to do or to know, with what would have to be so for it to apply.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.condition {
            Some(condition) => format!("If {condition}: {}", self.says),
            None => self.says.clone(),
        }
    }

    /// Who says so and since when.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}, {}", self.by, self.said)
    }
}

/// What is known of the facts that a rule asks for, each once.
fn here(rule: &Rule, facts: &Facts) -> Vec<String> {
    once_each(rule.conditions().flat_map(|it| it.state(facts)))
}

/// What is not as a rule asks: of its condition, or of the pages of the process if that holds.
fn differences(rule: &Rule, facts: &Facts, order: Order) -> Vec<String> {
    let followed = rule.followed.iter();
    let differs: Vec<String> = followed
        .flat_map(|it| it.differences(facts, order))
        .collect();
    match differs.is_empty() {
        true => once_each(PAGES.iter().filter_map(|name| state_of(name, facts))),
        false => differs,
    }
}

/// Whether a rule is followed. The settings of the machine tell of all programs; the pages of the process show more.
fn followed(rule: &Rule, facts: &Facts, order: Order) -> Option<Truth> {
    let followed = rule.followed(facts, order)?;
    let aim = rule.set.as_ref().and_then(Settings::aim);
    let is_missed = followed == Truth::Yes && aim.is_some_and(|aim| aim.is_missed(facts));
    Some(if is_missed { Truth::No } else { followed })
}

/// What of a rule's premise and condition is not known.
fn open_condition(rule: &Rule, facts: &Facts, order: Order) -> Option<String> {
    let parts = rule.premise.clone().into_iter();
    let parts: Vec<_> = parts.chain(rule.open_condition(facts, order)).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

fn standing(rule: &Rule, facts: &Facts, order: Order) -> (Standing, Option<String>) {
    match followed(rule, facts, order) {
        _ if rule.breaks => (Standing::Breaks, None),
        // What is followed is so whether the premise holds or not.
        Some(Truth::Yes) => (Standing::Followed, None),
        _ if rule.premise.is_some() => (Standing::Unknown, None),
        None => (Standing::Information, None),
        Some(Truth::No) => (Standing::NotFollowed, None),
        Some(Truth::CannotTell(fact)) => (Standing::Open, Some(fact)),
    }
}
