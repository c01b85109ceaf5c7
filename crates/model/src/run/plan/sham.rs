//! Shams: policies that do to the program what others do, but for the huge pages.

use super::Plan;
use crate::run::compare::{fewest_rounds, fewest_rounds_of_single_runs};
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
    pub fn is_sham(&self, name: &str) -> bool {
        let mut policies = self.policies.iter();
        policies.any(|it| it.name == name && is_sham(it, &self.policies))
    }
}

/// Whether it is a sham of one of these policies.
fn is_sham(policy: &Policy, policies: &[Policy]) -> bool {
    let is_alone = |it: &Policy| it.settings.malloc_alone().as_ref() == Some(&policy.settings);
    policy.is_idle_means() || policies.iter().any(is_alone)
}

/// The fewest rounds that can answer what is asked of these policies: each beside the baseline, and huge pages alone beside
/// malloc alone.
#[must_use]
pub fn fewest_rounds_of(policies: &[Policy], baseline: &str) -> u32 {
    let fewest = fewest_rounds(claims(policies, baseline));
    let is_malloc_alone = |it: &Policy| it.name != baseline && it.settings.is_malloc_alone();
    let asks_of_pages = policies
        .iter()
        .any(|it| is_malloc_alone(it) && is_sham(it, policies));
    match asks_of_pages {
        true => fewest.max(fewest_rounds_of_single_runs()),
        false => fewest,
    }
}

/// How many of these policies are compared with the baseline and no sham, and so share the error of the verdict, as far as
/// they change the program's pages. Where a sham alone is compared, it is what is asked.
fn claims(policies: &[Policy], baseline: &str) -> u32 {
    let others = policies.iter().filter(|it| it.name != baseline);
    let judged = others.filter(|it| !is_sham(it, policies)).count() as u32;
    judged.max(u32::from(policies.len() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_alone_take_more_rounds() {
        let of = |names: &[&str], baseline: &str| {
            let policies = names.iter().map(|name| name.parse().expect("a policy"));
            fewest_rounds_of(&policies.collect::<Vec<_>>(), baseline)
        };
        let usual = ["as-is", "malloc=thp", "thp=never,malloc=thp"];
        assert_eq!(of(&usual[..2], "as-is"), 5);
        assert_eq!(of(&usual, "as-is"), 7);
        // As the baseline it has two runs a round.
        assert_eq!(of(&usual, "thp=never,malloc=thp"), 6);
        // A sham is no claim, unless it is all that is asked.
        assert_eq!(of(&["as-is", "thp=always", "tracer=idle"], "as-is"), 5);
        assert_eq!(of(&["as-is", "tracer=idle"], "as-is"), 5);
    }
}
