//! Claims that a policy with another allocator or environment did not change how much was huge.

use super::coverage;
use super::ground::{Absent, Ground, Look, Said};
use super::{Finding, Rule};
use crate::run::compare::Answer;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct EqualCoverage;

impl Rule for EqualCoverage {
    fn id(&self) -> &'static str {
        "equal-coverage"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy which changes the allocator or the environment left as many bytes \
         huge as the baseline, so that any effect it has is unlikely to come from huge pages. Evidence: the peaks of huge memory by kind, equal to within one huge page or 1 % of \
         peak memory. \
         Refuted by huge memory of a kind that was not read. Next: add the same policy with \
         another thp= value and compare the two."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let ground = look.ground;
    let (here, there) = (
        ground.settings(look.policy),
        ground.settings(ground.baseline()),
    );
    if here.differs_only_in_pages(&there) || ground.answer(look.policy) == Some(Answer::NoEffect) {
        return Ok(Said::Nothing);
    }
    let policy = look.policy;
    let covered = coverage::compare(look)?;
    let amounts = covered.text(ground.baseline());
    Ok(if covered.is_equal {
        Said::Shown(format!(
            "{policy}: it made no more memory huge, so any effect has another cause. {}",
            capitalised(&amounts)
        ))
    } else {
        Said::NotShown(format!("{policy}: {amounts}"))
    })
}

fn capitalised(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
