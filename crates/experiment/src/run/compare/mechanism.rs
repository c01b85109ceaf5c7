//! Whether a policy is worse by its means alone: a tracer or a library applies it where no setting of the
//! machine may be changed, and costs the program time without a single huge page.

use super::decision::{Decision, decide};
use super::effect::Effect;
use super::verdict::Evidence;
use super::{PolicyAnswer, Why};
use crate::run::policy::{Policy, Preload, Tracer, realise};
use crate::run::stats::Side;

impl Evidence<'_> {
    /// Why a policy that is worse than the baseline says nothing of huge pages: what applies it is worse
    /// too, and beside that alone the policy is not. `None` where the pages are to blame, or may be.
    /// An effect far beyond that of its means is of the pages, even if few rounds decide nothing beside the means.
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

    /// Returns true when the whole interval of a policy is worse than that of its overhead control. Both intervals
    /// hold with the budget of the verdict.
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

    /// The means that apply a policy, in words, and the policy that has them without huge pages.
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
