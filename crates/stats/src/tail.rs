//! Tails: the ratio (or difference) of a high quantile, resampled over rounds.
//!
//! The interval is the percentile bootstrap over whole rounds: rounds are independent, values within a round are not.
//! With few rounds it is too narrow, as a normal interval is compared with Student's, so it is cut further out
//! (`expanded`).
//!
//! The bootstrap is only approximate, so a claim also needs the exact randomisation test. Without an effect,
//! swapping the two arms of a round would change nothing.

use std::iter::zip;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::quantile::{above, supports};
use crate::sample::Sample;
use crate::student::Student;

/// The number of resamples, and of random swaps of arms.
const DRAWS: usize = 2000;

/// A quantile under both policies and the effect between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The quantile under the baseline.
    pub baseline: f64,
    /// The quantile under the policy.
    pub policy: f64,
    /// The effect of the policy relative to the baseline, computed by `effect`.
    pub estimate: f64,
    /// Both ends of the bootstrap interval; `None` for the largest value, whose bootstrap is
    /// known to be wrong at any sample size (Bickel and Freedman, 1981).
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value of the randomisation test.
    pub p: f64,
}

/// The values of one round: under the baseline, and under the policy.
pub type Round<'a> = (Sample<'a>, Sample<'a>);

/// Compares some quantiles (1 is the largest value) of all values under the baseline with those under the policy.
/// `effect` maps the two to the scale, for example to the log of their ratio. `None` if the values do not support a
/// quantile.
///
/// Every quantile starts from the same seed; quantiles with the same sequence of draws are resampled together.
#[must_use]
pub fn tails(
    rounds: &[Round],
    shares: &[f64],
    effect: impl Fn(f64, f64) -> f64,
    alpha: f64,
    seed: u64,
) -> Vec<Option<Tail>> {
    let pool = Pool::new(rounds);
    // Bootstrapped quantiles draw their swaps after the bootstrap, the largest value at once.
    let alike = shares.chunk_by(|a, b| (*a < 1.0) == (*b < 1.0));
    let tails = alike.flat_map(|shares| of_pool(&pool, shares, &effect, alpha, seed));
    tails.collect()
}

