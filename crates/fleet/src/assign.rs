//! The arm of a unit: a pure function of the plan, the unit's name and the time.
//!
//! It is a list of rules that compare hashes with thresholds as text. SQL and templates can express the same with only
//! SHA-256 and string comparison ([`snippet`](crate::snippet)).

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::plan::{Moment, Plan};

/// Digits of a hash: 52 bits, which a double represents exactly.
const DIGITS: usize = 13;
const SPAN: f64 = (1_u64 << 52) as f64;

/// A random decision by hash, with its text in the hashed string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draw {
    /// Enrolment of the unit.
    Enrol,
    /// The arm of the unit.
    Arm,
    /// The saturation of the cluster.
    Saturation,
    /// The order of the arms in a pair of turns.
    Switch,
}

impl Draw {
    /// The word in the hashed text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Enrol => "enrol",
            Self::Arm => "arm",
            Self::Saturation => "saturation",
            Self::Switch => "switch",
        }
    }
}

/// The first 13 hexadecimal digits of SHA-256 of `SALT/DRAW/SUBJECT`.
#[must_use]
pub fn hash(salt: &str, draw: Draw, subject: &str) -> String {
    let text = format!("{salt}/{}/{subject}", draw.word());
    hex(&Sha256::digest(text.as_bytes()))[..DIGITS].to_owned()
}

/// The first 16 hexadecimal digits of SHA-256 of a plan's text.
#[must_use]
pub fn digest(plan: &str) -> String {
    hex(&Sha256::digest(plan.as_bytes()))[..16].to_owned()
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// The threshold below which this share of all hashes is.
#[must_use]
pub fn digits(share: f64) -> String {
    format!("{:013x}", (share * SPAN).round() as u64)
}

/// A share as a text for comparison with hashes: that share of all hashes is below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Threshold(String);

impl Threshold {
    /// The threshold for a share from 0 to 1. For 1 it contains a `g`, which is above every hexadecimal digit.
    #[must_use]
    pub fn of(share: f64) -> Self {
        if (share * SPAN).round() >= SPAN {
            return Self("g".to_owned());
        }
        Self(digits(share))
    }

    fn is_all(&self) -> bool {
        self.0 == "g"
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The hash is below the threshold.
    Below(Draw, Threshold),
    /// The hash is at or above the threshold.
    AtLeast(Draw, Threshold),
}

/// One rule, which applies to the units that fulfil its conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignmentRule {
    /// The conditions, combined with AND.
    pub when: Vec<Condition>,
    /// Index of the arm; `None` means outside the experiment.
    pub arm: Option<usize>,
    /// Treated share of the cluster's units.
    pub saturation: Option<f64>,
}

/// The rules of a plan at one point in time. The first matching rule applies; the last one always matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The rules, in order.
    pub rules: Vec<AssignmentRule>,
    /// The current stage; `None` before the first.
    pub stage: Option<usize>,
    /// The pair of turns, if arms take turns.
    pub pair: Option<u64>,
}

/// The arm of a unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assignment {
    /// The unit.
    pub unit: String,
    /// Its cluster.
    pub cluster: String,
    /// Name of its arm, or `outside`.
    pub arm: String,
    /// Index of the stage.
    pub stage: Option<usize>,
    /// Treated share of the cluster's units.
    pub saturation: Option<f64>,
    /// The enrolment hash.
    pub enrol: String,
    /// The arm hash.
    pub draw: String,
}

/// The word for units without an arm.
pub const OUTSIDE: &str = "outside";

/// The name of the arm with this index, or `outside`.
#[must_use]
pub fn arm_name(plan: &Plan, arm: Option<usize>) -> &str {
    let arm = arm.and_then(|at| plan.arms.get(at));
    arm.map_or(OUTSIDE, |arm| &arm.name)
}

/// The rules of a plan at a point in time.
#[must_use]
pub fn rules(plan: &Plan, now: Moment) -> Rules {
    let stage = plan.stage_at(now);
    let turn = plan.turn_at(now);
    let mut rules = Vec::new();
    let is_over = now >= plan.until;
    match stage.filter(|_| !is_over) {
        None => rules.push(otherwise(None, None)),
        Some(stage) => {
            rules.extend(enrolment(plan, stage));
            rules.extend(arms(plan, turn));
        }
    }
    Rules {
        rules,
        stage,
        pair: turn.map(|turn| turn / 2),
    }
}

fn enrolment(plan: &Plan, stage: usize) -> Vec<AssignmentRule> {
    let [lower, upper] = plan.band;
    let upper = Threshold::of((upper - lower).mul_add(plan.share_of(stage), lower));
    let outside = |condition| rule(vec![condition], None, None);
    let mut rules = Vec::new();
    if lower > 0.0 {
        rules.push(outside(Condition::Below(Draw::Enrol, Threshold::of(lower))));
    }
    if !upper.is_all() {
        rules.push(outside(Condition::AtLeast(Draw::Enrol, upper)));
    }
    rules
}

