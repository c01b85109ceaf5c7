//! Do two programs gain equally from a policy?
//!
//! In each round, a program's gain is the logarithm of its value under the policy minus that under the baseline.
//! Suppose that the gain of one program exceeds that of the other by exactly θ. Then the difference of the two minus θ
//! is as likely to be positive as negative: swapping the programs flips its sign. Swapping the policies does so too,
//! which is enough if one program is noisier than the other. So the test of pairs is valid for it as for a policy, at
//! any stopping time. The second run of the baseline is left out: a value minus the mean of two is skewed if the noise
//! is.

use serde::{Deserialize, Serialize};

use super::decision::{Decision, Question, decide, is_within_reach};
use super::effect::{Draws, Effect};
use super::rounds::Rounds;
use super::{PolicyAnswer, Scale};
use crate::run::metric::Better;
use crate::run::plan::{JudgeBy, Plan, Program};
use crate::run::record::RemovalReason;
use crate::run::stats::Draw;

/// The additional gain of a program from a policy over the first program's gain.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Interaction {
    /// Name of the program.
    pub program: String,
    /// The program that it is compared with.
    pub baseline_program: String,
    /// Name of the policy.
    pub policy: String,
    /// The policy that it is compared with.
    pub baseline: String,
    /// The result.
    pub gain: Gain,
    /// By how many percent the program is better under the policy than it would be with the gain of the first program;
    /// negative if it gains less. `None` if nothing was compared.
    pub points: Option<f64>,
    /// Lower end of its interval, valid at any stopping time and corrected for all interactions of the experiment;
    /// `None` with too few rounds.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Number of rounds in which all four were read.
    pub n: u32,
}

/// The result for an interaction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// The program gains more than the first.
    More,
    /// It gains less.
    Less,
    /// The two gains differ by less than the threshold.
    Alike,
    /// The rounds do not decide.
    NotDecided,
}

/// Two programs and two policies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) program: &'a Program,
    pub(super) baseline_program: &'a Program,
    pub(super) policy: &'a str,
    pub(super) baseline: &'a str,
}

impl<'a> Pair<'a> {
    /// The interactions that a plan tests, with its policies compared with `baseline`.
    pub(super) fn all(plan: &'a Plan, baseline: &'a str) -> Vec<Self> {
        let Some((first, others)) = plan.programs.split_first() else {
            return Vec::new();
        };
        let is_there = |arm: &str| plan.policies.iter().any(|it| it.name == arm);
        let policies = plan.own_policies().into_iter();
        let pairs = policies
            .filter(|policy| *policy != baseline)
            .flat_map(|policy| {
                others.iter().map(move |program| Self {
                    program,
                    baseline_program: first,
                    policy,
                    baseline,
                })
            });
        pairs
            .filter(|pair| pair.arms().iter().all(|arm| is_there(arm)))
            .collect()
    }

    fn arms(&self) -> [String; 4] {
        let (new, old) = (self.program, self.baseline_program);
        [
            new.under(self.policy),
            new.under(self.baseline),
            old.under(self.policy),
            old.under(self.baseline),
        ]
    }

    /// The differences of the two gains as ratios, one a round; `None` if a zero rules that out.
    fn draws(&self, rounds: &Rounds<'_>, metric: &str) -> Option<Draws> {
        let [new, new_baseline, old, old_baseline] = self.arms();
        let (scale, new) = rounds.draws(metric, &new_baseline, &new).by_round();
        let (old_scale, old) = rounds.draws(metric, &old_baseline, &old).by_round();
        if [scale, old_scale].contains(&Scale::Difference) {
            return None;
        }
        let draws = new.into_iter().filter_map(|(round, new)| {
            let gain = |draw: &Draw| draw.policies()[0] - draw.baselines()[0];
            let difference = gain(&new) - gain(old.get(&round)?);
            Some(Draw::pair(difference.exp(), 1.0))
        });
        Some(Draws::of(draws.collect()))
    }
}

/// The criteria by which the interactions of an experiment are judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judge<'a> {
    pub(super) rounds: &'a Rounds<'a>,
    pub(super) metric: &'a str,
    pub(super) better: Better,
    pub(super) threshold: f64,
    /// The number of interactions that share the error.
    pub(super) claims: u32,
}

impl Judge<'_> {
    fn question(&self) -> Question {
        Question {
            better: self.better,
            threshold: self.threshold,
            claims: self.claims,
            judge_by: JudgeBy::Typical,
        }
    }

    fn decision(&self, draws: &Draws) -> Option<Decision> {
        let is_directed = self.better != Better::Neither;
        is_directed.then(|| decide(draws, self.question()))?
    }

    /// Judges one interaction by its rounds.
    pub(super) fn judge(&self, pair: &Pair<'_>) -> Interaction {
        let draws = pair.draws(self.rounds, self.metric);
        let effect = draws
            .as_ref()
            .and_then(|draws| Effect::of_draws(draws, self.claims));
        let answer = draws.as_ref().and_then(|draws| self.decision(draws));
        let ends = effect.and_then(|effect| effect.interval);
        let ends = ends.map(|(low, high)| [low, high].map(|end| self.points(end)));
        Interaction {
            program: pair.program.name.clone(),
            baseline_program: pair.baseline_program.name.clone(),
            policy: pair.policy.to_owned(),
            baseline: pair.baseline.to_owned(),
            gain: match answer.map(|decision| decision.answer) {
                Some(PolicyAnswer::Better) => Gain::More,
                Some(PolicyAnswer::Worse) => Gain::Less,
                Some(PolicyAnswer::NoDifference) => Gain::Alike,
                _ => Gain::NotDecided,
            },
            points: effect.map(|effect| self.points(effect.estimate)),
            low: ends.map(|[one, other]| one.min(other)),
            high: ends.map(|[one, other]| one.max(other)),
            n: draws.map_or(0, |draws| draws.values.len() as u32),
        }
    }

    /// A difference of logarithms in percent, positive if the program gains more.
    fn points(&self, difference: f64) -> f64 {
        let change = 100.0 * difference.exp_m1();
        match self.better {
            Better::Higher => change,
            _ => -change,
        }
    }

    /// Returns why no further round is needed, or `None` if one is.
    pub(super) fn settled(
        &self,
        pair: &Pair<'_>,
        rounds_left: Option<u32>,
    ) -> Option<RemovalReason> {
        let Some(draws) = pair.draws(self.rounds, self.metric) else {
            return Some(RemovalReason::OutOfReach);
        };
        if self.decision(&draws).is_some_and(|it| it.is_settled) {
            return Some(RemovalReason::Decided);
        }
        let is_hopeless = !is_within_reach(&draws, self.question(), rounds_left?);
        is_hopeless.then_some(RemovalReason::OutOfReach)
    }
}
