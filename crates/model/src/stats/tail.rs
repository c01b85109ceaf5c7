//! Tails: the ratio (or difference) of a high quantile, resampled over rounds.
//!
//! The interval is the percentile bootstrap over whole rounds: values of one round are not
//! independent of each other, rounds are. The bootstrap is only approximately right, so a
//! claim also needs the randomisation test, which is exact: under no effect the two arms of a
//! round could be swapped without anybody noticing.

use crate::stats::quantile::{above, supports};

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
pub type Round<'a> = (&'a [f64], &'a [f64]);

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

/// All values of both arms, the largest first, each with where it is from.
struct Pool {
    values: Vec<(f64, usize, usize)>,
    sizes: Vec<[usize; 2]>,
}

impl Pool {
    fn new(rounds: &[Round]) -> Self {
        let from = |arm: usize, round: usize, values: &[f64]| -> Vec<_> {
            values.iter().map(|&value| (value, round, arm)).collect()
        };
        let mut values: Vec<(f64, usize, usize)> = rounds
            .iter()
            .enumerate()
            .flat_map(|(round, (a, b))| [from(0, round, a), from(1, round, b)])
            .flatten()
            .collect();
        values.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let sizes = rounds.iter().map(|(a, b)| [a.len(), b.len()]).collect();
        Self { values, sizes }
    }

    /// The quantile when the values of arm a in round r count `weights[a][r]` times. Walks
    /// from the top, so a high quantile costs few steps.
    fn quantile(&self, q: f64, weights: [&[usize]; 2]) -> Option<f64> {
        let total = (0..self.sizes.len())
            .map(|r| weights[0][r] * self.sizes[r][0] + weights[1][r] * self.sizes[r][1])
            .sum();
        if !supports(total, q) {
            return None;
        }
        let mut left = above(total, q);
        for &(value, round, arm) in &self.values {
            let weight = weights[arm][round];
            if weight > left {
                return Some(value);
            }
            left -= weight;
        }
        None
    }
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
    let cut = (effects.len() as f64 * alpha / 2.0) as usize;
    Some((*effects.get(cut)?, *effects.get(effects.len() - 1 - cut)?))
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
    use super::*;

    fn log_ratio(b: f64, p: f64) -> f64 {
        p.ln() - b.ln()
    }

    fn rounds(values: &[(Vec<f64>, Vec<f64>)]) -> Vec<Round<'_>> {
        values.iter().map(|(a, b)| (&a[..], &b[..])).collect()
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
}
