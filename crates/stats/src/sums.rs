//! Re-randomised sums: the size of an effect from the shuffle only, at any time of stopping.
//!
//! In each block the shuffle assigns the places of the policy's runs and those of the baseline. If the policy shifts
//! every value by exactly θ, then the values less that shift would have been the same in any other deal. So, given the
//! values, each choice of the policy's places is equally likely. A block votes by how much its runs of the policy
//! exceed those of the baseline. The distribution of the sum of the votes is known exactly: the convolution, block by
//! block, of the votes of all choices. Nothing is assumed about the machine.
//!
//! After each block the sum is compared with a boundary. The error α is spent over the runs as they come ([`spent`]).
//! The boundary is the lowest one that keeps the total crossing probability, of this and all earlier looks, within the
//! spent error. The total never exceeds α however long the experiment continues, so you can stop it at any time and
//! continue a record. Sources: Lan and `DeMets`, 1983, for spending; Jennison and Turnbull, 1989, for repeated
//! confidence intervals; Fisher, 1935, for the inference. The interval at a given moment contains the shifts whose sums
//! are within their boundaries at that moment.

mod lattice;
mod scores;
mod walk;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::draw::{Draw, Side};
use crate::quantile::median_in_place;
use hugewise_base::bisect::{Precision, bisect};
use scores::{Scorer, lead};
use walk::{Lead, Walk};

/// The number of runs after which half of the error is spent.
///
/// Six runs and then four (a first block of 3 + 3, then 2 + 2) decide an effect that orders them all, with an error of
/// 2.25 % per side. One choice in 120 must not exceed the error spent by then.
const HALF_SPENT: f64 = 16.9;

/// Returns the part of the one-sided error `alpha` that `runs` runs of both arms can spend.
#[must_use]
pub fn spent(alpha: f64, runs: f64) -> f64 {
    alpha * runs / (runs + HALF_SPENT)
}

/// The blocks of one policy and its baseline.
#[derive(Clone, Copy, Debug)]
pub struct Sums<'a> {
    draws: &'a [Draw],
}

/// With a larger error, even a sum near its mean can be refuted.
const LARGE: f64 = 0.1;
/// The state of the decision after one block. A vote is at most 0.45.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The vote of the block.
    pub vote: f64,
    /// The sum of the votes so far.
    pub sum: f64,
    /// The smallest sum that refutes. If no deal so far can refute, it is just above the largest sum.
    pub boundary: f64,
    /// The error that can be spent by now.
    pub may_spend: f64,
}

/// The number of halvings for an estimate.
const HALVINGS: u32 = 50;
/// The precision of an interval's end, relative to its distance from the estimate; rounded outwards.
const PRECISION: f64 = 4e-3;
/// A forecast assumes this many standard errors in favour of a decision.
const FAVOUR: f64 = 2.0;
/// The steps of the search for the end of an interval, in standard errors from the estimate.
const STEPS: [f64; 14] = [
    1.2, 1.8, 2.4, 3.0, 4.0, 5.5, 8.0, 12.0, 20.0, 40.0, 100.0, 400.0, 2e3, 1e4,
];
/// A standard error is this many median distances, divided by the square root of the number of blocks.
const ERROR_PER_DISTANCE: f64 = 1.5;

impl<'a> Sums<'a> {
    /// Creates the sums of these blocks, in the order in which they were run.
    #[must_use]
    pub fn of(draws: &'a [Draw]) -> Self {
        Self { draws }
    }

    /// Returns true if `shift` is refuted now with the one-sided error `alpha`: the effect is on its `side`.
    #[must_use]
    pub fn refutes(&self, shift: f64, side: Side, alpha: f64) -> bool {
        let may_be = alpha > LARGE || self.lead(shift, side).is_clear();
        may_be && self.walk(shift, side, alpha).is_beyond()
    }

