//! Whole numbers for the votes of blocks: the distribution of their sums can be counted.

use crate::draw::MOST_RUNS;

/// The number of steps in a vote of one. Finer steps change no relevant decision and take longer.
pub(super) const STEPS: f64 = 24.0;

/// The limit of a block's vote. It is small, so that a few blocks with another effect do not move the interval of the
/// typical one. A smaller limit would delay the detection of large effects.
const MOST_VOTE: f64 = 0.45;

/// The largest absolute vote, in steps.
const FARTHEST: i64 = (MOST_VOTE * STEPS) as i64 + 1;
const VOTES: usize = 2 * FARTHEST as usize + 1;

/// The largest block: the maximum of runs in both arms.
pub(super) const MOST: usize = 2 * MOST_RUNS;

/// The scores of one block; those of the policy's runs come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) scores: &'a [f64],
    pub(super) policies: usize,
}

/// The probability of each vote of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Votes([f64; VOTES]);

/// Returns the mean excess of the policy's scores over those of the baseline, as a vote below [`MOST_VOTE`].
pub(super) fn vote(own: f64, all: f64, policies: usize, runs: usize) -> f64 {
    let lead = own / policies as f64 - (all - own) / (runs - policies) as f64;
    lead / (1.0 + (lead / MOST_VOTE).powi(2)).sqrt()
}

impl Block<'_> {
    /// Returns the vote of the runs that the shuffle assigned to the policy.
    pub(super) fn own(&self) -> i64 {
        let own = self.scores[..self.policies].iter().sum();
        self.steps(own, self.scores.iter().sum())
    }

    fn steps(&self, own: f64, all: f64) -> i64 {
        (vote(own, all, self.policies, self.scores.len()) * STEPS).round() as i64
    }

    /// Returns the votes of all choices of as many runs.
    pub(super) fn votes(&self) -> Votes {
        let runs = self.scores.len();
        let all = self.scores.iter().sum();
        let mut counts = [0_u32; VOTES];
        let mut total = 0_u32;
        for choice in choices(runs, self.policies) {
            let chosen = (0..runs).filter(|run| choice >> run & 1 == 1);
            let own = chosen.map(|run| self.scores[run]).sum();
            counts[(self.steps(own, all) + FARTHEST) as usize] += 1;
            total += 1;
        }
        let each = 1.0 / f64::from(total);
        Votes(counts.map(|count| f64::from(count) * each))
    }
}

/// Iterates over all ways to choose `k` of `n` places, as bit masks. Each is followed by the next larger number with as
/// many bits.
fn choices(n: usize, k: usize) -> impl Iterator<Item = u32> {
    let next = |choice: &u32| {
        let low = choice & choice.wrapping_neg();
        let carried = choice + low;
        Some((((carried ^ choice) >> 2) / low) | carried)
    };
    let all = std::iter::successors(Some((1_u32 << k) - 1), next);
    all.take_while(move |choice| choice >> n == 0)
}

impl Votes {
    /// Iterates over the possible votes, ascending, each with its probability.
    pub(super) fn possible(&self) -> impl Iterator<Item = (i64, f64)> {
        let votes = (-FARTHEST..).zip(self.0);
        votes.filter(|(_, p)| *p > 0.0)
    }

    /// Returns the smallest and the largest possible vote.
    pub(super) fn ends(&self) -> Option<(i64, i64)> {
        let is_possible = |p: &f64| *p > 0.0;
        let first = self.0.iter().position(is_possible)?;
        let last = self.0.iter().rposition(is_possible)?;
        Some((first as i64 - FARTHEST, last as i64 - FARTHEST))
    }
}
