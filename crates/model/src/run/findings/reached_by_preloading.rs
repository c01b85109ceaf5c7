//! Claims that a policy was put in force by a preloaded library, and what that costs.

use super::context::{Context, Evidence};
use super::means::Cost;
use super::{Finding, Outcome, Rule};
use crate::run::compare::medians::arm_trials;
use crate::run::policy::{Policy, Thp};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct ReachedByPreloading;

impl Rule for ReachedByPreloading {
    fn id(&self) -> &'static str {
        "reached-by-preloading"
    }

    fn explain(&self) -> &'static str {
        "Claims that thp=always was put in force by a preloaded library, which has the C library's \
         mmap, mremap and brk call madvise(MADV_HUGEPAGE) on what can hold a huge page. Programs \
         without a loader (static, most of Go), set-user-ID programs, and memory that is mapped \
         without the C library are not reached. Evidence: the largest process had mapped the \
         library; the policy preload=idle, which makes the same calls without effect, against the \
         baseline. Refuted by huge pages that the program has without the library. Next: where \
         ptrace is allowed a tracer reaches every program; as root, --system needs neither."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        let policies = context.policies().iter();
        let preloaded = policies.filter(|policy| is_preloaded(context, policy));
        preloaded
            .filter_map(|policy| finding(self, context, &policy.name))
            .collect()
    }
}

fn is_preloaded(context: &Context<'_>, policy: &Policy) -> bool {
    let realisation = context.record.header.realisations.get(&policy.name);
    policy.settings.thp == Some(Thp::Always) && realisation.is_some_and(|it| it.library.is_some())
}

fn finding(rule: &ReachedByPreloading, context: &Context<'_>, policy: &str) -> Option<Finding> {
    let trials = arm_trials(context.record, policy);
    let had = trials.filter(|trial| trial.read_back.library == Some(true));
    let trials = Some(had.count()).filter(|&trials| trials > 0)?;
    let mut evidence = Evidence::default();
    evidence.figure("trials_with_library", trials);
    let cost = Cost::of(context, |policy| policy.settings.preload.is_some());
    cost.note(&mut evidence, "preloading_cost_ratio");
    let how = "a preloaded library, which has the program advise its own memory";
    Some(Finding {
        id: rule.id().to_owned(),
        policy: Some(policy.to_owned()),
        outcome: Outcome::Shown,
        text: cost.claim(policy, "preloading", how, "preload=idle"),
        evidence: evidence.0,
        explanation: rule.explain(),
        answers: rule.answers(),
    })
}
