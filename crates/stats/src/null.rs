//! The exact null distributions of the two rank statistics, as lower tails.
//!
//! Probabilities are sums of positive terms, so their relative error stays below about n × 2⁻⁵³. Every tail is raised
//! by a relative 10⁻¹¹, far more than that error, so that rounding never produces a claim.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The factor that raises a tail above all rounding errors.
const ROUNDING: f64 = 1.0 + 1e-11;

/// Counting gets slow beyond this number of pairs, and Hoeffding's bound is used.
const MOST_PAIRS: usize = 512;

/// Distributions up to this size are cached: every cell of every table needs them.
const KEPT: usize = 128;

/// Counting gets slow beyond this product of sample sizes.
const MOST_PRODUCT: usize = 10_000;

/// A null distribution, as its lower tail.
#[derive(Clone, Debug)]
pub enum Null {
    /// Counted: `cumulative[k]` is P(T ≤ k); the second half follows by symmetry.
    Exact(Cow<'static, [f64]>),
    /// Bounded after Hoeffding (1963): P(T ≤ k) ≤ exp(−(`centre` − k)² × `rate`).
    Bounded {
        /// The mean of the statistic.
        centre: f64,
        /// The factor in the exponent.
        rate: f64,
    },
}

impl Null {
    /// Returns the null distribution of the Wilcoxon signed-rank statistic for `n` pairs. The statistic is the sum of
    /// the ranks that got heads when every rank 1 … n throws a fair coin.
    #[must_use]
    pub fn signed_rank(n: usize) -> Self {
        static COUNTED: [OnceLock<Vec<f64>>; KEPT + 1] = [const { OnceLock::new() }; KEPT + 1];
        match n {
            0..=KEPT => Self::Exact(Cow::Borrowed(
                COUNTED[n].get_or_init(|| signed_rank_tail(n)),
            )),
            _ if n <= MOST_PAIRS => Self::Exact(Cow::Owned(signed_rank_tail(n))),
            _ => {
                let n = n as f64;
                let squares = n * (n + 1.0) * (2.0 * n + 1.0) / 6.0;
                Self::Bounded {
                    centre: n * (n + 1.0) / 4.0,
                    rate: 2.0 / squares,
                }
            }
        }
    }

    /// Returns the null distribution of the Mann–Whitney statistic for samples of `m` and `n`. The statistic is the
    /// number of the m × n pairs in reverse order when every arrangement is equally likely.
    #[must_use]
    pub fn rank_sum(m: usize, n: usize) -> Self {
        if m * n <= MOST_PRODUCT {
            return Self::Exact(Cow::Owned(rank_sum_tail(m, n)));
        }
        let pairs = m as f64 * n as f64;
        Self::Bounded {
            centre: pairs / 2.0,
            rate: 2.0 * m.min(n) as f64 / (pairs * pairs),
        }
    }

    /// Returns P(T ≤ `k`), or a bound above it.
    #[must_use]
    pub fn tail(&self, k: usize) -> f64 {
        let tail = match self {
            Self::Exact(cumulative) => cumulative.get(k).copied().unwrap_or(1.0),
            Self::Bounded { centre, rate } => {
                let below = (centre - k as f64).max(0.0);
                (-below * below * rate).exp()
            }
        };
        (tail * ROUNDING).min(1.0)
    }

    /// Returns the position of the Walsh average (or difference) that bounds an interval of level 1 − `alpha`, counted
    /// from each end of the `count` ordered ones. It is the largest k with 2 P(T ≤ k − 1) ≤ `alpha`, or zero if there
    /// is no such interval.
    #[must_use]
    pub fn cut(&self, count: usize, alpha: f64) -> usize {
        let (mut low, mut high) = (0, count.div_ceil(2));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if 2.0 * self.tail(middle - 1) <= alpha {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}

/// Sums a distribution up to its middle; all claims use the lower half.
fn lower_half(probabilities: &[f64]) -> Vec<f64> {
    let half = probabilities.len().div_ceil(2);
    let mut sum = 0.0;
    probabilities[..half]
        .iter()
        .map(|p| {
            sum += p;
            sum
        })
        .collect()
}

/// Adds one rank at a time: it is in the sum or not, each with probability one half.
fn signed_rank_tail(n: usize) -> Vec<f64> {
    let mut p = vec![0.0; n * (n + 1) / 2 + 1];
    p[0] = 1.0;
    let mut largest = 0;
    for rank in 1..=n {
        largest += rank;
        for sum in (0..=largest).rev() {
            let with = if sum >= rank { p[sum - rank] } else { 0.0 };
            p[sum] = (p[sum] + with) / 2.0;
        }
    }
    lower_half(&p)
}

/// The largest value is in the first sample with probability i / (i + j), and is then above all j of the second.
/// Otherwise it is in the second (Mann and Whitney, 1947).
fn rank_sum_tail(m: usize, n: usize) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        rows[0] = vec![1.0];
        for j in 1..=n {
            let first = i as f64 / (i + j) as f64;
            let mut p = vec![0.0; i * j + 1];
            for (u, before) in rows[j].iter().enumerate() {
                p[u + j] += first * before;
            }
            for (u, before) in rows[j - 1].iter().enumerate() {
                p[u] += (1.0 - first) * before;
            }
            rows[j] = p;
        }
    }
    lower_half(&rows[n])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-10 * b.abs().max(1e-300)
    }

