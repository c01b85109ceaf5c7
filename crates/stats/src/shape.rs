//! Whether some runs are made faster, and whether some are made slower: two bets that need no
//! constant effect.
//!
//! Before each round a threshold is fixed: a high value among the baseline's runs so far. Of the
//! runs of the round, k lie beyond it. If the policy makes no run larger, its run is among the k
//! with a chance of at most k of the runs of the round: raising the policy's values can only
//! raise that. So a bet on it is fair or worse under "no run is made larger", a hypothesis that
//! allows every smaller effect (a bounded null: Caughey, Dafoe, Li and Miratrix, 2023), and the
//! wealth may be looked at after every round.

use crate::draw::Draw;

/// Which values of the baseline's runs so far are thresholds: those that few of its runs exceed.
/// Lower ones see more shifts and fewer rare runs, and the bets on the usual run see shifts.
const QUANTILES: [f64; 2] = [0.9, 1.0];
/// How boldly is bet.
const STAKES: [f64; 2] = [1.5, 3.0];
/// The rounds that only serve the thresholds.
const FIRST: usize = 3;

/// The logarithms of the largest wealth of both bets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Of the bet that some runs of the policy are larger than they were without it.
    pub larger: f64,
    /// Of the bet that some are smaller.
    pub smaller: f64,
}

/// Bets on the rounds in their order. Values count as beyond a threshold only if they lie
/// beyond it by more than `margin`.
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

/// How likely each number of hits is if `chosen` of `runs` are drawn by lot and `beyond` of them are hits.
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

/// The logarithm of the mean of numbers whose logarithms are given.
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
