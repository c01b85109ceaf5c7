//! Percentiles of requests: all trials of a policy merged, never the mean of their percentiles.

use crate::compare::effect::{Effect, Level};
use crate::compare::rounds::{Pairs, numbers};
use crate::compare::rows::{Family, Row, scale, tail_effect};
use crate::compare::{Scale, Statistic};
use crate::observation::{Role, Trial};
use crate::record::Record;
use crate::stats::Sample;
use crate::stats::quantile::fewest_values;
use crate::stats::tail::quantile;

/// What is compared of requests that were counted.
pub const PERCENTILES: [(Statistic, f64); 5] = [
    (Statistic::P50, 0.5),
    (Statistic::P90, 0.9),
    (Statistic::P99, 0.99),
    (Statistic::P999, 0.999),
    (Statistic::Max, 1.0),
];

/// From this width on a percentile that is not known better is said to be so.
const COARSE: f64 = 0.01;

/// One percentile of all requests under both policies.
pub(super) struct Percentile {
    statistic: Statistic,
    effect: Option<Effect>,
    /// Whether its interval may decide.
    family: Family,
    warning: Option<String>,
    n: u32,
}

impl Percentile {
    /// The row beside that of the metric's centre.
    pub(super) fn row(self, center: &Row) -> Row {
        Row {
            statistic: self.statistic,
            effect: self.effect,
            family: self.family,
            n: self.n,
            warnings: self.warning.into_iter().collect(),
            ..center.clone()
        }
    }
}

/// All of them, those too with too few requests: they say how many are needed.
pub(super) fn percentiles(pairs: &Pairs, level: Level, seed: u64) -> Vec<Percentile> {
    let scale = scale(pairs);
    PERCENTILES
        .into_iter()
        .map(|(statistic, q)| {
            if statistic == Statistic::Max {
                return longest(pairs, level);
            }
            let effect = tail_effect(pairs, q, scale, level, seed);
            match too_few(pairs, statistic, q) {
                Some(warning) => Percentile {
                    statistic,
                    effect: effect.map(without_interval),
                    family: Family::Untested,
                    warning: Some(warning),
                    n: pairs.n(),
                },
                None => sure(pairs, statistic, effect),
            }
        })
        .collect()
}

/// The longest request of a trial, compared round by round as any single number is. The longest
/// of all trials would be one request under each policy, and its bootstrap is wrong at any size.
fn longest(pairs: &Pairs, level: Level) -> Percentile {
    Percentile {
        statistic: Statistic::Max,
        effect: Effect::of_pairs(&pairs.largest(), level.alpha()),
        family: Family::Latency,
        warning: None,
        n: pairs.n(),
    }
}

fn without_interval(effect: Effect) -> Effect {
    Effect {
        interval: None,
        ..effect
    }
}

/// The sentence for a percentile that too few requests stand behind.
fn too_few(pairs: &Pairs, statistic: Statistic, q: f64) -> Option<String> {
    let needed = fewest_values(q);
    let (a, b) = pairs.counts();
    let fewest = a.min(b);
    (fewest < needed && pairs.n() > 0).then(|| {
        let percent = word(statistic);
        format!("{percent} needs {needed} requests under each policy, and {fewest} were measured")
    })
}

fn word(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::P50 => "p50",
        Statistic::P90 => "p90",
        Statistic::P95 => "p95",
        Statistic::P99 => "p99",
        Statistic::P999 => "p99.9",
        Statistic::Max => "the longest",
        Statistic::Center => "the middle",
    }
}

/// Widened by what the histograms do not tell: each value may be too long by the width of what
/// it was counted in, and the ratio too large or too small by that.
fn sure(pairs: &Pairs, statistic: Statistic, effect: Option<Effect>) -> Percentile {
    let mut warning = None;
    let effect = effect.map(|effect| {
        let unsure = |samples: &mut dyn Iterator<Item = Sample<'_>>, value: f64| {
            samples
                .map(|sample| sample.uncertainty(value))
                .fold(0.0, f64::max)
        };
        let mut baselines = pairs.rounds.iter().map(|(a, _)| *a);
        let mut policies = pairs.rounds.iter().map(|(_, b)| *b);
        let baseline = unsure(&mut baselines, effect.baseline_value);
        let policy = unsure(&mut policies, effect.policy_value);
        let coarsest = baseline.max(policy);
        if coarsest > COARSE {
            let percent = word(statistic);
            warning = Some(format!(
                "{percent} is known to within {:.0} % only: the source's values are that far apart",
                (coarsest * 100.0).ceil()
            ));
        }
        widened(effect, baseline, policy)
    });
    Percentile {
        statistic,
        effect,
        family: Family::Latency,
        warning,
        n: pairs.n(),
    }
}

fn widened(effect: Effect, baseline: f64, policy: f64) -> Effect {
    let (down, up) = match effect.scale {
        Scale::Ratio => (policy.ln_1p(), baseline.ln_1p()),
        Scale::Difference => (
            policy * effect.policy_value,
            baseline * effect.baseline_value,
        ),
    };
    Effect {
        interval: effect.interval.map(|(low, high)| (low - down, high + up)),
        ..effect
    }
}

/// A percentile of all requests of a policy, its control left out; for the longest, the median
/// over trials. `None` where nothing was counted, or too little for this percentile.
#[must_use]
pub fn percentile(
    record: &Record,
    policy: &str,
    metric: &str,
    statistic: Statistic,
) -> Option<f64> {
    let (_, q) = PERCENTILES
        .into_iter()
        .find(|(known, _)| *known == statistic)?;
    let counts =
        |trial: &&Trial| trial.policy == policy && trial.role == Role::Arm && trial.succeeded();
    let trials = record.trials.iter().filter(counts);
    let samples: Vec<Sample<'_>> = trials
        .filter_map(|trial| numbers(trial, metric).ok())
        .collect();
    if statistic == Statistic::Max {
        let largest: Vec<f64> = samples
            .iter()
            .filter_map(|sample| sample.largest())
            .collect();
        return crate::stats::median(&largest);
    }
    quantile(&samples, q)
}
