//! The verdict on one policy in the verdict metric, and whether it needs more rounds.

use serde::{Deserialize, Serialize};

use crate::run::compare::effect::{Draws, Effect, limit, needed_of_single_runs, one_sided};
use crate::run::compare::verdict::word;
use crate::run::compare::{Change, PolicyAnswer, Scale};
use crate::run::metric::Better;
use crate::run::plan::{Blocks, JudgeBy, Plan, asks_of_pages, claims};
use crate::run::policy::Policy;
use crate::run::stats::quantile::above;
use crate::run::stats::{
    ALPHA, Draw, MeanRatio, Shape, Side, Sums, at_most, mean_ratio, median, shape,
};

/// A policy found better or without a difference keeps running until its worst runs are at most this share of all.
/// Fewer rounds could not have revealed them.
const UNSEEN: f64 = 0.25;

/// The runs of a policy compared with those of the baseline, in the verdict metric. *Better* and *worse* follow the
/// metric: for a time, smaller is better.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Runs {
    /// Number of runs of the policy.
    pub of: u32,
    /// Number of runs better than 95 % of the baseline's runs.
    pub better: u32,
    /// Number of runs worse than 95 % of the baseline's runs.
    pub worse: u32,
    /// The typical value of the better runs, over the baseline's median.
    pub better_ratio: Option<f64>,
    /// The typical value of the worse runs, over the baseline's median.
    pub worse_ratio: Option<f64>,
    /// Largest share of runs worse than all of the baseline's that these rounds do not exclude.
    pub worse_at_most: f64,
    /// The mean under the policy over that of the baseline; `None` if the latter is zero.
    pub mean: Option<f64>,
    /// Lower end of its interval, not corrected for the number of policies.
    pub mean_low: Option<f64>,
    /// Upper end.
    pub mean_high: Option<f64>,
}

/// One policy, judged.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) answer: PolicyAnswer,
    /// True if no further round is needed.
    pub(super) is_settled: bool,
    pub(super) runs: Runs,
    /// The effect on the typical run, if it may show something.
    pub(super) effect: Option<Effect>,
}

/// The criteria by which a policy is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) better: Better,
    pub(super) threshold: f64,
    /// The number of policies that share the error.
    pub(super) claims: u32,
    pub(super) judge_by: JudgeBy,
}

impl Question {
    /// Returns true if the property has no exact test.
    pub(super) fn is_approximate(self) -> bool {
        matches!(self.judge_by, JudgeBy::Mean | JudgeBy::P95)
    }

    /// The error of the mean's interval: uncorrected, unless the mean is the judged property.
    fn alpha_of_mean(self) -> f64 {
        match self.judge_by {
            JudgeBy::Mean => ALPHA / f64::from(self.claims.max(1)),
            _ => ALPHA,
        }
    }

    /// The side of an effect that counts as a gain.
    pub(super) fn gain(self) -> Side {
        match self.better {
            Better::Higher => Side::Above,
            _ => Side::Below,
        }
    }
}

/// A question about the rounds of a policy, with what they show of single runs.
struct Case {
    question: Question,
    limit: f64,
    shape: Shape,
}

/// Judges the rounds of one policy; `None` without a round.
pub(super) fn decide(draws: &Draws, question: Question) -> Option<Decision> {
    let case = Case::of(draws, question)?;
    let runs = runs(draws, question, case.limit)?;
    if question.judge_by == JudgeBy::Mean {
        let answer = by_mean(&runs, question);
        return Some(Decision {
            is_settled: answer != PolicyAnswer::NotDecided,
            answer,
            runs,
            effect: None,
        });
    }
    let effect = case.effect(draws);
    let answer = case.answer(effect.as_ref());
    Some(Decision {
        is_settled: case.is_settled(answer, &runs),
        answer,
        runs,
        effect,
    })
}

/// The answer based only on the mean.
fn by_mean(runs: &Runs, question: Question) -> PolicyAnswer {
    let ends = runs.mean_low.zip(runs.mean_high);
    let most = 1.0 + question.threshold;
    let up = question.gain() == Side::Above;
    match ends {
        Some((low, high)) if low >= 1.0 / most && high <= most => PolicyAnswer::NoDifference,
        Some((low, _)) if low > 1.0 && up => PolicyAnswer::Better,
        Some((low, _)) if low > 1.0 => PolicyAnswer::Worse,
        Some((_, high)) if high < 1.0 && up => PolicyAnswer::Worse,
        Some((_, high)) if high < 1.0 => PolicyAnswer::Better,
        _ => PolicyAnswer::NotDecided,
    }
}

