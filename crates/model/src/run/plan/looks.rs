//! Group-sequential stopping: when the data may be looked at, and what each look may spend.
//!
//! There are at most four looks, spaced geometrically. Each owns a fixed share of the error of
//! the experiment; the shares add up to one, so by the union bound the error of all looks
//! together is at most [`ALPHA`](crate::run::stats::ALPHA), however the looks depend on each other and whatever the noise
//! is like. Half belongs to the last look, the rest is divided among the others: a large effect
//! is seen early at any level, a small one needs the last look's level.
//!
//! Lan–DeMets boundaries would spend less, but need a joint distribution of the looks, which
//! under drift nobody knows. The price is an interval about 14 % wider at the last look.

use super::Bounds;

/// More looks than these would cost precision and save little time.
const MOST: usize = 4;

/// The smallest number of pairs whose signed-rank test can reach the level of an early look:
/// 2 / 2⁸ = 0.0078 is below 0.05 / 6.
const FEWEST: u32 = 8;

/// The numbers of rounds after which a decision may be made, ascending; the last is
/// `max_rounds`. With `min_rounds` below eight the first is eight: no interval exists earlier.
#[must_use]
pub fn looks(bounds: &Bounds) -> Vec<u32> {
    let last = bounds.max_rounds.max(1);
    let first = bounds.min_rounds.max(FEWEST);
    if first >= last {
        return vec![last];
    }
    let growth = f64::from(last) / f64::from(first);
    let steps = ((growth.ln() / 1.5_f64.ln()).ceil() as usize).clamp(1, MOST - 1);
    let at = |step: usize| {
        let part = step as f64 / steps as f64;
        (f64::from(first) * growth.powf(part)).round() as u32
    };
    let mut looks: Vec<u32> = (0..steps).map(at).chain([last]).collect();
    looks.dedup();
    looks
}

/// The share of the error that may be spent after `rounds` rounds.
///
/// Between two looks it is the share of the next one. An experiment that is interrupted there
/// spends it then, in place of the look that it never reaches, so the shares still add up to
/// at most one — provided that the interruption did not depend on what was seen.
#[must_use]
pub fn share(bounds: &Bounds, rounds: u32) -> f64 {
    let looks = looks(bounds);
    let early = looks.len() - 1;
    let is_early = looks[..early].iter().any(|&look| rounds <= look);
    match early {
        0 => 1.0,
        _ if is_early => 0.5 / early as f64,
        _ => 0.5,
    }
}

/// The smallest number of pairs for which an interval of level 1 − `alpha` exists: all n signs
/// alike must be rarer than `alpha`, 2 / 2ⁿ ≤ `alpha`.
#[must_use]
pub fn fewest_pairs(alpha: f64) -> u32 {
    (1..=64)
        .find(|&n| 2.0 * 0.5_f64.powi(n) <= alpha)
        .unwrap_or(64)
        .unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::stats::ALPHA;
    use proptest::prelude::*;

    fn bounds(min_rounds: u32, max_rounds: u32) -> Bounds {
        Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 0,
            min_rounds,
            max_rounds,
            max_time: None,
        }
    }

    #[test]
    fn looks_are_few_and_spread() {
        assert_eq!(looks(&bounds(10, 40)), [10, 16, 25, 40]);
        assert_eq!(looks(&bounds(8, 16)), [8, 11, 16]);
        assert_eq!(looks(&bounds(10, 12)), [10, 12]);
        assert_eq!(looks(&bounds(10, 10)), [10]);
        assert_eq!(looks(&bounds(1, 5)), [5]);
        assert_eq!(looks(&bounds(0, 0)), [1]);
    }

    #[test]
    fn an_interval_needs_enough_pairs() {
        assert_eq!(fewest_pairs(0.05), 6);
        assert_eq!(fewest_pairs(0.05 / 6.0), FEWEST);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_one(min in 0_u32..300, max in 0_u32..600, rounds in 0_u32..700) {
            let bounds = bounds(min, max);
            let looks = looks(&bounds);
            prop_assert!(looks.len() <= MOST);
            prop_assert!(looks.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(looks.last().copied(), Some(max.max(1)));
            let sum: f64 = looks.iter().map(|&look| share(&bounds, look)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-12);
            let next = looks.iter().copied().find(|&look| look >= rounds).unwrap_or(max);
            prop_assert!((share(&bounds, rounds) - share(&bounds, next)).abs() < 1e-12);
            if looks.len() > 1 {
                prop_assert!(looks[0] >= fewest_pairs(ALPHA * share(&bounds, looks[0])));
            }
        }
    }
}