    /// Returns the looks of a decision, one after each block.
    #[must_use]
    pub fn looks(&self, shift: f64, side: Side, alpha: f64) -> Vec<Look> {
        let mut scorer = Scorer::new(shift, side);
        let mut walk = Walk::default();
        let mut runs = 0.0;
        let look = |draw: &Draw| {
            runs += draw.runs() as f64;
            let before = walk.sum();
            let may_spend = spent(alpha, runs);
            scorer.block(draw, |block| walk.step(block, may_spend));
            Look {
                vote: walk.sum() - before,
                sum: walk.sum(),
                boundary: walk.boundary(),
                may_spend,
            }
        };
        self.draws.iter().map(look).collect()
    }

    /// Returns the two-sided p-value of no effect, valid at any time of stopping. It is at most `level` exactly if zero
    /// is refuted on one side with half of that error.
    #[must_use]
    pub fn p(&self, level: f64) -> f64 {
        let is_refuted = |p: &f64| {
            let mut sides = Side::BOTH.into_iter();
            sides.any(|side| self.refutes(0.0, side, p / 2.0))
        };
        let grid = |from: f64, to: f64| -> Vec<f64> {
            let steps = (from / to).log2().ceil().max(1.0) * P_PER_OCTAVE;
            let ratio = (to / from).powf(1.0 / steps);
            let each = (1..=steps as u32).map(|step| from * ratio.powf(f64::from(step)));
            each.collect()
        };
        // A larger error refutes whatever a smaller one refutes, so bisection finds the last step.
        let last = |steps: &[f64], from: f64| {
            let refuted = steps.partition_point(is_refuted);
            refuted.checked_sub(1).map_or(from, |at| steps[at])
        };
        if is_refuted(&level) {
            return last(&grid(level, LEAST_P), level);
        }
        // The reverse: from certainty down to the level, which it does not include.
        let mut larger = grid(1.0, level);
        larger.retain(|p| *p > level);
        last(&larger, 1.0)
    }

    /// Returns true if a direction can be shown now with the error `alpha` at each end, or that the effect is at most
    /// `limit`. If not, [`Self::interval`] contains zero and extends beyond the limit, and need not be computed.
    #[must_use]
    pub fn may_show(&self, limit: f64, alpha: f64) -> bool {
        let is_refuted = |shift: f64, side| self.refutes(shift, side, alpha);
        Side::BOTH.into_iter().any(|side| is_refuted(0.0, side))
            || is_refuted(limit, Side::Below) && is_refuted(-limit, Side::Above)
    }

    /// Returns true if `rounds` more blocks can refute `shift`, if they continue like these, with two standard errors
    /// in favour. It uses the boundary of a single look, which is lower than the boundary of many.
    #[must_use]
    pub fn may_refute(&self, shift: f64, side: Side, alpha: f64, rounds: u32) -> bool {
        if self.draws.is_empty() {
            return true;
        }
        let now = self.lead(shift, side);
        let growth = f64::from(rounds) / self.draws.len() as f64;
        let lead = now.lead * (1.0 + growth) + FAVOUR * growth * now.spread;
        let runs = self.runs() * (1.0 + growth);
        let normal = Normal::standard();
        let needed = normal.inverse_cdf(1.0 - spent(alpha, runs));
        lead >= needed * now.spread * (1.0 + growth).sqrt() || self.refutes(shift, side, alpha)
    }

    fn runs(&self) -> f64 {
        self.draws.iter().map(Draw::runs).sum::<usize>() as f64
    }

    /// Returns the distance of the sum from its mean under the hypothesis.
    fn lead(&self, shift: f64, side: Side) -> Lead {
        let mut scorer = Scorer::new(shift, side);
        let mut lead = Lead::default();
        for draw in self.draws {
            scorer.block(draw, |block| lead.add(block));
        }
        lead
    }

    /// Walks all blocks, with one look at each.
    fn walk(&self, shift: f64, side: Side, alpha: f64) -> Walk {
        let mut scorer = Scorer::new(shift, side);
        let mut walk = Walk::default();
        let mut runs = 0.0;
        for draw in self.draws {
            runs += draw.runs() as f64;
            scorer.block(draw, |block| walk.step(block, spent(alpha, runs)));
        }
        walk
    }

