//! Claims that a policy was in force in some trials only, because the C library takes it by chance.

use super::context::{Claim, Context, MissingInput, PolicyView};
use super::{Finding, Rule};
use crate::run::compare::labels::{effect_of_ratio, metric_of};
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::policy::advice_by_chance;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct TakenByChance;

impl Rule for TakenByChance {
    fn id(&self) -> &'static str {
        "taken-by-chance"
    }

    fn explain(&self) -> &'static str {
        "Claims that some trials of a policy ran without it. Evidence: glibc before 2.38 takes \
         glibc.malloc.hugetlb in some starts and misses it in others, by what lies on the stack, and \
         these trials had no more huge memory than the baseline. Refuted where the \
         program itself did not allocate in these trials. Next: LD_BIND_NOW=1 too, or a newer glibc."
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
    let seen = |policy: &str| -> Vec<(&Trial, f64)> {
        let good = arm_trials(context.record, policy).filter(|trial| trial.succeeded());
        good.filter_map(|trial| Some((trial, trial.value(MetricId::HugeAnonPeakBytes)?)))
            .collect()
    };
    let usual = seen(context.baseline()).into_iter();
    let usual = usual.map(|(_, bytes)| bytes).fold(0.0, f64::max);
    let own = seen(view.policy);
    let all = own.len();
    let with_it: Vec<&Trial> = own
        .into_iter()
        .filter(|(_, bytes)| *bytes > usual)
        .map(|(trial, _)| trial)
        .collect();
    view.evidence.figure("trials", all);
    view.evidence
        .figure("trials_with_more_huge_memory", with_it.len());
    Ok(match with_it.len() {
        0 => Claim::Nothing,
        taken if taken < all => {
            let alone = ratio(context, &with_it).map_or_else(String::new, |ratio| {
                view.evidence.figure("ratio_where_taken", ratio);
                let metric = metric_of(context.record, &context.table.verdict.metric);
                format!(
                    "; in the {taken} alone: {} {}",
                    metric.label,
                    effect_of_ratio(ratio)
                )
            });
            Claim::Shown(format!(
                "{}: glibc takes the setting by chance, here in {taken} of {all} trials, and from 2.38 on always; \
                 with LD_BIND_NOW=1 in all or in none; the figures are over all{alone}",
                view.policy
            ))
        }
        _ => Claim::NotShown(format!(
            "{}: glibc took the setting in all {all} trials",
            view.policy
        )),
    })
}

/// Fewer trials show no typical ratio.
const FEWEST: usize = 6;

/// The median ratio of these trials to the baseline of their rounds, by the metric that is judged. What lies on the stack
/// when a process starts is no matter of its speed, so that the choice of trials favours none; it is an estimate all the
/// same, beside the one claim.
fn ratio(context: &Context<'_>, trials: &[&Trial]) -> Option<f64> {
    let metric = context.table.verdict.metric.as_str();
    let baseline = |round: u32| {
        let runs = context.record.trials.iter().filter(|trial| {
            trial.round == round && trial.policy == context.baseline() && trial.succeeded()
        });
        let values: Vec<f64> = runs.filter_map(|trial| trial.value(metric)).collect();
        median(&values).filter(|value| *value > 0.0)
    };
    let ratios = trials
        .iter()
        .filter_map(|trial| Some(trial.value(metric)? / baseline(trial.round)?));
    let ratios: Vec<f64> = ratios.collect();
    median(&ratios).filter(|_| ratios.len() >= FEWEST)
}
