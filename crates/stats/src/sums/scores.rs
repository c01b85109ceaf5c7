//! Scores of the values of a block: the large ones score high, computed without knowing their arms.

use super::lattice::{Block, MOST, vote};
use crate::draw::{Draw, Side};
use crate::quantile::median_in_place;
use crate::running_median::RunningMedian;

/// Values this many usual distances from the middle of their block count three quarters of the maximum.
const BEND: f64 = 1.5;

/// Scores blocks in the order in which they were run. The scale of a block is the usual distance of all values so far
/// from the middle of their blocks. It does not depend on which runs are the policy's.
#[derive(Debug)]
pub(super) struct Scorer {
    shift: f64,
    sign: f64,
    distances: RunningMedian,
}

impl Scorer {
    /// Scores against the hypothesis that the policy adds `shift`, in favour of `side`.
    pub(super) fn new(shift: f64, side: Side) -> Self {
        Self {
            shift,
            sign: side.sign(),
            distances: RunningMedian::default(),
        }
    }

    /// Passes the scores of the next block to `with`.
    pub(super) fn block(&mut self, draw: &Draw, with: impl FnOnce(Block<'_>)) {
        let (mut values, n) = centred(draw, self.shift);
        for value in values[..n].iter().filter(|value| **value != 0.0) {
            self.distances.push(value.abs());
        }
        let scale = self.distances.middle().unwrap_or(1.0);
        for value in &mut values[..n] {
            *value = self.sign * score(*value, scale);
        }
        with(Block {
            scores: &values[..n],
            policies: draw.policies().len(),
        });
    }
}

/// Returns the values of a block without the shift, relative to their middle; those of the policy come first.
fn centred(draw: &Draw, shift: f64) -> ([f64; MOST], usize) {
    let mut values = [0.0; MOST];
    let policies = draw.policies().iter().map(|value| value - shift);
    let all = policies.chain(draw.baselines().iter().copied());
    for (place, value) in values.iter_mut().zip(all) {
        *place = value;
    }
    let n = draw.runs();
    let mut sorted = values;
    let middle = median_in_place(&mut sorted[..n]).unwrap_or(0.0);
    values[..n].iter_mut().for_each(|value| *value -= middle);
    (values, n)
}

/// Near the middle, returns the distance in units of the usual one. Far values are limited, so that a burst is one
/// vote.
fn score(value: f64, scale: f64) -> f64 {
    match value {
        0.0 => 0.0,
        value => (value / (BEND * scale)).tanh(),
    }
}

/// Returns the sum of the votes of all blocks for a policy that adds more than `shift`. All blocks share one scale.
pub(super) fn lead(draws: &[Draw], shift: f64) -> f64 {
    let blocks: Vec<_> = draws.iter().map(|draw| centred(draw, shift)).collect();
    let values = blocks.iter().flat_map(|(values, n)| &values[..*n]);
    let mut distances: Vec<f64> = values.map(|it| it.abs()).filter(|it| *it > 0.0).collect();
    let scale = median_in_place(&mut distances).unwrap_or(1.0);
    let sum = |values: &[f64]| values.iter().map(|value| score(*value, scale)).sum();
    let votes = blocks.iter().zip(draws).map(|((values, n), draw)| {
        let policies = draw.policies().len();
        vote(sum(&values[..policies]), sum(&values[..*n]), policies, *n)
    });
    votes.sum()
}
