//! Tails: the ratio (or difference) of a high quantile, resampled over rounds.
//!
//! The interval is the percentile bootstrap over whole rounds: values of one round are not
//! independent of each other, rounds are. Of few rounds it is too narrow, as a normal interval is
//! where Student's is right, and is cut that much further out (`expanded`). The bootstrap is
//! only approximately right, so a claim also needs the randomisation test, which is exact: under no effect the two arms of a
//! round could be swapped without anybody noticing.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::run::stats::quantile::{above, supports};
use crate::run::stats::sample::Sample;

/// How often rounds are drawn, and how often arms are swapped.
const DRAWS: usize = 2000;

/// A quantile under both policies and the effect between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The quantile under the baseline.
    pub baseline: f64,
    /// The quantile under the policy.
    pub policy: f64,
    /// The effect of the second against the first, as `effect` has it.
    pub estimate: f64,
    /// Both ends of the bootstrap interval; `None` for the largest value, whose bootstrap is
    /// known to be wrong at any sample size (Bickel and Freedman, 1981).
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value of the randomisation test.
    pub p: f64,
}

/// The values of one round: under the baseline, and under the policy.
pub type Round<'a> = (Sample<'a>, Sample<'a>);

/// Compares the quantile `q` (1 is the largest value) of all values under the baseline with
/// that under the policy; `effect` maps the two to the scale, for example the log of their
/// ratio. `None` where the values do not support the quantile.
#[must_use]
pub fn tail(
    rounds: &[Round],
    q: f64,
    effect: impl Fn(f64, f64) -> f64,
    alpha: f64,
    seed: u64,
) -> Option<Tail> {
    let pool = Pool::new(rounds);
    let ones = vec![1; rounds.len()];
    let zeros = vec![0; rounds.len()];
    let baseline = pool.quantile(q, [&ones, &zeros])?;
    let policy = pool.quantile(q, [&zeros, &ones])?;
    let estimate = effect(baseline, policy);
    let mut random = fastrand::Rng::with_seed(seed);
    let interval = (q < 1.0).then(|| bootstrap(&pool, q, &effect, alpha, &mut random));
    let p = randomise(&pool, q, &effect, estimate, &mut random);
    Some(Tail {
        baseline,
        policy,
        estimate,
        interval: interval.flatten(),
        p,
    })
}

/// The quantile `q` of all values of some samples; `None` where they do not support it.
#[must_use]
pub fn quantile(samples: &[Sample], q: f64) -> Option<f64> {
    let rounds: Vec<Round> = samples
        .iter()
        .map(|&one| (one, Sample::Plain(&[])))
        .collect();
    let weights = vec![1; rounds.len()];
    Pool::new(&rounds).quantile(q, [&weights, &weights])
}

/// All values of both arms, the largest first.
struct Pool {
    entries: Vec<Entry>,
    sizes: Vec<[usize; 2]>,
    /// How many values of each round and arm come before every [`Pool::stride`]th entry.
    marks: Vec<Vec<[usize; 2]>>,
    stride: usize,
}

/// A value, how often it came, and where it is from.
struct Entry {
    value: f64,
    count: usize,
    round: usize,
    arm: usize,
}

impl Pool {
    fn new(rounds: &[Round]) -> Self {
        let mut entries = Vec::new();
        for (round, (a, b)) in rounds.iter().enumerate() {
            for (arm, sample) in [a, b].into_iter().enumerate() {
                sample.each(|value, count| {
                    entries.push(Entry {
                        value,
                        count,
                        round,
                        arm,
                    });
                });
            }
        }
        entries.sort_unstable_by(|a, b| b.value.total_cmp(&a.value));
        let stride = 16 * rounds.len().max(1);
        Self {
            marks: marks(&entries, rounds.len(), stride),
            entries,
            sizes: rounds.iter().map(|(a, b)| [a.count(), b.count()]).collect(),
            stride,
        }
    }

