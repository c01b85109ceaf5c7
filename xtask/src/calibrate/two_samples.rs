//! The two-sample tests used by other tools.

use hugewise_experiment::run::stats::ALPHA;
use hugewise_experiment::run::stats::null::Null;
use hugewise_experiment::run::stats::student::Student;

/// The two programs, with the times of their runs.
pub(super) type Sides = [Vec<f64>; 2];

/// A claimed difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The second program is faster.
    Faster,
    /// It is slower.
    Slower,
}

/// Mean and spread of the runs of one program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) n: f64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Spread {
    pub(super) fn of(times: &[f64]) -> Self {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (n - 1.0)).sqrt();
        Self { n, mean, deviation }
    }

    pub(super) fn relative(&self) -> f64 {
        self.deviation / self.mean
    }

    /// Returns half of the 95 % interval of the difference of two means, assuming equal spread.
    pub(super) fn pooled_half_width(&self, other: &Self) -> Option<f64> {
        let freedom = self.n + other.n - 2.0;
        let squares = |it: &Self| (it.n - 1.0) * it.deviation.powi(2);
        let pooled = ((squares(self) + squares(other)) / freedom).sqrt();
        let quantile = Student::new(freedom)?.quantile(1.0 - ALPHA / 2.0);
        Some(quantile * pooled * (1.0 / self.n + 1.0 / other.n).sqrt())
    }
}

/// Welch's t test of two samples, two-sided at 5 %.
pub(super) fn welch([first, second]: &Sides) -> Option<Claim> {
    let (a, b) = (Spread::of(first), Spread::of(second));
    let squares = [a, b].map(|it| it.deviation.powi(2) / it.n);
    let error = squares.iter().sum::<f64>();
    let parts = [a, b].map(|it| it.n - 1.0);
    let shares = squares.iter().zip(parts).map(|(s, n)| s.powi(2) / n);
    let freedom = error.powi(2) / shares.sum::<f64>();
    let t = (b.mean - a.mean) / error.sqrt();
    (2.0 * Student::new(freedom)?.above(t.abs()) <= ALPHA).then_some(match t > 0.0 {
        true => Claim::Slower,
        false => Claim::Faster,
    })
}

/// The two-sided Mann–Whitney test of two samples of one size: exact up to 50, and normal beyond, like benchstat.
#[derive(Clone, Copy, Debug)]
pub(super) struct MannWhitney {
    /// Fewer pairs in the reverse order than this are a difference.
    cut: usize,
}

impl MannWhitney {
    pub(super) fn of(n: usize) -> Self {
        let pairs = n * n;
        let cut = match n {
            ..=50 => Null::rank_sum(n, n).cut(pairs, ALPHA),
            _ => {
                let deviation = (pairs as f64 * (2 * n + 1) as f64 / 12.0).sqrt();
                (pairs as f64 / 2.0 + 0.5 - 1.96 * deviation).floor() as usize
            }
        };
        Self { cut }
    }

    pub(super) fn claim(self, [first, second]: &Sides) -> Option<Claim> {
        let slower = pairs_above(second, first);
        let faster = pairs_above(first, second);
        let pairs = first.len() * second.len();
        // Ties count against a difference.
        if pairs - slower < self.cut {
            return Some(Claim::Slower);
        }
        (pairs - faster < self.cut).then_some(Claim::Faster)
    }
}

/// Returns the number of pairs in which the value of `high` is larger.
fn pairs_above(high: &[f64], low: &[f64]) -> usize {
    let mut low = low.to_vec();
    low.sort_unstable_by(f64::total_cmp);
    let below = |value: &f64| low.partition_point(|other| other < value);
    high.iter().map(below).sum()
}

/// Returns the runs of both programs in random order.
pub(super) fn shuffled(n: usize, seed: u64, mut run: impl FnMut(usize) -> f64) -> Sides {
    let mut order: Vec<usize> = (0..2 * n).map(|at| at / n).collect();
    fastrand::Rng::with_seed(seed ^ 0x5eed).shuffle(&mut order);
    let mut sides = Sides::default();
    for side in order {
        let time = run(side);
        sides[side].push(time);
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_pairs_are_those_of_the_tables() {
        // Critical values of U at 5 %, two-sided, from Mann and Whitney's table: 2, 23 and 127.
        let critical = [5, 10, 20].map(|n| MannWhitney::of(n).cut - 1);
        assert_eq!(critical, [2, 23, 127]);
    }

    /// Student's own example (1908): hours of sleep gained with two drugs. Welch's t is 1.861 with 17.776 degrees of
    /// freedom, p = 0.0794, as R prints it for `t.test(extra ~ group, data = sleep)`.
    #[test]
    fn welch_is_that_of_r() {
        let first = vec![0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = vec![1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        assert_eq!(welch(&[first.clone(), second.clone()]), None);
        let more = |times: &[f64], by: f64| times.iter().map(|time| time + by).collect();
        // With 17.776 degrees of freedom 5 % are beyond 2.1028, which a shift of 0.206 more reaches.
        assert_eq!(welch(&[first.clone(), more(&second, 0.20)]), None);
        let slower = welch(&[first.clone(), more(&second, 0.21)]);
        assert_eq!(slower, Some(Claim::Slower));
        assert_eq!(welch(&[second, more(&first, -0.21)]), Some(Claim::Faster));
    }
}
