//! The null distribution of a sum over blocks, without what crossed the boundary of an earlier look.

use super::lattice::Block;

/// Probability that may be left out at the far end of a look; it counts as spent.
const NEGLIGIBLE: f64 = 1e-12;
/// What stands between a boundary and the errors of rounding.
const ROUNDING: f64 = 1.0 - 1e-9;

/// The sum of the votes, and the distribution of the sums that the shuffle could have made.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The probability of each sum that crossed no boundary.
    open: Vec<f64>,
    /// The sum that `open` begins with.
    from: i64,
    spent: f64,
    sum: i64,
    boundary: i64,
    mean: f64,
    variance: f64,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            open: vec![1.0],
            from: 0,
            spent: 0.0,
            sum: 0,
            boundary: i64::MAX,
            mean: 0.0,
            variance: 0.0,
        }
    }
}

impl Walk {
    /// Adds a block, and looks: `may_spend` is the error up to this look.
    pub(super) fn step(&mut self, block: Block<'_>, may_spend: f64) {
        let choices = block.choices();
        self.sum += block.own();
        let mean: f64 = choices.iter().map(|&(sum, p)| sum as f64 * p).sum();
        let squares = choices
            .iter()
            .map(|&(sum, p)| (sum as f64 - mean).powi(2) * p);
        self.mean += mean;
        self.variance += squares.sum::<f64>();
        self.convolve(&choices);
        self.look(may_spend);
    }

    fn convolve(&mut self, choices: &[(i64, f64)]) {
        let (Some((least, _)), Some((most, _))) = (choices.first(), choices.last()) else {
            return;
        };
        let mut sums = vec![0.0; self.open.len() + (most - least) as usize];
        for (sum, p) in choices {
            let at = (sum - least) as usize;
            for (target, open) in sums[at..].iter_mut().zip(&self.open) {
                *target += open * p;
            }
        }
        self.open = sums;
        self.from += least;
    }

    /// Takes off the top as much as may be spent.
    fn look(&mut self, may_spend: f64) {
        let room = (may_spend - self.spent) * ROUNDING;
        let mut top = 0.0;
        let mut left = self.open.len();
        while left > 0 && top + self.open[left - 1] <= room {
            left -= 1;
            top += self.open[left];
        }
        self.boundary = self.from + left as i64;
        self.open.truncate(left);
        let mut bottom = 0.0;
        let far = self.open.iter().take_while(|p| {
            bottom += **p;
            bottom <= NEGLIGIBLE
        });
        let far = far.count();
        self.spent += top + self.open.drain(..far).sum::<f64>();
        self.from += far as i64;
        // Nothing is left where all sums crossed: whatever comes is beyond.
        if self.open.is_empty() {
            self.open.push(0.0);
        }
    }

    /// Returns true if the sum is at the boundary of the last look or beyond.
    pub(super) fn is_beyond(&self) -> bool {
        self.sum >= self.boundary
    }

    /// By how much the sum exceeds its mean under the hypothesis.
    pub(super) fn lead(&self) -> f64 {
        self.sum as f64 - self.mean
    }

    /// The standard deviation of the sum under the hypothesis.
    pub(super) fn spread(&self) -> f64 {
        self.variance.sqrt()
    }
}
