//! Tests if some runs get faster and if some get slower, with two bets that need no constant effect.
//!
//! Before each round a threshold is fixed: a high value among the baseline's runs so far. Let k runs of the round be
//! beyond it. If the policy makes no run larger, its run is among the k with a chance of at most k divided by the runs
//! of the round. Raising the policy's values can only raise that chance.
//!
//! So a bet on it is fair or worse under the hypothesis "no run is made larger", which allows every smaller effect (a
//! bounded null: Caughey, Dafoe, Li and Miratrix, 2023). The wealth can be inspected after every round.

use crate::draw::Draw;

/// The thresholds, as quantiles of the baseline's runs so far: few of its runs exceed them. Lower ones would detect
/// more shifts and fewer rare runs, and the bets on the usual run already detect shifts.
const QUANTILES: [f64; 2] = [0.9, 1.0];
/// How boldly is bet.
const STAKES: [f64; 2] = [1.5, 3.0];
/// The first rounds, which only set the thresholds.
const FIRST: usize = 3;

/// The logarithms of the largest wealth of both bets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The bet that some runs of the policy are larger than they would be without it.
    pub larger: f64,
    /// The bet that some runs are smaller.
    pub smaller: f64,
}

/// Bets on the rounds in their order. Values count as beyond a threshold only if they exceed it by more than `margin`.
#[must_use]
pub fn shape(draws: &[Draw], margin: f64) -> Shape {
    Shape {
        larger: one_side(draws, margin, 1.0),
        smaller: one_side(draws, margin, -1.0),
    }
}

fn one_side(draws: &[Draw], margin: f64, sign: f64) -> f64 {
    let mut past: Vec<f64> = Vec::with_capacity(2 * draws.len());
    let mut logs = [[0.0; STAKES.len()]; QUANTILES.len()];
    let mut most: f64 = 0.0;
    for (index, draw) in draws.iter().enumerate() {
        if index >= FIRST {
            for (logs, quantile) in logs.iter_mut().zip(QUANTILES) {
                let at = (quantile * past.len() as f64).ceil() as usize;
                settle(logs, draw, past[at.max(1) - 1] + margin, sign);
            }
            most = most.max(log_mean_exp(logs.as_flattened()));
        }
        for value in draw.baselines() {
            let at = past.partition_point(|&other| other < sign * value);
            past.insert(at, sign * value);
        }
    }
    most
}

fn settle(logs: &mut [f64; STAKES.len()], draw: &Draw, threshold: f64, sign: f64) {
    let beyond = |values: &[f64]| {
        let beyond = values.iter().filter(|value| sign * *value > threshold);
        beyond.count()
    };
    let hits = beyond(draw.policies());
    let all = hits + beyond(draw.baselines());
    let chances = chances(draw.runs(), all, draw.policies().len());
    for (log, stake) in logs.iter_mut().zip(STAKES) {
        let payoff = |hits: usize| (stake * hits as f64).exp();
        let fair: f64 = chances.iter().map(|&(hits, p)| p * payoff(hits)).sum();
        *log += stake * hits as f64 - fair.ln();
    }
}

/// Returns the probability of each number of hits if `chosen` of `runs` are drawn at random and `beyond` of them are
/// hits.
fn chances(runs: usize, beyond: usize, chosen: usize) -> Vec<(usize, f64)> {
    let ways = |n: usize, k: usize| -> f64 {
        let factors = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64);
        if k > n { 0.0 } else { factors.product() }
    };
    let all = ways(runs, chosen);
    let chance = |hits: usize| ways(beyond, hits) * ways(runs - beyond, chosen - hits) / all;
    let possible = 0..=chosen.min(beyond);
    possible.map(|hits| (hits, chance(hits))).collect()
}

/// Returns the logarithm of the mean of numbers, from their logarithms.
fn log_mean_exp(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
    largest + (sum / logs.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_an_urn() {
        assert_eq!(chances(3, 1, 1), [(0, 2.0 / 3.0), (1, 1.0 / 3.0)]);
        assert_eq!(
            chances(4, 2, 2),
            [(0, 1.0 / 6.0), (1, 4.0 / 6.0), (2, 1.0 / 6.0)]
        );
        assert_eq!(chances(4, 0, 2), [(0, 1.0)]);
        assert_eq!(chances(2, 2, 1), [(0, 0.0), (1, 1.0)]);
    }
}
