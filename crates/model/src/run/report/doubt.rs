//! Reasons why a pipeline must not rest on a result.

use std::collections::BTreeSet;
use std::fmt;

use super::Report;
use super::control::outcome;
use crate::run::compare::Answer;
use crate::run::compare::ControlOutcome;
use crate::text::wrap::plain;

/// A doubt about the whole of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The control failed.
    ControlFailed,
    /// The control is inconclusive.
    ControlTooWide,
    /// A policy was not in force in some of its trials.
    NotApplied {
        /// Its name.
        policy: String,
        /// Whether the answer gives it as the reason why the policy has none.
        is_told: bool,
    },
    /// No policy got an answer.
    NothingDecided,
}

impl Doubt {
    /// Whether it is serious enough to be said where nobody asked for strictness.
    #[must_use]
    pub fn is_serious(&self) -> bool {
        matches!(
            self,
            Self::ControlFailed | Self::NotApplied { is_told: false, .. }
        )
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlFailed => f.write_str(
                "the control failed: the baseline differs from itself by more than the threshold",
            ),
            Self::ControlTooWide => f.write_str("the control is inconclusive"),
            Self::NotApplied { policy, .. } => {
                write!(
                    f,
                    "{} was not in force in some or all trials",
                    plain(policy)
                )
            }
            Self::NothingDecided => f.write_str("nothing is decided"),
        }
    }
}

/// The doubts about a report; none where nothing is compared.
pub(super) fn doubts(report: &Report<'_>) -> Vec<Doubt> {
    let answers = &report.table.verdict.policies;
    if answers.is_empty() {
        return Vec::new();
    }
    let control = match outcome(report) {
        Some(ControlOutcome::Failed) => Some(Doubt::ControlFailed),
        Some(ControlOutcome::TooWide) => Some(Doubt::ControlTooWide),
        Some(ControlOutcome::Passed) | None => None,
    };
    let is_open = |answer: &Answer| matches!(answer, Answer::NotDecided | Answer::DependsOnOrder);
    let nothing = answers
        .values()
        .all(is_open)
        .then_some(Doubt::NothingDecided);
    control
        .into_iter()
        .chain(not_applied(report))
        .chain(nothing)
        .collect()
}

/// The policies that were not in force in some trial.
fn not_applied<'a>(report: &'a Report<'_>) -> impl Iterator<Item = Doubt> + 'a {
    let trials = report.record.trials.iter();
    let marked = trials.filter(|trial| trial.lacked_its_policy());
    let marked: BTreeSet<&str> = marked.map(|trial| trial.policy.as_str()).collect();
    let reasons = &report.table.verdict.reasons;
    marked.into_iter().map(|policy| Doubt::NotApplied {
        policy: policy.to_owned(),
        is_told: reasons.contains_key(policy),
    })
}
