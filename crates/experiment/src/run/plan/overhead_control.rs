//! Overhead controls: policies with the same side effects on the program as others, but without the huge pages.

use super::Plan;
use crate::run::policy::Policy;

impl Plan {
    /// The policy under which malloc works as under this one and every page is small. It isolates the effect of this
    /// one's huge pages. `None` if the plan has none.
    #[must_use]
    pub fn malloc_alone(&self, policy: &Policy) -> Option<&Policy> {
        let program = self.program_of(&policy.name);
        let alone = policy.settings.malloc_alone()?;
        let mut policies = self.policies.iter();
        policies.find(|it| it.settings == alone && self.program_of(&it.name) == program)
    }

    /// Returns true if a policy exists only to isolate the other effects of another one, and is not a choice: the
    /// tracer or the library without its advice, or malloc with small pages.
    #[must_use]
    pub fn is_overhead_control(&self, name: &str) -> bool {
        let mut policies = self.policies.iter();
        policies.any(|it| it.name == name && is_overhead_control(it, &self.policies))
    }
}

/// Returns true if it is an overhead control of one of these policies.
fn is_overhead_control(policy: &Policy, policies: &[Policy]) -> bool {
    let is_alone = |it: &Policy| it.settings.malloc_alone().as_ref() == Some(&policy.settings);
    policy.is_idle_means() || policies.iter().any(is_alone)
}

/// Returns true if one of these policies is there to separate huge pages from malloc, with another baseline.
#[must_use]
pub fn asks_of_pages(policies: &[Policy], baseline: &str) -> bool {
    let is_malloc_alone = |it: &Policy| it.name != baseline && it.settings.is_malloc_alone();
    let mut policies_alone = policies.iter().filter(|it| is_malloc_alone(it));
    policies_alone.any(|it| is_overhead_control(it, policies))
}

/// The number of these policies that share the error of the verdict: those compared with the baseline that are not
/// overhead controls, if they change the program's pages. If only an overhead control is compared, it is the question.
#[must_use]
pub fn claims(policies: &[Policy], baseline: &str) -> u32 {
    let others = policies.iter().filter(|it| it.name != baseline);
    let judged = others
        .filter(|it| !is_overhead_control(it, policies))
        .count() as u32;
    judged.max(u32::from(policies.len() > 1))
}