    #[test]
    fn signed_ranks_agree_with_all_signs_thrown() {
        for n in 1..=12_usize {
            let null = Null::signed_rank(n);
            for k in 0..=n * (n + 1) / 4 {
                let hits = (0..1_u32 << n)
                    .filter(|signs| {
                        let sum: usize = (1..=n).filter(|r| signs >> (r - 1) & 1 == 1).sum();
                        sum <= k
                    })
                    .count();
                let want = hits as f64 / f64::from(1_u32 << n);
                assert!(close(null.tail(k), want), "n {n} k {k}");
            }
        }
    }

    #[test]
    fn rank_sums_agree_with_all_arrangements() {
        for (m, n) in [(1_usize, 1_usize), (2, 3), (4, 4), (5, 3), (6, 6)] {
            let null = Null::rank_sum(m, n);
            let arrangements: Vec<u32> = (0..1_u32 << (m + n))
                .filter(|places| places.count_ones() as usize == m)
                .collect();
            for k in 0..=m * n / 2 {
                let wrong = |places: &u32| -> usize {
                    let at = |i: usize| places >> i & 1 == 1;
                    (0..m + n)
                        .filter(|&i| at(i))
                        .map(|i| (0..i).filter(|&j| !at(j)).count())
                        .sum()
                };
                let hits = arrangements.iter().filter(|a| wrong(a) <= k).count();
                let want = hits as f64 / arrangements.len() as f64;
                assert!(close(null.tail(k), want), "m {m} n {n} k {k}");
            }
        }
    }

    #[test]
    fn large_samples_are_bounded_from_above() {
        // At the largest counted size the bound must exceed the counted tail everywhere.
        let n = MOST_PAIRS;
        let exact = Null::signed_rank(n);
        let (centre, squares) = (
            (n * (n + 1)) as f64 / 4.0,
            (n * (n + 1) * (2 * n + 1)) as f64 / 6.0,
        );
        let bound = Null::Bounded {
            centre,
            rate: 2.0 / squares,
        };
        for k in (0..n * (n + 1) / 4).step_by(997) {
            assert!(bound.tail(k) >= exact.tail(k), "k {k}");
        }
        assert!(matches!(Null::signed_rank(n + 1), Null::Bounded { .. }));
        let exact = Null::rank_sum(60, 60);
        let bound = Null::Bounded {
            centre: 1800.0,
            rate: 120.0 / (3600.0 * 3600.0),
        };
        for k in 0..1800 {
            assert!(bound.tail(k) >= exact.tail(k), "k {k}");
        }
    }

    #[test]
    fn cuts_are_those_of_the_printed_tables() {
        // Two-sided 5 % critical values of T: 0 for n = 6, 8 for n = 10, 52 for n = 20.
        for (n, critical) in [(5_usize, None), (6, Some(0)), (10, Some(8)), (20, Some(52))] {
            let cut = Null::signed_rank(n).cut(n * (n + 1) / 2, 0.05);
            assert_eq!(cut.checked_sub(1), critical, "n {n}");
        }
        // Two-sided 5 % critical values of U: none for 3 × 3, 2 for 5 × 5, 23 for 10 × 10.
        for (n, critical) in [(3_usize, None), (5, Some(2)), (10, Some(23))] {
            let cut = Null::rank_sum(n, n).cut(n * n, 0.05);
            assert_eq!(cut.checked_sub(1), critical, "n {n}");
        }
    }
}
