//! Whether a policy is worse by its means alone: a tracer or a library applies it where no setting of the
//! machine may be changed, and costs the program time without a single huge page.

use super::decision::{Decision, decide};
use super::verdict::Evidence;
use super::{Answer, Why};
use crate::run::policy::{Policy, Preload, Tracer, realise};

impl Evidence<'_> {
    /// Why a policy that is worse than the baseline says nothing of huge pages: what applies it is worse
    /// too, and beside that alone the policy is not. `None` where the pages are to blame, or may be.
    pub(super) fn worse_by_means(&self, policy: &Policy) -> Option<Why> {
        let idle = self.overhead_control(policy)?;
        let is_worse = |decision: Option<Decision>| {
            decision.is_some_and(|decision| decision.answer == Answer::Worse)
        };
        let beside_means = Evidence {
            baseline: idle,
            ..*self
        };
        let is_by_means =
            is_worse(self.decision(&idle.name)) && !is_worse(beside_means.decision(&policy.name));
        is_by_means.then(|| Why::ByMechanism {
            control: idle.name.clone(),
        })
    }

    fn decision(&self, policy: &str) -> Option<Decision> {
        decide(&self.draws(policy), self.question)
    }

    /// The means that apply a policy, in words, and the policy that has them without huge pages.
    pub(super) fn overhead_control(&self, policy: &Policy) -> Option<&Policy> {
        let own = self.record.header.realisations.get(&policy.name)?;
        let policies = &self.record.header.plan.policies;
        let idle = |is_it: fn(&Policy) -> bool| policies.iter().find(|it| is_it(it));
        if own.tracer == realise::Tracer::Huge {
            let idle = idle(|it| it.settings.tracer == Some(Tracer::Idle))?;
            return Some(idle);
        }
        own.library.as_ref()?;
        let idle = idle(|it| it.settings.preload == Some(Preload::Idle))?;
        Some(idle)
    }
}
