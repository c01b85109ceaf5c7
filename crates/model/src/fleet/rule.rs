//! The rule of a plan: which arm a unit has, as a tree of comparisons.
//!
//! The tree is followed here, and written as SQL and as templates, so that all of them are one
//! definition.

use super::position::{Position, Threshold};

/// What a unit that takes no part has in place of an arm.
pub const OUTSIDE: &str = "outside";

/// A tree of comparisons with an arm at each end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The name of the arm, or [`OUTSIDE`].
    Arm(String),
    /// Whether the position of the subject lies below a threshold.
    Below(Box<Below>),
    /// Whether the period is the first of its pair.
    First {
        /// The rule in the first period of a pair.
        first: Box<Self>,
        /// The rule in the second.
        second: Box<Self>,
    },
}

/// A comparison of a position with a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// The experiment's name, or what several experiments share.
    pub salt: String,
    /// What the position decides.
    pub purpose: &'static str,
    /// Whose position it is.
    pub subject: Subject,
    /// Positions below it go on with `then`.
    pub threshold: Threshold,
    /// The rule below the threshold.
    pub then: Rule,
    /// The rule from the threshold on.
    pub otherwise: Rule,
}

/// Whose position is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The unit.
    Unit,
    /// What the unit shares with others.
    Cluster,
    /// The unit in a pair of periods: `UNIT/PAIR`.
    Pair,
}

/// One unit at one time, as a plan sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it shares with other units; its own name where nothing is shared.
    pub cluster: &'a str,
    /// Index of the period since the plan's start, which switchback plans need.
    pub period: u64,
}

impl Rule {
    /// A comparison that is left out where all or none lie below.
    pub(super) fn below(below: Below) -> Self {
        if below.threshold.is_all() {
            return below.then;
        }
        if below.threshold.is_none() {
            return below.otherwise;
        }
        Self::Below(Box::new(below))
    }

    /// The arm of a unit, or [`OUTSIDE`].
    #[must_use]
    pub fn arm(&self, unit: &Unit<'_>) -> &str {
        match self {
            Self::Arm(name) => name,
            Self::First { first, .. } if unit.period.is_multiple_of(2) => first.arm(unit),
            Self::First { second, .. } => second.arm(unit),
            Self::Below(it) => {
                let subject = it.subject.of(unit);
                let position = Position::of(&it.salt, it.purpose, &subject);
                let next = if it.threshold.is_above(position) {
                    &it.then
                } else {
                    &it.otherwise
                };
                next.arm(unit)
            }
        }
    }
}

impl Subject {
    fn of(self, unit: &Unit<'_>) -> String {
        match self {
            Self::Unit => unit.name.to_owned(),
            Self::Cluster => unit.cluster.to_owned(),
            Self::Pair => format!("{}/{}", unit.name, unit.period / 2),
        }
    }
}
