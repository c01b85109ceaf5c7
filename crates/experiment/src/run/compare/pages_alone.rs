//! What the huge pages of a policy do that makes malloc work otherwise too: it beside the same with small pages.
//!
//! A claim of its own, with the error of the verdict shared by all such policies: the machine as it is is no part of it,
//! and a round holds one run of each, so that it needs a few rounds more than an answer does.

use serde::Serialize;

use super::rows::Estimate;
use super::verdict::{Evidence, Judgement};
use super::{Change, Comparison, PolicyAnswer};
use crate::run::compare::decision::{Question, is_within_reach};
use crate::run::policy::Policy;

/// The huge pages of a policy, judged by the verdict metric.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct PagesAlone {
    /// What they do.
    pub answer: PolicyAnswer,
    /// The policy against malloc alone ([`crate::run::plan::Plan::malloc_alone`]), which is the baseline here.
    pub comparison: Comparison,
}

/// A policy beside malloc alone.
pub(super) struct BesideMalloc<'a> {
    evidence: Evidence<'a>,
    policy: &'a Policy,
}

impl<'a> Evidence<'a> {
    /// The policy beside malloc alone; `None` where the plan does not have that, or compares with it anyway, and where
    /// programs are compared. No exact test tells two single runs a round apart by their mean or tail.
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

    /// What the huge pages of each such policy do, in the order of the plan.
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

    /// Its answer. That there is no difference needs the whole interval: it is the first sentence, with that beside it.
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

    /// Whether so many more rounds could decide.
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
