//! Tails: the ratio (or difference) of a high quantile, resampled over rounds.
//!
//! The interval is the percentile bootstrap over whole rounds: values of one round are not
//! independent of each other, rounds are. Of few rounds it is too narrow, as a normal interval is
//! where Student's is right, and is cut that much further out (`expanded`). The bootstrap is
//! only approximately right, so a claim also needs the randomisation test, which is exact: under no effect the two arms of a
//! round could be swapped without anybody noticing.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::stats::quantile::{above, supports};
use crate::stats::sample::Sample;

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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By hand, from printed tables of t and of the normal distribution.
    #[test]
    fn few_draws_are_cut_further_out() {
        for (n, share) in [(5, 0.0010), (10, 0.0086), (20, 0.0159), (40, 0.0203)] {
            let half = expanded(0.05, n) / 2.0;
            assert!((half - share).abs() < 1e-4, "{n}: {half}");
        }
        assert_eq!(expanded(0.05, 1), 0.05);
        assert!((expanded(0.05, 1_000_000) - 0.05).abs() < 1e-5);
    }

    fn log_ratio(b: f64, p: f64) -> f64 {
        p.ln() - b.ln()
    }

    fn rounds(values: &[(Vec<f64>, Vec<f64>)]) -> Vec<Round<'_>> {
        let plain = |(a, b)| (Sample::Plain(a), Sample::Plain(b));
        values
            .iter()
            .map(|(a, b)| plain((&a[..], &b[..])))
            .collect()
    }

    fn noise(random: &mut fastrand::Rng, factor: f64, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| factor * (0.1 / (random.f64() + 0.01)).exp())
            .collect()
    }

    fn experiment(seed: u64, factor: f64) -> Vec<(Vec<f64>, Vec<f64>)> {
        let random = &mut fastrand::Rng::with_seed(seed);
        (0..12)
            .map(|_| (noise(random, 1.0, 50), noise(random, factor, 50)))
            .collect()
    }

    #[test]
    fn a_quantile_is_a_value_that_was_seen() {
        let low: Vec<f64> = (1..=100).map(f64::from).collect();
        let high: Vec<f64> = low.iter().map(|v| v * 2.0).collect();
        let data = [
            (low[..50].to_vec(), high[..50].to_vec()),
            (low[50..].to_vec(), high[50..].to_vec()),
        ];
        let got = tail(&rounds(&data), 0.95, log_ratio, 0.05, 1).expect("100 values");
        assert_eq!((got.baseline, got.policy), (95.0, 190.0));
        let got = tail(&rounds(&data), 1.0, log_ratio, 0.05, 1).expect("100 values");
        assert_eq!(
            (got.baseline, got.policy, got.interval),
            (100.0, 200.0, None)
        );
        assert_eq!(tail(&rounds(&data), 0.999, log_ratio, 0.05, 1), None);
        assert_eq!(tail(&[], 1.0, log_ratio, 0.05, 1), None);
    }

    #[test]
    fn swapping_the_arms_inverts_the_effect() {
        let data = experiment(5, 1.3);
        let back: Vec<_> = data.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
        let there = tail(&rounds(&data), 0.95, log_ratio, 0.05, 9).expect("enough");
        let back = tail(&rounds(&back), 0.95, log_ratio, 0.05, 9).expect("enough");
        let (low, high) = there.interval.expect("not the largest");
        assert_eq!(back.estimate, -there.estimate);
        assert_eq!(back.interval, Some((-high, -low)));
        assert_eq!(
            there,
            tail(&rounds(&data), 0.95, log_ratio, 0.05, 9).expect("enough")
        );
    }

    #[test]
    fn what_was_seen_is_one_of_the_swaps() {
        // Of 2⁴⁰ swaps two are as extreme as this one: no draw finds them, and p is not zero.
        let data: Vec<_> = (0..40)
            .map(|i| (vec![1.0 + f64::from(i)], vec![1000.0 + f64::from(i)]))
            .collect();
        let got = tail(&rounds(&data), 0.95, log_ratio, 0.05, 3).expect("40 values");
        assert!(got.p >= 1.0 / 2001.0 && got.p < 0.02, "{got:?}");
    }

    #[test]
    fn no_effect_is_seldom_called_one_and_a_true_one_is_covered() {
        let (mut called, mut covered) = (0, 0);
        for seed in 0..120 {
            let same = experiment(seed, 1.0);
            let got = tail(&rounds(&same), 0.95, log_ratio, 0.05, seed).expect("enough");
            called += u32::from(got.p <= 0.05);
            let other = experiment(seed + 1000, 1.5);
            let got = tail(&rounds(&other), 0.95, log_ratio, 0.05, seed).expect("enough");
            let (low, high) = got.interval.expect("not the largest");
            covered += u32::from(low <= 1.5_f64.ln() && 1.5_f64.ln() <= high);
        }
        // Binomial, n = 120: 5 % gives 6 ± 2.4; the bootstrap should cover at least 88 %.
        assert!(called <= 15, "{called}");
        assert!(covered >= 106, "{covered}");
    }

    proptest! {
        #[test]
        fn marks_are_a_short_cut_and_nothing_else(
            data in prop::collection::vec(
                (prop::collection::vec(0_u32..50, 0..80), prop::collection::vec(0_u32..50, 0..80)),
                1..4,
            ),
            q in 0.0_f64..=1.0,
            weights in prop::collection::vec(0_usize..3, 8),
        ) {
            let data: Vec<_> = data
                .into_iter()
                .map(|(a, b)| [a, b].map(|values| values.into_iter().map(f64::from).collect()))
                .map(|[a, b]: [Vec<f64>; 2]| (a, b))
                .collect();
            let n = data.len();
            let arms = [&weights[..n], &weights[4..4 + n]];
            let mut all: Vec<f64> = Vec::new();
            for (round, (a, b)) in data.iter().enumerate() {
                all.extend(a.repeat(arms[0][round]));
                all.extend(b.repeat(arms[1][round]));
            }
            all.sort_by(|a, b| b.total_cmp(a));
            let expected = supports(all.len(), q).then(|| all[above(all.len(), q)]);
            prop_assert_eq!(Pool::new(&rounds(&data)).quantile(q, arms), expected);
        }
    }
}
