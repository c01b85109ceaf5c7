//! The rows of a table: estimates first, then conclusions.

use std::iter::zip;

use crate::run::compare::effect::{Effect, on, scale_of};
use crate::run::compare::rounds::Pairs;
use crate::run::compare::{Change, Comparison, Scale, Statistic, Warning};
use crate::run::stats::{self, ALPHA, Quantile, Tail};

/// A row before its conclusion.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) metric: String,
    pub(super) statistic: Statistic,
    pub(super) policy: String,
    pub(super) baseline: String,
    pub(super) effect: Option<Effect>,
    pub(super) n: u32,
    pub(super) warnings: Vec<Warning>,
}

const QUANTILES: [Quantile; 4] = [Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max];

/// The tails of a metric supported by its values, each with its effect.
pub(super) fn tails(pairs: &Pairs, seed: u64) -> Vec<(Quantile, Effect)> {
    let effects = tail_effects(pairs, &QUANTILES, scale(pairs), seed);
    let known = zip(QUANTILES, effects);
    known
        .filter_map(|(it, effect)| Some((it, effect?)))
        .collect()
}

/// Ratio if every value of every round has a logarithm, otherwise difference.
pub(super) fn scale(pairs: &Pairs) -> Scale {
    let mut least = f64::INFINITY;
    for sample in pairs.rounds().iter().flat_map(|(a, b)| [a, b]) {
        sample.each(|value, _| least = least.min(value));
    }
    scale_of(std::iter::once(least))
}

/// A bootstrap of fewer rounds is meaningless.
const FEWEST: u32 = 6;

/// The effects on some quantiles; `None` if the values do not support one.
pub(super) fn tail_effects(
    pairs: &Pairs,
    quantiles: &[Quantile],
    scale: Scale,
    seed: u64,
) -> Vec<Option<Effect>> {
    let on_scale = |baseline, policy| on(scale, baseline, policy);
    let shares: Vec<f64> = quantiles.iter().map(|it| it.share()).collect();
    let effect = |tail: Tail| Effect {
        scale,
        baseline_value: tail.baseline,
        policy_value: tail.policy,
        estimate: tail.estimate,
        interval: tail.interval.filter(|_| pairs.n() >= FEWEST),
        p: Some(tail.p),
        fact: None,
    };
    let tails = stats::tails(&pairs.rounds(), &shares, on_scale, ALPHA, seed);
    tails.into_iter().map(|tail| tail.map(effect)).collect()
}

impl Estimate {
    /// The row of the typical values of a policy against a baseline, as one of so many claims.
    pub(super) fn of_centers(
        metric: &str,
        [baseline, policy]: [&str; 2],
        pairs: &Pairs<'_>,
        claims: u32,
    ) -> Self {
        Self {
            metric: metric.to_owned(),
            statistic: Statistic::Center,
            policy: policy.to_owned(),
            baseline: baseline.to_owned(),
            effect: Effect::of_draws(&pairs.centers(), claims),
            n: pairs.n(),
            warnings: pairs.warnings(),
        }
    }

    /// Draws the conclusion of the row as a single claim, not corrected for the number of rows.
    pub(super) fn finish(self, threshold: f64) -> Comparison {
        let effect = self.effect;
        let shown = |value: fn(&Effect) -> Option<f64>| {
            effect.and_then(|effect| value(&effect).map(|value| effect.shown(value)))
        };
        let estimate = shown(|effect| Some(effect.estimate));
        let scale = effect.map_or(Scale::Ratio, |effect| effect.scale);
        Comparison {
            metric: self.metric,
            statistic: self.statistic,
            policy: self.policy,
            baseline: self.baseline,
            baseline_value: effect.map(|effect| effect.baseline_value),
            policy_value: effect.map(|effect| effect.policy_value),
            scale,
            ratio: estimate.filter(|_| scale == Scale::Ratio),
            difference: estimate.filter(|_| scale == Scale::Difference),
            low: shown(|effect| effect.interval.map(|(low, _)| low)),
            high: shown(|effect| effect.interval.map(|(_, high)| high)),
            p: effect.and_then(|effect| effect.p),
            n: self.n,
            change: effect.map_or(Change::CannotTell, |effect| effect.change(threshold)),
            warnings: self.warnings,
        }
    }
}
