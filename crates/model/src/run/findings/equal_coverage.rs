//! Claims that a policy with another allocator or environment did not change how much was huge.

use super::context::{Claim, Context, MissingInput, PolicyView};
use super::coverage;
use super::{Finding, Rule};
use crate::run::compare::Answer;
use crate::text::wrap::capitalised;

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

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let context = view.context;
    if context.record.header.plan.is_sham(view.policy) {
        return Ok(Claim::Nothing);
    }
    let (here, there) = (
        context.settings(view.policy),
        context.settings(context.baseline()),
    );
    if here.differs_only_in_pages(&there) || context.answer(view.policy) == Some(Answer::NoEffect) {
        return Ok(Claim::Nothing);
    }
    let policy = view.policy;
    let covered = coverage::compare(view)?;
    let amounts = covered.text(policy, context.baseline());
    Ok(if covered.is_equal {
        Claim::Shown(format!(
            "{policy}: it made at most one huge page more, so any effect has another cause. {}",
            capitalised(&amounts)
        ))
    } else {
        Claim::NotShown(format!("{policy}: {amounts}"))
    })
}
