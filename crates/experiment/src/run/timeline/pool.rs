//! Pooling of several trials of one policy.

use std::collections::BTreeMap;

use super::Circle;
use crate::run::trial::timeline::Held;

/// The slowest requests of several trials against their stalls.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// Number of slow requests.
    pub slow: u64,
    /// Number of those that overlapped with a stall.
    pub slow_in_stall: u64,
    /// The number expected by chance: the mean.
    pub by_chance: f64,
    /// The range that contains the number with 95 % probability under chance.
    pub chance_range: (u64, u64),
    /// The probability of at least the observed value under chance.
    pub p: f64,
    /// The shortest time of a slow request, over the trials.
    pub slow_from_seconds: f64,
}

/// Adds the trials up. Each was rotated independently, so every combination of their steps is equally likely. The sum
/// has the convolution of the individual distributions.
#[must_use]
pub fn pool(trials: &[&Held]) -> Option<Pooled> {
    let slow = trials.iter().map(|held| held.slow).sum();
    if slow == 0 {
        return None;
    }
    let slow_in_stall = trials.iter().map(|held| held.slow_in_stall).sum();
    let sums = trials.iter().fold(BTreeMap::from([(0, 1.0)]), with);
    let mean = sums.iter().map(|(&sum, share)| sum as f64 * share).sum();
    let reached = sums.range(slow_in_stall..).map(|(_, share)| share);
    let from = trials.iter().map(|held| held.slow_from_seconds);
    Some(Pooled {
        slow,
        slow_in_stall,
        by_chance: mean,
        chance_range: (quantile(&sums, 0.025), quantile(&sums, 0.975)),
        p: reached.sum::<f64>().min(1.0),
        slow_from_seconds: from.fold(f64::INFINITY, f64::min),
    })
}

/// The possible sums and their probabilities, with one more trial.
fn with(sums: BTreeMap<u64, f64>, held: &&Held) -> BTreeMap<u64, f64> {
    let steps: u64 = held.turned.iter().map(|(_, times)| times).sum();
    let steps = steps.max(1) as f64;
    let mut more = BTreeMap::new();
    for (sum, share) in sums {
        for &(count, times) in &held.turned {
            *more.entry(sum + count).or_insert(0.0) += share * times as f64 / steps;
        }
    }
    more
}

/// The smallest sum that the share `share` of all does not exceed: the rule of [`rank`](crate::base::histogram::rank),
/// with shares instead of counts.
fn quantile(sums: &BTreeMap<u64, f64>, share: f64) -> u64 {
    let mut seen = 0.0;
    let found = sums.iter().find(|(_, part)| {
        seen += **part;
        // Sums of thousandths are slightly too small in floating point.
        seen + 1e-9 >= share
    });
    found.map_or(0, |(sum, _)| *sum)
}

impl Pooled {
    /// The smallest possible p-value of one trial: smaller ones are never reported.
    pub const FINEST: f64 = 1.0 / Circle::STEPS as f64;
}
