//! The result of a rule on a machine: whether it applies, and whether it is followed.

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

/// A rule and its result on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Ruling {
    /// The standing.
    pub standing: Standing,
    /// The unknown fact that the result depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The unknown part of its conditions, if it is undecided whether it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The known facts that it uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub here: Vec<String>,
    /// The facts that differ from its demand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// Name of the rule.
    pub id: String,
    /// Its subject.
    pub subject: String,
    /// The recommendation or information.
    pub says: String,
    /// The reason.
    pub why: String,
    /// The cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<String>,
    /// The authority behind it.
    pub by: Authority,
    /// The date of the source.
    pub said: String,
    /// The day on which the source was last read.
    pub checked: String,
    /// The source that it was compared with on that day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<String>,
    /// Why it was not compared with its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncompared: Option<String>,
    /// The URLs of the sources.
    pub sources: Vec<String>,
    /// Its status.
    pub status: Status,
    /// The rule that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The effects of following it.
    pub effects: Effects,
    /// How to follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Settings>,
    /// The command that tests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Tests on other machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tested: Vec<Tried>,
    /// The measurement on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measurement>,
    /// The meaning of the measurement for the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub belief: Option<Belief>,
    /// A further condition that cannot be read from a machine.
    #[serde(skip)]
    pub(super) premise: Option<String>,
    /// True if `--check` enforces it.
    #[serde(skip)]
    pub(super) binds: bool,
}

/// Returns true if a program was started with the arguments that can make it faster.
fn has_its_arguments(rule: &Rule, facts: &Facts, order: Order) -> bool {
    rule.own_setting().is_some() && rule.followed(facts, order) == Some(Truth::Yes)
}

/// The standing of a rule, most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A state that breaks or kills programs.
    Breaks,
    /// It applies, and is not followed.
    NotFollowed,
    /// It applies, and it is undecided whether it is followed.
    Open,
    /// It applies, and only informs.
    Information,
    /// It applies, and is followed.
    Followed,
    /// A measurement on this machine contradicts it.
    Refuted,
    /// It is undecided whether it applies.
    Unknown,
    /// It is no longer valid.
    Past,
}

impl Standing {
    /// Returns one or two words for people.
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
    /// Evaluates a rule; `None` if it does not apply.
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
            // An undecided state is not reported, because most rules about states concern other programs.
            Truth::CannotTell(_) if subject.kind == SubjectKind::State => return None,
            // An argument that is already set need not be tried.
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

    /// Adds the tests on other machines.
    pub(super) fn with(self, tested: Vec<Tried>) -> Self {
        Self { tested, ..self }
    }

    /// Measurements on this machine count most, then proved facts of the process, then recommendations.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match (&self.belief, self.subject.as_str()) {
            (Some(_), _) => 0,
            (None, "state") => 1,
            _ => 2,
        }
    }

    /// Returns the recommendation or information, with the unknown part of its conditions.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.condition {
            Some(condition) => format!("If {condition}: {}", self.says),
            None => self.says.clone(),
        }
    }

    /// Returns the authority and the date.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}, {}", self.by, self.said)
    }
}

/// Returns the known facts that a rule uses, without duplicates.
fn here(rule: &Rule, facts: &Facts) -> Vec<String> {
    once_each(rule.conditions().flat_map(|it| it.state(facts)))
}

/// Returns the facts that violate the condition of a rule. If the condition holds, returns the pages of the process
/// that violate its aim.
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

/// Evaluates whether a rule is followed. Machine settings apply to all programs; the pages of the process show more.
fn followed(rule: &Rule, facts: &Facts, order: Order) -> Option<Truth> {
    let followed = rule.followed(facts, order)?;
    let aim = rule.set.as_ref().and_then(Settings::aim);
    let is_missed = followed == Truth::Yes && aim.is_some_and(|aim| aim.is_missed(facts));
    Some(if is_missed { Truth::No } else { followed })
}

/// Returns the unknown part of a rule's premise and condition.
fn open_condition(rule: &Rule, facts: &Facts, order: Order) -> Option<String> {
    let parts = rule.premise.clone().into_iter();
    let parts: Vec<_> = parts.chain(rule.open_condition(facts, order)).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

fn standing(rule: &Rule, facts: &Facts, order: Order) -> (Standing, Option<String>) {
    match followed(rule, facts, order) {
        _ if rule.breaks => (Standing::Breaks, None),
        // A followed rule counts as followed whether the premise holds or not.
        Some(Truth::Yes) => (Standing::Followed, None),
        _ if rule.premise.is_some() => (Standing::Unknown, None),
        None => (Standing::Information, None),
        Some(Truth::No) => (Standing::NotFollowed, None),
        Some(Truth::CannotTell(fact)) => (Standing::Open, Some(fact)),
    }
}