    /// Returns the shift that puts the policy in the middle of its blocks; `None` without a block.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        let differences = || self.draws.iter().map(Draw::difference);
        let (low, high) = bisect(
            differences().reduce(f64::min)?,
            differences().reduce(f64::max)?,
            Precision::halvings(HALVINGS),
            |shift| lead(self.draws, shift) <= 0.0,
        );
        let most = differences().map(f64::abs).fold(0.0, f64::max);
        let estimate = f64::midpoint(low, high);
        // A remainder of the search this close to zero is zero.
        Some(if estimate.abs() > 1e-9 * most {
            estimate
        } else {
            0.0
        })
    }

    /// Returns the shifts not refuted now with the error `alpha` at each end, as a closed interval; `None` if there are
    /// too few blocks to refute any.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        self.interval_around(self.estimate()?, alpha)
    }

    /// Returns the interval if the estimate is already known.
    #[must_use]
    pub fn interval_around(&self, estimate: f64, alpha: f64) -> Option<(f64, f64)> {
        let low = self.limit(estimate, Side::Above, alpha)?;
        let high = self.limit(estimate, Side::Below, alpha)?;
        Some((low, high))
    }

    /// Returns the shift nearest to the estimate that is refuted on `side`, searching outwards.
    fn limit(&self, estimate: f64, side: Side, alpha: f64) -> Option<f64> {
        let is_refuted = |shift: f64| self.refutes(shift, side, alpha);
        if is_refuted(estimate) {
            return Some(estimate);
        }
        let outwards = -side.sign();
        let error = self.error(estimate);
        if error <= estimate.abs() * 1e-12 {
            // All blocks are equal, to the last bit: there is one shift or none.
            return is_refuted(estimate + outwards * (estimate.abs() + 1.0)).then_some(estimate);
        }
        let mut near = estimate;
        let mut steps = STEPS
            .map(|step| estimate + outwards * step * error)
            .into_iter();
        let far = steps.find(|&far| {
            let is_far = is_refuted(far);
            if !is_far {
                near = far;
            }
            is_far
        })?;
        let precision = Precision::width((far - estimate).abs() * PRECISION);
        let (near, far) = bisect(near, far, precision, is_refuted);
        Some(decided_at_zero(near, far, outwards, || is_refuted(0.0)))
    }

    /// Returns a rough standard error of the estimate. It only sets the start of the search.
    fn error(&self, estimate: f64) -> f64 {
        let differences = self.draws.iter().map(Draw::difference);
        let within = self.draws.iter().flat_map(|draw| {
            let middle = draw.baseline_mean();
            draw.baselines().iter().map(move |value| value - middle)
        });
        let distances = differences.map(|it| it - estimate).chain(within);
        let mut distances: Vec<f64> = distances.map(f64::abs).filter(|it| *it > 0.0).collect();
        let middle = median_in_place(&mut distances).unwrap_or(0.0);
        ERROR_PER_DISTANCE * middle / (self.draws.len() as f64).sqrt()
    }
}

/// Returns the end of an interval between `near`, which is not refuted, and `far`, which is. Zero is always decided
/// exactly: the interval excludes it exactly if it is refuted.
fn decided_at_zero(near: f64, far: f64, outwards: f64, is_refuted: impl Fn() -> bool) -> f64 {
    if near * far <= 0.0 && near != 0.0 && is_refuted() {
        return near / 1e6;
    }
    let lies_beyond = outwards * far < 0.0;
    if lies_beyond && !is_refuted() {
        0.0
    } else {
        far
    }
}

/// A p-value is the upper end of a step; this many steps halve it.
const P_PER_OCTAVE: f64 = 4.0;
/// Smaller p-values are reported as this one.
const LEAST_P: f64 = 1e-6;

#[cfg(test)]
mod tests;
