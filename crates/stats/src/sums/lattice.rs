//! Whole numbers for what a block says: sums of them have a distribution that can be counted.

use crate::draw::MOST_RUNS;

/// A vote of one is so many steps. Finer steps change no decision that matters and take longer.
const STEPS: f64 = 24.0;

/// The most that a block adds to the sum. Small, so that a few blocks with another effect do not move the
/// interval of the typical one; smaller still, and large effects would be found later.
const MOST_VOTE: f64 = 0.45;

/// The largest block: as many runs of each arm as a block uses.
pub(super) const MOST: usize = 2 * MOST_RUNS;

/// The scores of one block; those of the policy's runs come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) scores: &'a [f64],
    pub(super) policies: usize,
}

/// By how much the scores of the policy's runs exceed those of the baseline, on average, as a vote below
/// [`MOST_VOTE`].
pub(super) fn vote(own: f64, all: f64, policies: usize, runs: usize) -> f64 {
    let lead = own / policies as f64 - (all - own) / (runs - policies) as f64;
    lead / (1.0 + (lead / MOST_VOTE).powi(2)).sqrt()
}

impl Block<'_> {
    /// The vote of the runs that the shuffle dealt to the policy.
    pub(super) fn own(&self) -> i64 {
        self.steps(self.scores[..self.policies].iter().sum())
    }

    fn steps(&self, own: f64) -> i64 {
        let all = self.scores.iter().sum();
        (vote(own, all, self.policies, self.scores.len()) * STEPS).round() as i64
    }

    /// The votes of all choices of as many runs, ascending, each with its probability.
    pub(super) fn choices(&self) -> Vec<(i64, f64)> {
        let runs = self.scores.len();
        let choices = (0_u32..1 << runs).filter(|it| it.count_ones() as usize == self.policies);
        let vote = |choice: u32| {
            let chosen = (0..runs).filter(|run| choice >> run & 1 == 1);
            self.steps(chosen.map(|run| self.scores[run]).sum())
        };
        let mut votes: Vec<i64> = choices.map(vote).collect();
        votes.sort_unstable();
        let each = 1.0 / votes.len() as f64;
        let same = votes.chunk_by(|a, b| a == b);
        same.map(|votes| (votes[0], votes.len() as f64 * each))
            .collect()
    }
}
