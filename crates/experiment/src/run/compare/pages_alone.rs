//! The effect of a policy's huge pages if it also changes how malloc works: the policy against the same policy with
//! small pages.
//!
//! This is a separate claim, and all such policies share the error of the verdict. The as-is baseline is no part of it.
//! A round holds only one run of each arm, so it needs a few more rounds than an answer does.

use serde::Serialize;

use super::rows::Estimate;
use super::verdict::{Evidence, Judgement};
use super::{Change, Comparison, PolicyAnswer};
use crate::run::compare::decision::{Question, is_within_reach};
use crate::run::policy::Policy;

/// The huge pages of a policy, judged by the verdict metric.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct PagesAlone {
    /// Their effect.
    pub answer: PolicyAnswer,
    /// The policy against the allocator-only policy ([`crate::run::plan::Plan::malloc_alone`]), which is the baseline
    /// here.
    pub comparison: Comparison,
}

/// A policy paired with the allocator-only one.
pub(super) struct BesideMalloc<'a> {
    evidence: Evidence<'a>,
    policy: &'a Policy,
}

impl<'a> Evidence<'a> {
    /// Pairs the policy with the allocator-only one. Returns `None` if the plan lacks the latter or uses it as the
    /// baseline anyway, and if programs are compared. No exact test distinguishes two single runs a round by their mean
    /// or tail.
    pub(super) fn beside_malloc(&self, policy: &'a Policy) -> Option<BesideMalloc<'a>> {
        let plan = &self.record.header.plan;
        if self.question.is_approximate() || !plan.programs.is_empty() {
            return None;
        }
        let alone = |it: &'a Policy| {
            plan.malloc_alone(it)
                .filter(|it| it.name != self.baseline.name)
        };
        let baseline = alone(policy)?;
        let claims = plan.policies.iter().filter_map(alone).count() as u32;
        let question = Question {
            claims,
            ..self.question
        };
        let evidence = Evidence {
            baseline,
            question,
            ..*self
        };
        Some(BesideMalloc { evidence, policy })
    }

    /// The effect of the huge pages of each such policy, in the order of the plan.
    pub(super) fn pages_alone(&self) -> Vec<PagesAlone> {
        let policies = self.record.header.plan.policies.iter();
        let pairs = policies.filter_map(|policy| self.beside_malloc(policy));
        let known = pairs.map(|pair| pair.pages_alone());
        known.filter(|it| it.comparison.n > 0).collect()
    }
}

impl BesideMalloc<'_> {
    pub(super) fn malloc_alone(&self) -> &Policy {
        self.evidence.baseline
    }

    /// Its answer. "No difference" needs the whole interval, because the report opens with it.
    pub(super) fn judge(&self) -> Judgement {
        let judgement = self.evidence.judge(&self.policy.name);
        let is_same = judgement.answer == PolicyAnswer::NoDifference;
        match is_same && self.comparison().change != Change::NoDifference {
            true => Judgement {
                answer: PolicyAnswer::NotDecided,
                is_settled: false,
                ..judgement
            },
            false => judgement,
        }
    }

    /// Returns true if this many more rounds could decide.
    pub(super) fn is_within_reach(&self, rounds: u32) -> bool {
        let draws = self.evidence.draws(&self.policy.name);
        is_within_reach(&draws, self.evidence.question, rounds)
    }

    fn pages_alone(&self) -> PagesAlone {
        PagesAlone {
            answer: self.judge().answer,
            comparison: self.comparison(),
        }
    }

    fn comparison(&self) -> Comparison {
        let Evidence {
            baseline,
            metric,
            question,
            ..
        } = self.evidence;
        let pairs = self.evidence.pairs(&self.policy.name);
        let names = [baseline.name.as_str(), &self.policy.name];
        let row = Estimate::of_centers(metric, names, &pairs, question.claims);
        row.finish(question.threshold)
    }
}
