//! The verdict on one policy in the verdict metric, and whether it needs more rounds.

use serde::{Deserialize, Serialize};

use crate::run::compare::Answer;
use crate::run::compare::Scale;
use crate::run::compare::effect::{Draws, limit, needed, needed_for_equivalence};
use crate::run::metric::Better;
use crate::run::plan::{JudgeBy, Plan, asks_of_pages, claims};
use crate::run::policy::Policy;
use crate::run::stats::quantile::above;
use crate::run::stats::{
    ALPHA, Bets, Draw, MeanRatio, Shape, Side, Wealth, at_most, mean_ratio, median, shape,
};

/// A policy that is better or makes no difference is not left before its worst runs are at most
/// this share of all: fewer rounds could not have seen them.
const UNSEEN: f64 = 0.25;

/// The runs of a policy beside those of the baseline, in the verdict metric. *Better* and
/// *worse* are those of the metric: for a time, smaller is better.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Runs {
    /// Runs of the policy.
    pub of: u32,
    /// How many of them were better than 95 % of the baseline's runs.
    pub better: u32,
    /// How many were worse than 95 % of the baseline's runs.
    pub worse: u32,
    /// The usual one among the better runs, over the baseline's median.
    pub better_ratio: Option<f64>,
    /// The usual one among the worse runs, over the baseline's median.
    pub worse_ratio: Option<f64>,
    /// Share of runs worse than any of the baseline's that these rounds do not exclude.
    pub worse_at_most: f64,
    /// The mean under the policy over that of the baseline; `None` where that is zero.
    pub mean: Option<f64>,
    /// Lower end of its interval, which is not corrected for the number of policies.
    pub mean_low: Option<f64>,
    /// Upper end.
    pub mean_high: Option<f64>,
}

/// One policy, judged.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) answer: Answer,
    /// Whether no further round is needed.
    pub(super) is_settled: bool,
    pub(super) runs: Runs,
}

/// What a policy is judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) better: Better,
    pub(super) threshold: f64,
    /// How many policies share the error.
    pub(super) claims: u32,
    pub(super) judge_by: JudgeBy,
}

impl Question {
    /// Whether the property has no exact test.
    pub(super) fn is_approximate(self) -> bool {
        matches!(self.judge_by, JudgeBy::Mean | JudgeBy::P95)
    }

    /// The mean is a figure by itself, unless it is what is judged.
    fn alpha_of_mean(self) -> f64 {
        match self.judge_by {
            JudgeBy::Mean => ALPHA / f64::from(self.claims.max(1)),
            _ => ALPHA,
        }
    }

    /// The side of an effect that is a gain.
    pub(super) fn gain(self) -> Side {
        match self.better {
            Better::Higher => Side::Above,
            _ => Side::Below,
        }
    }

    fn loss(self) -> Side {
        match self.gain() {
            Side::Above => Side::Below,
            Side::Below => Side::Above,
        }
    }
}

/// The three bets that a policy is judged by, and the two on single runs.
struct Case<'a> {
    question: Question,
    draws: &'a Draws,
    limit: f64,
    at_zero: Wealth,
    shape: Shape,
}

/// Judges the rounds of one policy; `None` without a round.
pub(super) fn decide(draws: &Draws, question: Question) -> Option<Decision> {
    let case = Case::of(draws, question)?;
    let runs = runs(draws, question, case.limit)?;
    if question.judge_by == JudgeBy::Mean {
        let answer = by_mean(&runs, question);
        return Some(Decision {
            is_settled: answer != Answer::NotDecided,
            answer,
            runs,
        });
    }
    let answer = case.answer();
    Some(Decision {
        is_settled: case.is_settled(answer, &runs),
        answer,
        runs,
    })
}

/// The answer of the mean alone.
fn by_mean(runs: &Runs, question: Question) -> Answer {
    let ends = runs.mean_low.zip(runs.mean_high);
    let most = 1.0 + question.threshold;
    let up = question.gain() == Side::Above;
    match ends {
        Some((low, high)) if low >= 1.0 / most && high <= most => Answer::NoDifference,
        Some((low, _)) if low > 1.0 && up => Answer::Better,
        Some((low, _)) if low > 1.0 => Answer::Worse,
        Some((_, high)) if high < 1.0 && up => Answer::Worse,
        Some((_, high)) if high < 1.0 => Answer::Better,
        _ => Answer::NotDecided,
    }
}

/// Whether `rounds` more could decide, if the rounds go on as they did, with two standard
/// errors in favour of a decision. Stopping on this costs power and no validity.
pub(super) fn is_within_reach(draws: &Draws, question: Question, rounds: u32) -> bool {
    let Some(case) = Case::of(draws, question).filter(|_| !question.is_approximate()) else {
        return true;
    };
    // What is half shown of single runs may still be shown.
    if question.judge_by == JudgeBy::Shape
        && case.shape.larger.max(case.shape.smaller) >= needed(question.claims) / 2.0
    {
        return true;
    }
    let bets = Bets::on(&draws.scaled);
    let hope = |shift, side| bets.hope(shift, side, rounds);
    let one = needed(question.claims);
    let both = needed_for_equivalence(question.claims);
    let equivalent =
        || hope(-case.limit, Side::Above) >= both && hope(case.limit, Side::Below) >= both;
    hope(0.0, Side::Below) >= one || hope(0.0, Side::Above) >= one || equivalent()
}

