//! Whether some runs are made faster, and whether some are made slower: two bets that need no
//! constant effect.
//!
//! Before each round a threshold is fixed: a high value among the baseline's runs so far. Of the
//! runs of the round, k lie beyond it. If the policy makes no run larger, its run is among the k
//! with a chance of at most k of the runs of the round: raising the policy's values can only
//! raise that. So a bet on it is fair or worse under "no run is made larger", a hypothesis that
//! allows every smaller effect (a bounded null: Caughey, Dafoe, Li and Miratrix, 2023), and the
//! wealth may be looked at after every round.

use super::bets::{Draw, log_mean_exp};

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
    let beyond = |value: f64| sign * value > threshold;
    let runs = 2 + usize::from(draw.control.is_some());
    let others = draw.baselines().filter(|&it| beyond(it)).count();
    let hit = beyond(draw.policy);
    let chance = (others + usize::from(hit)) as f64 / runs as f64;
    for (log, stake) in logs.iter_mut().zip(STAKES) {
        let fair = (chance * stake.exp() + 1.0 - chance).ln();
        *log += if hit { stake } else { 0.0 } - fair;
    }
}
