//! Detects a policy made worse only by its mechanism. If no system setting may be changed, a tracer or a library
//! applies the policy, and costs the program time without a single huge page.

use super::decision::{Decision, decide};
use super::effect::Effect;
use super::verdict::Evidence;
use super::{PolicyAnswer, Why};
use crate::run::policy::{Policy, Preload, Tracer, realise};
use crate::run::stats::Side;

impl Evidence<'_> {
    /// Returns why a worse result under this policy is no evidence about huge pages. Its mechanism is worse too, and
    /// relative to the mechanism the policy is not worse. `None` if the pages are or may be to blame. An effect far
    /// beyond that of the mechanism is due to the pages, even if few rounds decide nothing relative to it.
    pub(super) fn worse_by_means(&self, policy: &Policy) -> Option<Why> {
        let idle = self.overhead_control(policy)?;
        let is_worse = |decision: Option<Decision>| {
            decision.is_some_and(|decision| decision.answer == PolicyAnswer::Worse)
        };
        let beside_means = Evidence {
            baseline: idle,
            ..*self
        };
        let is_by_means = is_worse(self.decision(&idle.name))
            && !is_worse(beside_means.decision(&policy.name))
            && !self.costs_more_than(&policy.name, &idle.name);
        is_by_means.then(|| Why::ByMechanism {
            control: idle.name.clone(),
        })
    }

    /// Returns true if the whole interval of a policy is worse than the interval of its overhead control. Both
    /// intervals are valid at the error of the verdict.
    fn costs_more_than(&self, policy: &str, control: &str) -> bool {
        let effect = |name: &str| {
            let effect = Effect::of_draws(&self.draws(name), self.question.claims)?;
            Some((effect.scale, effect.interval?))
        };
        let (Some((scale, own)), Some((other_scale, other))) = (effect(policy), effect(control))
        else {
            return false;
        };
        let is_beyond = match self.question.gain() {
            Side::Below => own.0 > other.1,
            Side::Above => own.1 < other.0,
        };
        scale == other_scale && is_beyond
    }

    fn decision(&self, policy: &str) -> Option<Decision> {
        decide(&self.draws(policy), self.question)
    }

    /// The policy that uses the same mechanism without huge pages.
    pub(super) fn overhead_control(&self, policy: &Policy) -> Option<&Policy> {
        let own = self.record.header.realisations.get(&policy.name)?;
        let policies = &self.record.header.plan.policies;
        let idle = |is_it: fn(&Policy) -> bool| policies.iter().find(|it| is_it(it));
        if own.tracer == realise::TreeTracer::Huge {
            let idle = idle(|it| it.settings.tracer == Some(Tracer::Idle))?;
            return Some(idle);
        }
        own.library.as_ref()?;
        let idle = idle(|it| it.settings.preload == Some(Preload::Idle))?;
        Some(idle)
    }
}
