//! Overhead controls: policies that do to the program what others do, but for the huge pages.

use super::Plan;
use crate::run::policy::Policy;

impl Plan {
    /// The policy under which malloc works as under this one and every page is small: beside it, what the huge pages of
    /// this one do is seen alone. `None` where the plan has none.
    #[must_use]
    pub fn malloc_alone(&self, policy: &Policy) -> Option<&Policy> {
        let program = self.program_of(&policy.name);
        let alone = policy.settings.malloc_alone()?;
        let mut policies = self.policies.iter();
        policies.find(|it| it.settings == alone && self.program_of(&it.name) == program)
    }

    /// Whether a policy is there to tell what another one does besides huge pages, and is no choice by itself: the tracer or
    /// the library without its advice, or malloc with small pages.
    #[must_use]
    pub fn is_overhead_control(&self, name: &str) -> bool {
        let mut policies = self.policies.iter();
        policies.any(|it| it.name == name && is_overhead_control(it, &self.policies))
    }
}

/// Whether it is an overhead control of one of these policies.
fn is_overhead_control(policy: &Policy, policies: &[Policy]) -> bool {
    let is_alone = |it: &Policy| it.settings.malloc_alone().as_ref() == Some(&policy.settings);
    policy.is_idle_means() || policies.iter().any(is_alone)
}

/// Whether one of these policies is there to tell huge pages from malloc, beside another baseline.
#[must_use]
pub fn asks_of_pages(policies: &[Policy], baseline: &str) -> bool {
    let is_malloc_alone = |it: &Policy| it.name != baseline && it.settings.is_malloc_alone();
    let mut policies_alone = policies.iter().filter(|it| is_malloc_alone(it));
    policies_alone.any(|it| is_overhead_control(it, policies))
}

/// How many of these policies are compared with the baseline and no overhead control, and so share the error of the verdict, as far as
/// they change the program's pages. Where an overhead control alone is compared, it is what is asked.
#[must_use]
pub fn claims(policies: &[Policy], baseline: &str) -> u32 {
    let others = policies.iter().filter(|it| it.name != baseline);
    let judged = others
        .filter(|it| !is_overhead_control(it, policies))
        .count() as u32;
    judged.max(u32::from(policies.len() > 1))
}
