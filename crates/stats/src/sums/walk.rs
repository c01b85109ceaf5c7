//! The null distribution of a sum over blocks, without the sums that crossed the boundary of an earlier look.

use super::lattice::{Block, STEPS, Votes};

/// The probability that can be dropped at the far end of a look; it counts as spent.
const NEGLIGIBLE: f64 = 1e-12;
/// The margin between a boundary and rounding errors.
const ROUNDING: f64 = 1.0 - 1e-9;

/// The sum of the votes, and the distribution of the sums that the shuffle could have produced.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The probability of each sum that crossed no boundary.
    open: Vec<f64>,
    /// Buffer for the next distribution.
    last: Vec<f64>,
    /// The first sum of `open`.
    from: i64,
    spent: f64,
    sum: i64,
    boundary: i64,
}

/// The sum of the votes less its mean under the hypothesis, and its standard deviation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lead {
    pub(super) lead: f64,
    pub(super) spread: f64,
    variance: f64,
}

/// Sums fewer deviations above their mean are plausible by chance. Most sums are, and need no distribution.
const CLEAR: f64 = 1.0;

impl Lead {
    pub(super) fn add(&mut self, block: Block<'_>) {
        let votes = block.votes();
        let mean: f64 = votes.possible().map(|(vote, p)| vote as f64 * p).sum();
        let squares = votes
            .possible()
            .map(|(vote, p)| (vote as f64 - mean).powi(2) * p);
        self.lead += block.own() as f64 - mean;
        self.variance += squares.sum::<f64>();
        self.spread = self.variance.sqrt();
    }

    /// Returns true if the sum could be beyond its boundary.
    pub(super) fn is_clear(self) -> bool {
        self.lead > 0.0 && self.lead >= CLEAR * self.spread
    }
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            open: vec![1.0],
            last: Vec::new(),
            from: 0,
            spent: 0.0,
            sum: 0,
            boundary: i64::MAX,
        }
    }
}

impl Walk {
    /// Adds a block and takes a look: `may_spend` is the error up to this look.
    pub(super) fn step(&mut self, block: Block<'_>, may_spend: f64) {
        let votes = block.votes();
        self.sum += block.own();
        self.convolve(&votes);
        self.look(may_spend);
    }

    fn convolve(&mut self, votes: &Votes) {
        let Some((least, most)) = votes.ends() else {
            return;
        };
        self.last.clear();
        self.last
            .resize(self.open.len() + (most - least) as usize, 0.0);
        for (vote, p) in votes.possible() {
            let at = (vote - least) as usize;
            for (target, open) in self.last[at..].iter_mut().zip(&self.open) {
                *target += open * p;
            }
        }
        std::mem::swap(&mut self.open, &mut self.last);
        self.from += least;
    }

    /// Cuts off the top, up to the error to be spent.
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
        // If all sums crossed, nothing is left, and any further sum is beyond the boundary.
        if self.open.is_empty() {
            self.open.push(0.0);
        }
    }

    /// Returns the sum in votes.
    pub(super) fn sum(&self) -> f64 {
        self.sum as f64 / STEPS
    }

    /// The least sum beyond.
    pub(super) fn boundary(&self) -> f64 {
        self.boundary as f64 / STEPS
    }

    /// Returns true if the sum is at or beyond the boundary of the last look.
    pub(super) fn is_beyond(&self) -> bool {
        self.sum >= self.boundary
    }
}
