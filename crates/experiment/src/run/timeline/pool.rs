//! Several trials of one policy together.

use std::collections::BTreeMap;

use super::Circle;
use crate::run::trial::timeline::Held;

/// The slowest requests of several trials against their stalls.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// Slow requests.
    pub slow: u64,
    /// How many of them overlapped with a stall.
    pub slow_in_stall: u64,
    /// How many would by chance: the mean.
    pub by_chance: f64,
    /// Between which numbers chance lies 95 times in a hundred.
    pub chance_range: (u64, u64),
    /// How often chance alone reaches what was seen.
    pub p: f64,
    /// The shortest time of a slow request, over the trials.
    pub slow_from_seconds: f64,
}

/// Adds the trials up. Each has been turned by itself, so that every pairing of their steps is
/// as likely as any other: the sum has the convolution of what each could be.
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

/// The sums that are possible and their shares, with one trial more.
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

/// The smallest sum that the share `share` of all does not exceed: the rule of
/// [`rank`](crate::base::histogram::rank), of shares in the place of counts.
fn quantile(sums: &BTreeMap<u64, f64>, share: f64) -> u64 {
    let mut seen = 0.0;
    let found = sums.iter().find(|(_, part)| {
        seen += **part;
        // Shares of a thousand add up to a little less than they are.
        seen + 1e-9 >= share
    });
    found.map_or(0, |(sum, _)| *sum)
}

impl Pooled {
    /// The smallest p-value that one trial can have: less is never said.
    pub const FINEST: f64 = 1.0 / Circle::STEPS as f64;
}
