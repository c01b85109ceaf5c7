//! Claims that a policy with another allocator or environment did not change how much was huge.
//!
//! Evidence: huge bytes by kind, equal to within one huge page or 1 % of peak memory. Such a
//! policy may act otherwise than through pages, so that this is no verdict. Refuted by huge
//! memory of a kind that was not read. Next: compare with a policy that differs in pages alone.

use super::coverage;
use super::ground::{Absent, Ground, Look, Said};
use super::{Finding, Rule};
use crate::run::compare::Answer;

/// See the module.
#[derive(Debug)]
pub(super) struct EqualCoverage;

impl Rule for EqualCoverage {
    fn id(&self) -> &'static str {
        "equal-coverage"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy which changes the allocator or the environment left as many bytes \
         huge as the baseline, so that whatever it does to the time is not done through huge \
         pages. Evidence: the peaks of huge memory by kind, equal to within one huge page or 1 % of \
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
    let amounts = covered.told(ground.baseline());
    Ok(if covered.is_equal {
        Said::Shown(format!(
            "{policy}: {amounts}: whatever it changes is hardly done through huge pages"
        ))
    } else {
        Said::NotShown(format!("{policy}: {amounts}"))
    })
}