/// Returns true if `rounds` more could decide if the rounds continue as before, with a margin of two standard errors in
/// favour of a decision. Stopping on this costs power but not validity.
pub(super) fn is_within_reach(draws: &Draws, question: Question, rounds: u32) -> bool {
    let Some(case) = Case::of(draws, question).filter(|_| !question.is_approximate()) else {
        return true;
    };
    // Partial evidence about single runs may still become sufficient.
    if question.judge_by == JudgeBy::Shape
        && case.shape.larger.max(case.shape.smaller) >= needed_of_single_runs(question.claims) / 2.0
    {
        return true;
    }
    let sums = Sums::of(&draws.scaled);
    let error = one_sided(question.claims);
    let may_refute = |shift, side| sums.may_refute(shift, side, error, rounds);
    Side::BOTH.into_iter().any(|side| may_refute(0.0, side))
        || may_refute(-case.limit, Side::Above) && may_refute(case.limit, Side::Below)
}

/// The fewest rounds that can give an answer if so many policies share the error. It assumes that every run of a policy
/// is far from every run of the baseline.
#[must_use]
pub fn fewest_rounds(claims: u32, blocks: Blocks) -> u32 {
    let sizes = |round: usize| match (blocks, claims, round) {
        (Blocks::Even, 0 | 1, 0) => [3, 3],
        (Blocks::Even, 0 | 1, _) => [2, 2],
        _ => [1, 2],
    };
    fewest(claims, sizes)
}

/// The same for one claim about single runs of two policies.
#[must_use]
pub fn fewest_rounds_of_single_runs() -> u32 {
    fewest(1, |_| [1, 1])
}

/// The fewest rounds that can answer the questions about these policies: each against the baseline, and its isolated
/// huge pages against the allocator-only policy.
#[must_use]
pub fn fewest_rounds_of(policies: &[Policy], baseline: &str, blocks: Blocks) -> u32 {
    let blocks = blocks.of_first_round(policies.len());
    let fewest = fewest_rounds(claims(policies, baseline), blocks);
    match asks_of_pages(policies, baseline) {
        true => fewest.max(fewest_rounds_of_single_runs()),
        false => fewest,
    }
}

/// The first round at which a plan can have an answer: no earlier than its shortest experiment.
#[must_use]
pub fn first_answer(plan: &Plan) -> u32 {
    fewest_rounds_of(&plan.policies, &plan.baseline, plan.blocks).max(plan.bounds.min_rounds)
}

/// The fewest rounds for one claim, if a round has so many runs of the policy and of the baseline.
fn fewest(claims: u32, sizes: impl Fn(usize) -> [usize; 2]) -> u32 {
    const MOST: usize = 64;
    let draws = (0..MOST).filter_map(|round| {
        let [policy, baseline] = sizes(round);
        let baselines = (0..baseline).map(|run| run as f64);
        Draw::new(vec![100.0; policy], baselines)
    });
    let draws: Vec<Draw> = draws.collect();
    let decides = |n: &usize| Sums::of(&draws[..*n]).refutes(0.0, Side::Above, one_sided(claims));
    (1..MOST).find(decides).unwrap_or(MOST) as u32
}

impl Case {
    fn of(draws: &Draws, question: Question) -> Option<Self> {
        let limit = limit(draws.scale, median(&draws.baselines())?, question.threshold);
        Some(Self {
            shape: shape(&draws.scaled, limit),
            question,
            limit,
        })
    }

    /// The effect on the typical run. Most rounds show nothing yet, which is decided without an interval.
    fn effect(&self, draws: &Draws) -> Option<Effect> {
        let claims = self.question.claims;
        let sums = Sums::of(&draws.scaled);
        let may_show = sums.may_show(self.limit, one_sided(claims));
        may_show.then(|| Effect::untested(draws, claims)).flatten()
    }