    /// The quantile when the values of arm a in round r count `weights[a][r]` times. Walks
    /// from the top, so a high quantile of few values costs few steps; where there are many,
    /// from the last mark that is not beyond it.
    fn quantile(&self, q: f64, weights: [&[usize]; 2]) -> Option<f64> {
        let total = weighted(&self.sizes, weights);
        if !supports(total, q) {
            return None;
        }
        let above = above(total, q);
        let before = |mark: &Vec<[usize; 2]>| weighted(mark, weights);
        let mark = self.marks.partition_point(|mark| before(mark) <= above);
        let mark = mark.saturating_sub(1);
        let mut left = above - self.marks.get(mark).map_or(0, before);
        for entry in self.entries.get(mark * self.stride..)? {
            let weight = weights[entry.arm][entry.round] * entry.count;
            if weight > left {
                return Some(entry.value);
            }
            left -= weight;
        }
        None
    }
}

fn weighted(counts: &[[usize; 2]], weights: [&[usize]; 2]) -> usize {
    let rounds = counts.iter().enumerate();
    rounds
        .map(|(r, [a, b])| weights[0][r] * a + weights[1][r] * b)
        .sum()
}

fn marks(entries: &[Entry], rounds: usize, stride: usize) -> Vec<Vec<[usize; 2]>> {
    let mut seen = vec![[0; 2]; rounds];
    let mut marks = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if index.is_multiple_of(stride) {
            marks.push(seen.clone());
        }
        seen[entry.round][entry.arm] += entry.count;
    }
    marks
}

fn bootstrap(
    pool: &Pool,
    q: f64,
    effect: impl Fn(f64, f64) -> f64,
    alpha: f64,
    random: &mut fastrand::Rng,
) -> Option<(f64, f64)> {
    let n = pool.sizes.len();
    let zeros = vec![0; n];
    let mut effects = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let mut drawn = vec![0; n];
        for _ in 0..n {
            drawn[random.usize(..n)] += 1;
        }
        let baseline = pool.quantile(q, [&drawn, &zeros]);
        let policy = pool.quantile(q, [&zeros, &drawn]);
        effects.extend(baseline.zip(policy).map(|(b, p)| effect(b, p)));
    }
    effects.sort_unstable_by(f64::total_cmp);
    let cut = (effects.len() as f64 * expanded(alpha, n) / 2.0) as usize;
    Some((*effects.get(cut)?, *effects.get(effects.len() - 1 - cut)?))
}

/// The share of the bootstrap distribution of `n` draws that has to lie outside, so that the
/// interval is as wide as Student's: the expanded percentile interval of Hesterberg (What Teachers
/// Should Know About the Bootstrap, The American Statistician 69, 2015). `alpha` itself where there
/// are too few draws for either.
fn expanded(alpha: f64, n: usize) -> f64 {
    let of_mean = |n: f64| {
        let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
        let normal = Normal::new(0.0, 1.0).ok()?;
        let t = student.inverse_cdf(1.0 - alpha / 2.0) * (n / (n - 1.0)).sqrt();
        Some(2.0 * normal.cdf(-t))
    };
    (n > 1)
        .then(|| of_mean(n as f64))
        .flatten()
        .unwrap_or(alpha)
}

/// The share of swaps at least as extreme as what was seen, which itself is one of them.
fn randomise(
    pool: &Pool,
    q: f64,
    effect: impl Fn(f64, f64) -> f64,
    seen: f64,
    random: &mut fastrand::Rng,
) -> f64 {
    let extreme = (0..DRAWS)
        .filter(|_| {
            let first: Vec<usize> = pool.sizes.iter().map(|_| random.usize(..2)).collect();
            let second: Vec<usize> = first.iter().map(|heads| 1 - heads).collect();
            let baseline = pool.quantile(q, [&first, &second]);
            let policy = pool.quantile(q, [&second, &first]);
            // A swap that leaves too few values is counted against.
            let swapped = baseline.zip(policy).map(|(b, p)| effect(b, p).abs());
            swapped.is_none_or(|swapped| swapped >= seen.abs())
        })
        .count();
    (extreme + 1) as f64 / (DRAWS + 1) as f64
}

#[cfg(test)]
mod tests;
