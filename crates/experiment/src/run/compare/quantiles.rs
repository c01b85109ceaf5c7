//! The effect of a policy at each part of a distribution of trials: the shift function.

use crate::run::compare::Scale;
use crate::run::compare::effect::on;
use crate::run::compare::rounds::{Arm, Rounds};
use crate::run::compare::rows::scale;
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Sample, Tail, tails};

/// The change at one quantile, as ratios of the policy to the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileChange {
    /// The share of the trials at or below it.
    pub share: f64,
    /// The ratio.
    pub ratio: f64,
    /// The interval; jointly, all of them have 95 % coverage, within the accuracy of a bootstrap of rounds.
    pub interval: Option<(f64, f64)>,
}

/// The quantiles.
const SHARES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// Fewer rounds have no value beyond the first and the last of these quantiles.
const FEWEST: u32 = 10;

/// The change at the quantiles of all trials. Empty if there are too few rounds, if trials have counts instead of
/// single numbers, and if a zero rules out a ratio.
#[must_use]
pub fn quantile_changes(
    record: &Record,
    baseline: &str,
    policy: &str,
    metric: &str,
) -> Vec<QuantileChange> {
    let rounds = Rounds::of(record);
    let pairs = rounds.pairs(metric, Arm::Policy(baseline), Arm::Policy(policy));
    let counted = |sample: &Sample<'_>| matches!(sample, Sample::Counted(_));
    let rounds = pairs.rounds();
    let mut samples = rounds.iter().flat_map(|(a, b)| [a, b]);
    if pairs.n() < FEWEST || samples.any(counted) || scale(&pairs) != Scale::Ratio {
        return Vec::new();
    }
    let alpha = ALPHA / SHARES.len() as f64;
    let effect = |before, after| on(Scale::Ratio, before, after);
    let seed = record.header.plan.seed;
    let found = tails(&rounds, &SHARES, effect, alpha, seed);
    let change = |(share, tail): (f64, Option<Tail>)| {
        let tail = tail?;
        Some(QuantileChange {
            share,
            ratio: tail.estimate.exp(),
            interval: tail.interval.map(|(low, high)| (low.exp(), high.exp())),
        })
    };
    std::iter::zip(SHARES, found).filter_map(change).collect()
}