    fn answer(&self, effect: Option<&Effect>) -> PolicyAnswer {
        let change = effect.map_or(Change::CannotTell, |it| it.by_interval(self.limit));
        let typical = word(change, self.question.better);
        if self.question.judge_by != JudgeBy::Shape {
            return typical;
        }
        let (some_gain, some_loss) = match self.question.gain() {
            Side::Below => (self.shape.smaller, self.shape.larger),
            Side::Above => (self.shape.larger, self.shape.smaller),
        };
        let needed = needed_of_single_runs(self.question.claims);
        with_single_runs(typical, some_gain >= needed, some_loss >= needed)
    }

    fn is_settled(&self, answer: PolicyAnswer, runs: &Runs) -> bool {
        match answer {
            PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse => true,
            // A worse policy is not chosen, whatever its rare runs do.
            PolicyAnswer::Worse => true,
            PolicyAnswer::Better if self.question.judge_by != JudgeBy::Shape => true,
            PolicyAnswer::Better => runs.worse == 0 || runs.worse_at_most <= UNSEEN,
            PolicyAnswer::NoDifference => runs.worse_at_most <= UNSEEN,
            _ => false,
        }
    }
}

/// The answer if the typical run gives `typical` and single runs were shown to gain or to lose. A shift of all runs
/// affects both the typical run and single runs.
fn with_single_runs(typical: PolicyAnswer, some_gain: bool, some_loss: bool) -> PolicyAnswer {
    match (typical, some_gain, some_loss) {
        (_, true, true) | (PolicyAnswer::Better, _, true) | (PolicyAnswer::Worse, true, _) => {
            PolicyAnswer::Mixed
        }
        (PolicyAnswer::NoDifference, true, false) => PolicyAnswer::Mixed,
        (PolicyAnswer::NoDifference, false, true) => PolicyAnswer::RarelyWorse,
        _ => typical,
    }
}

fn runs(draws: &Draws, question: Question, limit: f64) -> Option<Runs> {
    let sign = match question.gain() {
        Side::Below => 1.0,
        Side::Above => -1.0,
    };
    let mut baselines = draws.baselines();
    baselines.sort_unstable_by(f64::total_cmp);
    if baselines.is_empty() {
        return None;
    }
    let quantile = |q| {
        baselines
            .get(baselines.len() - 1 - above(baselines.len(), q))
            .copied()
    };
    let (p5, p95) = (quantile(0.05)?, quantile(0.95)?);
    let (good_end, bad_end) = if sign > 0.0 { (p5, p95) } else { (p95, p5) };
    let policies = draws.policies();
    let beyond = |end: f64, sign: f64| -> Vec<f64> {
        let beyond = policies.iter().filter(|&&value| sign * (value - end) > 0.0);
        beyond.copied().collect()
    };
    let (better, worse) = (beyond(good_end, -sign), beyond(bad_end, sign));
    let middle = median(&baselines)?;
    let ratio = |values: &[f64]| Some(median(values)? / middle).filter(|it| it.is_finite());
    let mean = mean(draws, question.alpha_of_mean());
    Some(Runs {
        of: policies.len() as u32,
        better_ratio: ratio(&better),
        worse_ratio: ratio(&worse),
        better: better.len() as u32,
        worse: worse.len() as u32,
        worse_at_most: at_most(&worst(draws, sign, limit), ALPHA),
        mean: mean.map(|mean| mean.ratio),
        mean_low: mean.and_then(|mean| Some(mean.interval?.0)),
        mean_high: mean.and_then(|mean| Some(mean.interval?.1)),
    })
}

/// For each run of the policy, true if it was worse than every run of the baseline.
fn worst(draws: &Draws, sign: f64, limit: f64) -> Vec<bool> {
    let scaled = || draws.scaled.iter();
    let most = scaled()
        .flat_map(Draw::baselines)
        .map(|value| sign * value)
        .fold(f64::MIN, f64::max);
    scaled()
        .flat_map(Draw::policies)
        .map(|value| sign * value > most + limit)
        .collect()
}

/// The mean under the policy over that of the baseline, if a ratio makes sense.
fn mean(draws: &Draws, alpha: f64) -> Option<MeanRatio> {
    let is_ratio = draws.scale == Scale::Ratio;
    is_ratio.then(|| mean_ratio(&draws.values, alpha)).flatten()
}
