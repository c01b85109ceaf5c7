//! Re-randomised sums: the size of an effect by the shuffle alone, at any time of stopping.
//!
//! In each block the shuffle deals the places of the policy's runs and those of the baseline. If the policy
//! shifts every value by exactly θ, then the values less that shift would have been the same in any other
//! deal. So, given the values, each choice of the policy's places is equally likely. A block votes by how much
//! its runs of the policy lie above those of the baseline, and the sum of the votes has a distribution that is
//! known exactly: the convolution, block by block, of the votes of all choices. Nothing is assumed about the
//! machine.
//!
//! After each block the sum is compared with a boundary. The error α is spent over the runs as they come
//! ([`spent`]): the boundary is the lowest one at which no more than the spent error crosses it, now or
//! before. The total never exceeds α however long the experiment goes on, so it may stop at any time, and a
//! record may be continued (Lan and `DeMets`, 1983, for spending; Jennison and Turnbull, 1989, for repeated
//! confidence intervals; Fisher, 1935, for the inference). The interval of a moment holds the shifts whose
//! sums lie within their boundaries at that moment.

mod lattice;
mod scores;
mod walk;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::draw::{Draw, Side};
use crate::quantile::median_in_place;
use hugewise_base::bisect::{Precision, bisect};
use scores::{Scorer, lead};
use walk::{Lead, Walk};

/// After so many runs half of the error is spent.
///
/// Six and four runs (a first block of 3 + 3, then 2 + 2) decide an effect that orders them all with an error of
/// 2.25 % a side: one choice in 120 must fit into what is spent by then.
const HALF_SPENT: f64 = 16.9;

/// Returns the part of the one-sided error `alpha` that `runs` runs of both arms may spend.
#[must_use]
pub fn spent(alpha: f64, runs: f64) -> f64 {
    alpha * runs / (runs + HALF_SPENT)
}

/// The blocks of one policy beside a baseline.
#[derive(Clone, Copy, Debug)]
pub struct Sums<'a> {
    draws: &'a [Draw],
}

/// With a larger error a sum near its mean may be refuted too.
const LARGE: f64 = 0.1;
/// What the decision saw after one block. A vote is at most 0.45.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The vote of the block.
    pub vote: f64,
    /// The sum of the votes so far.
    pub sum: f64,
    /// The sum that refutes; where no deal so far reaches one, just above the largest.
    pub boundary: f64,
    /// The error that may be spent by now.
    pub may_spend: f64,
}

/// Halvings that lead to an estimate.
const HALVINGS: u32 = 50;
/// The ends of intervals are found to this part of their distance from the estimate, outwards.
const PRECISION: f64 = 4e-3;
/// A forecast allows so many standard errors in favour of a decision.
const FAVOUR: f64 = 2.0;
/// Where the end of an interval is looked for, in standard errors from the estimate.
const STEPS: [f64; 14] = [
    1.2, 1.8, 2.4, 3.0, 4.0, 5.5, 8.0, 12.0, 20.0, 40.0, 100.0, 400.0, 2e3, 1e4,
];
/// A standard error is this many median distances, by the root of the number of blocks.
const ERROR_PER_DISTANCE: f64 = 1.5;

impl<'a> Sums<'a> {
    /// The sums of these blocks, in the order in which they were run.
    #[must_use]
    pub fn of(draws: &'a [Draw]) -> Self {
        Self { draws }
    }

    /// Returns true if `shift` is refuted now with the one-sided error `alpha`: the effect lies on `side` of it.
    #[must_use]
    pub fn refutes(&self, shift: f64, side: Side, alpha: f64) -> bool {
        let may_be = alpha > LARGE || self.lead(shift, side).is_clear();
        may_be && self.walk(shift, side, alpha).is_beyond()
    }

    /// Returns the looks that a decision is made of, one after each block.
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

    /// The two-sided p-value of no effect, valid at any time of stopping. It is at most `level` exactly if zero
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
        // A larger error refutes what a smaller one does, so halving finds the last step.
        let last = |steps: &[f64], from: f64| {
            let refuted = steps.partition_point(is_refuted);
            refuted.checked_sub(1).map_or(from, |at| steps[at])
        };
        if is_refuted(&level) {
            return last(&grid(level, LEAST_P), level);
        }
        // The reverse: from certainty down to the level, which is not reached.
        let mut larger = grid(1.0, level);
        larger.retain(|p| *p > level);
        last(&larger, 1.0)
    }

    /// Returns true if a direction may be shown now with the error `alpha` at each end, or that the effect is at
    /// most `limit`. If not, [`Self::interval`] holds zero and reaches beyond the limit, and need not be asked.
    #[must_use]
    pub fn may_show(&self, limit: f64, alpha: f64) -> bool {
        let is_refuted = |shift: f64, side| self.refutes(shift, side, alpha);
        Side::BOTH.into_iter().any(|side| is_refuted(0.0, side))
            || is_refuted(limit, Side::Below) && is_refuted(-limit, Side::Above)
    }

    /// Returns true if `rounds` blocks more may refute `shift`, if they go on as these did, with two standard
    /// errors in favour. The boundary is that of a single look, which is lower than that of many.
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

    /// How far the sum lies from its mean under the hypothesis.
    fn lead(&self, shift: f64, side: Side) -> Lead {
        let mut scorer = Scorer::new(shift, side);
        let mut lead = Lead::default();
        for draw in self.draws {
            scorer.block(draw, |block| lead.add(block));
        }
        lead
    }

    /// All blocks, one look at each.
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

    /// The shift that leaves the policy in the middle of its blocks; `None` without a block.
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
        // What the search left of zero is none.
        Some(if estimate.abs() > 1e-9 * most {
            estimate
        } else {
            0.0
        })
    }

    /// The shifts that are not refuted now with the error `alpha` at each end, as a closed interval; `None`
    /// while the blocks are too few to refute any.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        self.interval_around(self.estimate()?, alpha)
    }

    /// The same, if the estimate is known.
    #[must_use]
    pub fn interval_around(&self, estimate: f64, alpha: f64) -> Option<(f64, f64)> {
        let low = self.limit(estimate, Side::Above, alpha)?;
        let high = self.limit(estimate, Side::Below, alpha)?;
        Some((low, high))
    }

    /// The shift nearest to the estimate that is refuted on `side`, outwards.
    fn limit(&self, estimate: f64, side: Side, alpha: f64) -> Option<f64> {
        let is_refuted = |shift: f64| self.refutes(shift, side, alpha);
        if is_refuted(estimate) {
            return Some(estimate);
        }
        let outwards = -side.sign();
        let error = self.error(estimate);
        if error <= estimate.abs() * 1e-12 {
            // All blocks are alike, to the last bit: there is one shift or none.
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

    /// A rough standard error of the estimate: all that it decides is where the search begins.
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

/// The end of an interval between `near`, which is not refuted, and `far`, which is. Zero is what decides: the
/// interval leaves it out exactly if it is refuted.
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

/// A p-value is the upper end of a step, of which so many halve it.
const P_PER_OCTAVE: f64 = 4.0;
/// Smaller ones are not told apart.
const LEAST_P: f64 = 1e-6;

#[cfg(test)]
mod tests;