fn arms(plan: &Plan, turn: Option<u64>) -> Vec<AssignmentRule> {
    if plan.switchback.is_some() {
        return by_turn(turn.unwrap_or(0));
    }
    if !plan.saturation.is_empty() {
        return by_saturation(&plan.saturation);
    }
    let total: f64 = plan.arms.iter().map(|arm| arm.weight).sum();
    let last = plan.arms.len() - 1;
    let mut below = 0.0;
    let mut rules = Vec::new();
    for (at, arm) in plan.arms[..last].iter().enumerate() {
        below += arm.weight;
        let condition = Condition::Below(Draw::Arm, Threshold::of(below / total));
        rules.push(rule(vec![condition], Some(at), None));
    }
    rules.push(otherwise(Some(last), None));
    rules
}

/// Both arms in each pair of turns: the second turn has the arm that the first had not.
fn by_turn(turn: u64) -> Vec<AssignmentRule> {
    let (first, second) = match turn.is_multiple_of(2) {
        true => (0, 1),
        false => (1, 0),
    };
    let half = Condition::Below(Draw::Switch, Threshold::of(0.5));
    vec![
        rule(vec![half], Some(first), None),
        otherwise(Some(second), None),
    ]
}

fn by_saturation(levels: &[f64]) -> Vec<AssignmentRule> {
    let mut rules = Vec::new();
    for (at, &level) in levels.iter().enumerate() {
        let share = Threshold::of((at + 1) as f64 / levels.len() as f64);
        let in_level = Condition::Below(Draw::Saturation, share.clone());
        let in_level: Vec<Condition> = (!share.is_all()).then_some(in_level).into_iter().collect();
        let treated = Condition::Below(Draw::Arm, Threshold::of(level));
        let mut when = in_level.clone();
        when.push(treated);
        rules.push(rule(when, Some(1), Some(level)));
        rules.push(rule(in_level, Some(0), Some(level)));
    }
    rules
}

fn rule(when: Vec<Condition>, arm: Option<usize>, saturation: Option<f64>) -> AssignmentRule {
    AssignmentRule {
        when,
        arm,
        saturation,
    }
}

fn otherwise(arm: Option<usize>, saturation: Option<f64>) -> AssignmentRule {
    rule(Vec::new(), arm, saturation)
}

impl Rules {
    /// The rule that applies to a unit.
    #[must_use]
    pub fn rule_of(&self, plan: &Plan, unit: &str) -> &AssignmentRule {
        self.rule_by(|draw| self.hash_of(plan, draw, unit))
    }

    /// The rule that applies to hashes from any source. Each draw is requested at most once.
    #[must_use]
    pub fn rule_by(&self, mut hash_of: impl FnMut(Draw) -> String) -> &AssignmentRule {
        // Several conditions can use the same hash.
        let mut hashes: [Option<String>; 4] = Default::default();
        let mut holds = |condition: &Condition| {
            let (Condition::Below(draw, _) | Condition::AtLeast(draw, _)) = condition;
            let known = &mut hashes[*draw as usize];
            let hash = known.get_or_insert_with(|| hash_of(*draw));
            match condition {
                Condition::Below(_, threshold) => *hash < threshold.0,
                Condition::AtLeast(_, threshold) => *hash >= threshold.0,
            }
        };
        let fits = |rule: &&AssignmentRule| rule.when.iter().all(&mut holds);
        const NOBODY: &AssignmentRule = &AssignmentRule {
            when: Vec::new(),
            arm: None,
            saturation: None,
        };
        self.rules.iter().find(fits).unwrap_or(NOBODY)
    }

    /// Returns true if a unit is enrolled.
    #[must_use]
    pub fn enrols(&self, plan: &Plan, unit: &str) -> bool {
        self.rule_of(plan, unit).arm.is_some()
    }

    /// Returns true if any rule uses this draw.
    #[must_use]
    pub fn ask(&self, draw: Draw) -> bool {
        let mut conditions = self.rules.iter().flat_map(|rule| &rule.when);
        conditions.any(|condition| {
            let (Condition::Below(own, _) | Condition::AtLeast(own, _)) = condition;
            *own == draw
        })
    }

    /// The rules among enrolled units.
    #[must_use]
    pub fn of_enrolled(&self) -> Self {
        let mut rules = self.clone();
        rules.rules.retain(|rule| rule.arm.is_some());
        rules
    }

    fn hash_of(&self, plan: &Plan, draw: Draw, unit: &str) -> String {
        match draw {
            Draw::Enrol => hash(plan.enrol_salt(), draw, unit),
            Draw::Arm => hash(&plan.name, draw, unit),
            Draw::Saturation => hash(&plan.name, draw, plan.unit.cluster(unit)),
            Draw::Switch => {
                let pair = self.pair.unwrap_or(0);
                hash(&plan.name, draw, &format!("{unit}/{pair}"))
            }
        }
    }
}

/// The arm of a unit at a point in time.
#[must_use]
pub fn assign(plan: &Plan, unit: &str, now: Moment) -> Assignment {
    let rules = rules(plan, now);
    let rule = rules.rule_of(plan, unit);
    Assignment {
        unit: unit.to_owned(),
        cluster: plan.unit.cluster(unit).to_owned(),
        arm: arm_name(plan, rule.arm).to_owned(),
        stage: rules.stage,
        saturation: rule.saturation,
        enrol: rules.hash_of(plan, Draw::Enrol, unit),
        draw: rules.hash_of(plan, Draw::Arm, unit),
    }
}

#[cfg(test)]
mod tests;
