//! Claims that a policy was in force in some trials only, because the C library takes it by chance.

use super::context::{Claim, Context, MissingInput, PolicyView};
use super::{Finding, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::policy::advice_by_chance;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct TakenByChance;

impl Rule for TakenByChance {
    fn id(&self) -> &'static str {
        "taken-by-chance"
    }

    fn explain(&self) -> &'static str {
        "Claims that some trials of a policy ran without it. Evidence: glibc before 2.37 takes \
         glibc.malloc.hugetlb in some processes and not in others, by what lies on the stack when \
         they start, and these trials had no more huge memory than the baseline. Refuted where the \
         program itself did not allocate in these trials. Next: --policy thp=always, or a newer glibc."
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
    let mut policies = context.policies().iter();
    let policy = policies.find(|policy| policy.name == view.policy);
    if policy.is_none_or(|policy| advice_by_chance(policy, context.host()).is_none()) {
        return Ok(Claim::Nothing);
    }
    let huge = |policy: &str| -> Vec<f64> {
        arm_trials(context.record, policy)
            .filter(|trial| trial.succeeded())
            .filter_map(|trial| trial.value(MetricId::HugeAnonPeakBytes))
            .collect()
    };
    let usual = huge(context.baseline()).into_iter().fold(0.0, f64::max);
    let here = huge(view.policy);
    let taken = here.iter().filter(|&&bytes| bytes > usual).count();
    view.evidence.figure("trials", here.len());
    view.evidence.figure("trials_with_more_huge_memory", taken);
    Ok(match (taken, here.len()) {
        (0, _) => Claim::Nothing,
        (taken, all) if taken < all => Claim::Shown(format!(
            "{}: by chance glibc took the setting in only {taken} of {all} trials; the figures are over \
             all, the {} without it included",
            view.policy,
            all - taken
        )),
        (_, all) => Claim::NotShown(format!(
            "{}: glibc took the setting in all {all} trials",
            view.policy
        )),
    })
}