/// The fewest rounds that can give an answer where so many policies share the error: those in
/// which every run of a policy is far from every run of the baseline.
#[must_use]
pub fn fewest_rounds(claims: u32) -> u32 {
    fewest(claims, |round| Some(f64::from((round + 1) % 2)))
}

/// The same of one claim about single runs of two policies.
#[must_use]
pub fn fewest_rounds_of_single_runs() -> u32 {
    fewest(1, |_| None)
}

/// The fewest rounds that can answer what is asked of these policies: each beside the baseline, and huge pages alone beside
/// malloc alone.
#[must_use]
pub fn fewest_rounds_of(policies: &[Policy], baseline: &str) -> u32 {
    let fewest = fewest_rounds(claims(policies, baseline));
    match asks_of_pages(policies, baseline) {
        true => fewest.max(fewest_rounds_of_single_runs()),
        false => fewest,
    }
}

/// The round after which a plan may have its first answer: no earlier than its shortest experiment.
#[must_use]
pub fn first_answer(plan: &Plan) -> u32 {
    fewest_rounds_of(&plan.policies, &plan.baseline).max(plan.bounds.min_rounds)
}

/// The fewest rounds of one claim, where the second run of the baseline in a round gives this.
fn fewest(claims: u32, control: impl Fn(u32) -> Option<f64>) -> u32 {
    let draws: Vec<Draw> = (0..64)
        .map(|round| Draw {
            policy: 100.0,
            baseline: f64::from(round % 2),
            control: control(round),
        })
        .collect();
    let decides = |n: &usize| {
        let bets = Bets::on(&draws[..*n]);
        bets.against(0.0).log(Side::Above) >= needed(claims)
    };
    (1..draws.len()).find(decides).unwrap_or(draws.len()) as u32
}

impl<'a> Case<'a> {
    fn of(draws: &'a Draws, question: Question) -> Option<Self> {
        let limit = limit(draws.scale, median(&draws.baselines())?, question.threshold);
        let bets = Bets::on(&draws.scaled);
        Some(Self {
            at_zero: bets.against(0.0),
            shape: shape(&draws.scaled, limit),
            question,
            draws,
            limit,
        })
    }

    fn answer(&self) -> Answer {
        let needed = needed(self.question.claims);
        let shows = |side| self.at_zero.log(side) >= needed;
        let (gain, loss) = (shows(self.question.gain()), shows(self.question.loss()));
        let same = self.is_equivalent();
        if self.is_mixed((gain, loss, same), needed) {
            return Answer::Mixed;
        }
        if same {
            return Answer::NoDifference;
        }
        match (gain, loss) {
            (true, false) => Answer::Better,
            (false, true) => Answer::Worse,
            _ => Answer::NotDecided,
        }
    }

    /// Some runs are shown to be better, and some to be worse. A shift of all runs is both the
    /// usual run and some runs.
    fn is_mixed(&self, (gain, loss, same): (bool, bool, bool), needed: f64) -> bool {
        if self.question.judge_by != JudgeBy::Shape {
            return false;
        }
        let (some_gain, some_loss) = match self.question.gain() {
            Side::Below => (self.shape.smaller, self.shape.larger),
            Side::Above => (self.shape.larger, self.shape.smaller),
        };
        let (some_gain, some_loss) = (some_gain >= needed, some_loss >= needed);
        (some_gain || gain) && (some_loss || loss) || same && (some_gain || some_loss)
    }

    fn is_equivalent(&self) -> bool {
        let bets = Bets::on(&self.draws.scaled);
        let needed = needed_for_equivalence(self.question.claims);
        bets.against(-self.limit).log(Side::Above) >= needed
            && bets.against(self.limit).log(Side::Below) >= needed
    }

    fn is_settled(&self, answer: Answer, runs: &Runs) -> bool {
        match answer {
            Answer::Mixed => true,
            // A policy that is worse is not chosen, however its rare runs are.
            Answer::Worse => true,
            Answer::Better if self.question.judge_by != JudgeBy::Shape => true,
            Answer::Better => runs.worse == 0 || runs.worse_at_most <= UNSEEN,
            Answer::NoDifference => runs.worse_at_most <= UNSEEN,
            _ => false,
        }
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

/// Whether each run of the policy was worse than every run of the baseline.
fn worst(draws: &Draws, sign: f64, limit: f64) -> Vec<bool> {
    let scaled = || draws.scaled.iter();
    let most = scaled()
        .flat_map(Draw::baselines)
        .map(|value| sign * value)
        .fold(f64::MIN, f64::max);
    scaled()
        .map(|draw| sign * draw.policy > most + limit)
        .collect()
}

/// The mean under the policy over that of the baseline, where a ratio makes sense.
fn mean(draws: &Draws, alpha: f64) -> Option<MeanRatio> {
    let is_ratio = draws.scale == Scale::Ratio;
    is_ratio.then(|| mean_ratio(&draws.values, alpha)).flatten()
}