fn of_pool(
    pool: &Pool,
    shares: &[f64],
    effect: impl Fn(f64, f64) -> f64,
    alpha: f64,
    seed: u64,
) -> Vec<Option<Tail>> {
    let ones = vec![1; pool.sizes.len()];
    let zeros = vec![0; pool.sizes.len()];
    let ends = zip(
        pool.quantiles(shares, [&ones, &zeros]),
        pool.quantiles(shares, [&zeros, &ones]),
    );
    let ends: Vec<Option<(f64, f64)>> = ends.map(|(a, b)| a.zip(b)).collect();
    if ends.iter().all(Option::is_none) {
        return vec![None; shares.len()];
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let intervals = match shares.iter().any(|share| *share < 1.0) {
        true => bootstrap(pool, shares, &effect, alpha, &mut random),
        false => vec![None; shares.len()],
    };
    let seen = ends.iter().map(|ends| ends.map(|(a, b)| effect(a, b)));
    let seen: Vec<Option<f64>> = seen.collect();
    let ps = randomise(pool, shares, &effect, &seen, &mut random);
    let tail = |at: usize| {
        let (baseline, policy) = ends[at]?;
        Some(Tail {
            baseline,
            policy,
            estimate: seen[at]?,
            interval: intervals[at],
            p: ps[at],
        })
    };
    (0..shares.len()).map(tail).collect()
}

/// Returns the quantile `q` of all values of some samples; `None` if the values do not support it.
#[must_use]
pub fn quantile(samples: &[Sample], q: f64) -> Option<f64> {
    let rounds: Vec<Round> = samples
        .iter()
        .map(|&one| (one, Sample::Plain(&[])))
        .collect();
    let weights = vec![1; rounds.len()];
    let quantiles = Pool::new(&rounds).quantiles(&[q], [&weights, &weights]);
    quantiles.into_iter().flatten().next()
}

/// All values of both arms, in descending order.
struct Pool {
    entries: Vec<Entry>,
    sizes: Vec<[usize; 2]>,
    /// The number of values of each round and arm before every [`Pool::stride`]th entry but the first.
    marks: Vec<Vec<[usize; 2]>>,
    stride: usize,
}

/// A value, its count and its origin.
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

    /// Returns the quantiles when the values of arm a in round r count `weights[a][r]` times.
    fn quantiles(&self, shares: &[f64], weights: [&[usize]; 2]) -> Vec<Option<f64>> {
        let total = weighted(&self.sizes, weights);
        let quantile = |share: &f64| {
            supports(total, *share).then(|| self.beyond(above(total, *share), weights))?
        };
        shares.iter().map(quantile).collect()
    }

    /// Returns the value with `above` values larger than it. Walks down from the top, so a high quantile of few values
    /// takes few steps. With many values it starts at the last mark not beyond the value.
    fn beyond(&self, above: usize, weights: [&[usize]; 2]) -> Option<f64> {
        let before = |mark: &Vec<[usize; 2]>| weighted(mark, weights);
        let mark = self.marks.partition_point(|mark| before(mark) <= above);
        let passed = mark.checked_sub(1).and_then(|last| self.marks.get(last));
        let mut left = above - passed.map_or(0, before);
        for entry in self.entries.get(mark * self.stride..)? {
            let weight = weights[entry.arm][entry.round].saturating_mul(entry.count);
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
    let sums = rounds.map(|(r, [a, b])| {
        let (first, second) = (weights[0][r], weights[1][r]);
        first
            .saturating_mul(*a)
            .saturating_add(second.saturating_mul(*b))
    });
    sums.fold(0, usize::saturating_add)
}

fn marks(entries: &[Entry], rounds: usize, stride: usize) -> Vec<Vec<[usize; 2]>> {
    let mut seen = vec![[0_usize; 2]; rounds];
    let mut marks = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 && index.is_multiple_of(stride) {
            marks.push(seen.clone());
        }
        let seen = &mut seen[entry.round][entry.arm];
        *seen = seen.saturating_add(entry.count);
    }
    marks
}

/// Returns the intervals of all the quantiles.
fn bootstrap(
    pool: &Pool,
    shares: &[f64],
    effect: impl Fn(f64, f64) -> f64,
    alpha: f64,
    random: &mut fastrand::Rng,
) -> Vec<Option<(f64, f64)>> {
    let n = pool.sizes.len();
    let zeros = vec![0; n];
    let mut effects = vec![Vec::with_capacity(DRAWS); shares.len()];
    for _ in 0..DRAWS {
        let mut drawn = vec![0; n];
        for _ in 0..n {
            drawn[random.usize(..n)] += 1;
        }
        let baselines = pool.quantiles(shares, [&drawn, &zeros]);
        let policies = pool.quantiles(shares, [&zeros, &drawn]);
        for (effects, (b, p)) in zip(&mut effects, zip(baselines, policies)) {
            effects.extend(b.zip(p).map(|(b, p)| effect(b, p)));
        }
    }
    let interval = |mut effects: Vec<f64>| {
        effects.sort_unstable_by(f64::total_cmp);
        let cut = (effects.len() as f64 * expanded(alpha, n) / 2.0) as usize;
        Some((*effects.get(cut)?, *effects.get(effects.len() - 1 - cut)?))
    };
    effects.into_iter().map(interval).collect()
}

/// Returns the share of the bootstrap distribution of `n` draws to cut off, so that the interval is as wide as
/// Student's. This is the expanded percentile interval of Hesterberg (What Teachers Should Know About the Bootstrap,
/// The American Statistician 69, 2015). Returns `alpha` if there are too few draws for either.
fn expanded(alpha: f64, n: usize) -> f64 {
    let of_mean = |n: f64| {
        let student = Student::new(n - 1.0)?;
        let normal = Normal::new(0.0, 1.0).ok()?;
        let t = student.quantile(1.0 - alpha / 2.0) * (n / (n - 1.0)).sqrt();
        Some(2.0 * normal.cdf(-t))
    };
    (n > 1)
        .then(|| of_mean(n as f64))
        .flatten()
        .unwrap_or(alpha)
}

/// Returns, for each quantile, the share of swaps at least as extreme as the observed arrangement, which is included.
fn randomise(
    pool: &Pool,
    shares: &[f64],
    effect: impl Fn(f64, f64) -> f64,
    seen: &[Option<f64>],
    random: &mut fastrand::Rng,
) -> Vec<f64> {
    let mut extreme = vec![1; shares.len()];
    for _ in 0..DRAWS {
        let first: Vec<usize> = pool.sizes.iter().map(|_| random.usize(..2)).collect();
        let second: Vec<usize> = first.iter().map(|heads| 1 - heads).collect();
        let baselines = pool.quantiles(shares, [&first, &second]);
        let policies = pool.quantiles(shares, [&second, &first]);
        for ((extreme, seen), (b, p)) in zip(zip(&mut extreme, seen), zip(baselines, policies)) {
            // A swap that leaves too few values counts against the claim.
            let swapped = b.zip(p).map(|(b, p)| effect(b, p).abs());
            let is_as_far = |swapped| seen.is_none_or(|seen| swapped >= seen.abs());
            *extreme += usize::from(swapped.is_none_or(is_as_far));
        }
    }
    let share = |extreme| extreme as f64 / (DRAWS + 1) as f64;
    extreme.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests;
