//! Percentiles of requests: all trials of a policy merged, never the mean of their percentiles.

use std::iter::zip;

use crate::run::compare::effect::Effect;
use crate::run::compare::rounds::{Pairs, numbers};
use crate::run::compare::rows::{Estimate, scale, tail_effects};
use crate::run::compare::{Scale, Statistic, Warning};
use crate::run::record::Record;
use crate::run::stats::quantile::fewest_values;
use crate::run::stats::{Quantile, Sample, tail};
use crate::run::trial::{Role, Trial};

/// The percentiles to compare for counted requests. The last one is the longest request, whose comparison is different.
pub const PERCENTILES: [Quantile; 5] = [
    Quantile::P50,
    Quantile::P90,
    Quantile::P99,
    Quantile::P999,
    Quantile::Max,
];

/// A percentile known no more precisely than this width gets a warning.
const COARSE: f64 = 0.01;

/// One percentile of all requests under both policies.
pub(super) struct Percentile {
    quantile: Quantile,
    effect: Option<Effect>,
    warning: Option<Warning>,
    n: u32,
}

impl Percentile {
    /// The row for this percentile, below that of the metric's centre.
    pub(super) fn row(self, center: &Estimate) -> Estimate {
        Estimate {
            statistic: Statistic::Quantile(self.quantile),
            effect: self.effect,
            n: self.n,
            warnings: self.warning.into_iter().collect(),
            ..center.clone()
        }
    }
}

/// All of them, including those with too few requests: they report the number that is needed.
pub(super) fn percentiles(pairs: &Pairs, seed: u64) -> Vec<Percentile> {
    let [pooled @ .., _] = PERCENTILES;
    let effects = tail_effects(pairs, &pooled, scale(pairs), seed);
    let percentile = |(quantile, pooled): (Quantile, Option<Effect>)| {
        let effect = pooled.map(|pooled| by_trial(pairs, quantile, pooled));
        match too_few(pairs, quantile) {
            Some(warning) => Percentile {
                quantile,
                effect: effect.map(without_interval),
                warning: Some(warning),
                n: pairs.n(),
            },
            None => sure(pairs, quantile, effect),
        }
    };
    let all = zip(pooled, effects).map(percentile);
    all.chain([longest(pairs)]).collect()
}

/// The longest request of a trial, compared round by round like any single number. The longest of all trials would be
/// one request under each policy, and its bootstrap is wrong at any size.
fn longest(pairs: &Pairs) -> Percentile {
    Percentile {
        quantile: Quantile::Max,
        effect: Effect::of_draws(&pairs.largest(), 1),
        warning: None,
        n: pairs.n(),
    }
}

/// If each trial has enough requests for the percentile, uses the interval of the trials' percentiles, round by round.
/// It is valid at any stopping time, and needs fewer rounds than a bootstrap of all requests together.
fn by_trial(pairs: &Pairs, quantile: Quantile, pooled: Effect) -> Effect {
    let own = pairs.draws_of(|sample| tail::quantile(&[sample], quantile.share()));
    match own.and_then(|draws| Effect::of_draws(&draws, 1)) {
        Some(effect) if effect.scale == pooled.scale => Effect {
            baseline_value: pooled.baseline_value,
            policy_value: pooled.policy_value,
            ..effect
        },
        _ => pooled,
    }
}

fn without_interval(effect: Effect) -> Effect {
    Effect {
        interval: None,
        p: None,
        fact: None,
        ..effect
    }
}

/// The warning for a percentile with too few requests.
fn too_few(pairs: &Pairs, quantile: Quantile) -> Option<Warning> {
    let needed = fewest_values(quantile.share());
    let (a, b) = pairs.counts();
    let fewest = a.min(b);
    (fewest < needed && pairs.n() > 0).then_some(Warning::TooFewRequests {
        quantile,
        needed: needed as u64,
        measured: fewest as u64,
    })
}

/// Widens the interval by the resolution of the histograms. Each value may be too long by the width of its bucket, and
/// the ratio too large or too small by as much.
fn sure(pairs: &Pairs, quantile: Quantile, effect: Option<Effect>) -> Percentile {
    let mut warning = None;
    let effect = effect.map(|effect| {
        let unsure = |samples: &mut dyn Iterator<Item = Sample<'_>>, value: f64| {
            samples
                .map(|sample| sample.uncertainty(value))
                .fold(0.0, f64::max)
        };
        let rounds = pairs.rounds();
        let mut baselines = rounds.iter().map(|(a, _)| *a);
        let mut policies = rounds.iter().map(|(_, b)| *b);
        let baseline = unsure(&mut baselines, effect.baseline_value);
        let policy = unsure(&mut policies, effect.policy_value);
        let coarsest = baseline.max(policy);
        if coarsest > COARSE {
            warning = Some(Warning::Coarse {
                quantile,
                share: coarsest,
            });
        }
        widened(effect, baseline, policy)
    });
    Percentile {
        quantile,
        effect,
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
        fact: None,
        ..effect
    }
}

/// A percentile of all requests of a policy, without its control; for the longest, the median over trials. `None` if
/// nothing was counted, or too little for this percentile.
#[must_use]
pub fn percentile(record: &Record, policy: &str, metric: &str, quantile: Quantile) -> Option<f64> {
    let samples = samples(record, policy, metric);
    match quantile {
        Quantile::Max => crate::run::stats::median(&of_each(&samples, quantile)),
        _ => tail::quantile(&samples, quantile.share()),
    }
}

/// The same for each individual trial, in their order; a trial with too few requests is skipped.
#[must_use]
pub fn percentile_of_each(
    record: &Record,
    policy: &str,
    metric: &str,
    quantile: Quantile,
) -> Vec<f64> {
    of_each(&samples(record, policy, metric), quantile)
}

fn of_each(samples: &[Sample<'_>], quantile: Quantile) -> Vec<f64> {
    let one = |sample: &Sample<'_>| match quantile {
        Quantile::Max => sample.largest(),
        _ => tail::quantile(&[*sample], quantile.share()),
    };
    samples.iter().filter_map(one).collect()
}

fn samples<'a>(record: &'a Record, policy: &str, metric: &str) -> Vec<Sample<'a>> {
    let counts =
        |trial: &&Trial| trial.policy == policy && trial.role == Role::Arm && trial.succeeded();
    let trials = record.trials.iter().filter(counts);
    trials
        .filter_map(|trial| numbers(trial, metric).ok())
        .collect()
}
