//! The rows of a table: estimates first, then the correction over each family, then the words.

use crate::base::units::Unit;
use crate::run::compare::effect::{Effect, Level, on, scale_of};
use crate::run::compare::rounds::Pairs;
use crate::run::compare::{Change, Comparison, Scale, Statistic, Warning};
use crate::run::metric;
use crate::run::metric::cells;
use crate::run::metric::requests::suffix_metric;
use crate::run::metric::{Better, Metric, Shown};
use crate::run::stats::{Quantile, holm, tail};

/// Which comparisons share one error of 5 %.
///
/// The verdict metric is a family of its own: it was named before anything ran, and the answer
/// rests on it. In one family with forty others no rank test of ten rounds could ever be
/// significant. For the same reason the few metrics of the first table are apart from the many
/// that are shown on request, and tails from both: their test cannot go below 1 in 2,001.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// The verdict metric under every policy.
    Verdict,
    /// The metrics that are always shown, and the printed ones.
    First,
    /// The cells of a bench: each is a question of its own, asked of all of them at once.
    Cells,
    /// All other metrics.
    Other,
    /// Quantiles and largest values.
    Tails,
    /// Percentiles of requests: of all trials together, and those that a source printed.
    Latency,
    /// Not tested: facts, and metrics that were the same in every round, which no test could
    /// ever reject (Tarone, 1990).
    Untested,
}

/// A row before its correction.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) metric: String,
    pub(super) statistic: Statistic,
    pub(super) policy: String,
    pub(super) baseline: String,
    pub(super) family: Family,
    pub(super) effect: Option<Effect>,
    pub(super) n: u32,
    pub(super) warnings: Vec<Warning>,
}

/// The family of a row about the centre of `metric`.
pub(super) fn family(
    metric: &str,
    verdict_metric: &str,
    better: Better,
    effect: &Effect,
) -> Family {
    let is_constant = effect.p >= 1.0 && effect.interval == Some((0.0, 0.0));
    if metric == verdict_metric {
        Family::Verdict
    } else if better == Better::Neither || is_constant {
        Family::Untested
    } else if cells::split(metric).is_some() {
        Family::Cells
    } else if metric::find(metric).is_some_and(|metric| is_latency(&metric)) {
        Family::Latency
    } else if metric::find(metric).is_none_or(|metric| metric.shown == Shown::Always) {
        Family::First
    } else {
        Family::Other
    }
}

/// What a reader of `--latency` gives in seconds.
fn is_latency(metric: &Metric) -> bool {
    metric.unit == Unit::Seconds && suffix_metric(&metric.name).is_some()
}

const QUANTILES: [Quantile; 4] = [Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max];

/// The tails of a metric that its values support, each with its effect.
pub(super) fn tails(pairs: &Pairs, level: Level, seed: u64) -> Vec<(Quantile, Effect)> {
    let scale = scale(pairs);
    QUANTILES
        .into_iter()
        .filter_map(|it| Some((it, tail_effect(pairs, it.share(), scale, level, seed)?)))
        .collect()
}

/// Ratio where every value of every round allows a logarithm, else difference.
pub(super) fn scale(pairs: &Pairs) -> Scale {
    let mut least = f64::INFINITY;
    for sample in pairs.rounds.iter().flat_map(|(a, b)| [a, b]) {
        sample.each(|value, _| least = least.min(value));
    }
    scale_of(std::iter::once(least))
}

pub(super) fn tail_effect(
    pairs: &Pairs,
    q: f64,
    scale: Scale,
    level: Level,
    seed: u64,
) -> Option<Effect> {
    let effect = |baseline, policy| on(scale, baseline, policy);
    let tail = tail(&pairs.rounds, q, effect, level.alpha(), seed)?;
    let enough = pairs.n() >= crate::run::plan::looks::fewest_pairs(level.alpha());
    Some(Effect {
        scale,
        baseline_value: tail.baseline,
        policy_value: tail.policy,
        estimate: tail.estimate,
        interval: tail.interval.filter(|_| enough),
        p: tail.p,
        n: pairs.n(),
    })
}

/// Corrects each family after Holm and says what may be said.
pub(super) fn finish(rows: Vec<Estimate>, level: Level) -> Vec<Comparison> {
    let mut adjusted: Vec<Option<f64>> = vec![None; rows.len()];
    for family in [
        Family::Verdict,
        Family::First,
        Family::Cells,
        Family::Other,
        Family::Tails,
        Family::Latency,
    ] {
        let members: Vec<(usize, f64)> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.family == family)
            .filter_map(|(index, row)| Some((index, row.effect?.p)))
            .collect();
        // The error of this look is a share of the whole, so a p-value counts that much more.
        let p: Vec<f64> = members
            .iter()
            .map(|(_, p)| (p / level.share).min(1.0))
            .collect();
        for ((index, _), p) in members.into_iter().zip(holm(&p)) {
            adjusted[index] = Some(p);
        }
    }
    rows.into_iter()
        .zip(adjusted)
        .map(|(row, p)| row.finish(level, p))
        .collect()
}

impl Estimate {
    fn finish(self, level: Level, p: Option<f64>) -> Comparison {
        let effect = self.effect;
        let change = effect.map_or(Change::CannotTell, |effect| effect.change(level, p));
        let shown = |value: fn(&Effect) -> Option<f64>| {
            effect.and_then(|effect| value(&effect).map(|value| effect.shown(value)))
        };
        let estimate = shown(|effect| Some(effect.estimate));
        let scale = effect.map_or(Scale::Ratio, |effect| effect.scale);
        let is_center = self.statistic == Statistic::Center;
        let rounds_would_help = is_center || self.family == Family::Latency;
        let open = change == Change::CannotTell && rounds_would_help;
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
            p,
            n: self.n,
            change,
            more_rounds: effect
                .filter(|_| open)
                .and_then(|effect| effect.more_rounds(level, p)),
            warnings: self.warnings,
        }
    }
}
