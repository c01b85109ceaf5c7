//! Medians and quantiles of plain samples, with the exact interval of a median.

use serde::{Deserialize, Serialize};

/// A quantile with its own name, in output and in comparisons.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Quantile {
    /// Half of all values are at most this large.
    P50,
    /// Nine in ten.
    P90,
    /// 95 in a hundred.
    P95,
    /// 99 in a hundred.
    P99,
    /// 999 in a thousand.
    P999,
    /// The largest.
    Max,
}

impl Quantile {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::Max,
    ];

    /// Returns the share of the values at or below the quantile.
    #[must_use]
    pub fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
            Self::Max => 1.0,
        }
    }

    /// Returns the word for use in the name of a metric or after one.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p999",
            Self::Max => "max",
        }
    }

    /// As people write it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::P999 => "p99.9",
            other => other.word(),
        }
    }

    /// Returns the quantile of a printed percentage, such as `99.000`.
    #[must_use]
    pub fn of_percent(percent: f64) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| (100.0 * it.share() - percent).abs() < 1e-9)
    }
}

/// Returns the median: the middle value, or the mean of the two in the middle. `None` when empty.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    match values {
        [one] => Some(*one),
        _ => median_in_place(&mut values.to_vec()),
    }
}

/// Returns the median and reorders the values; the parts below and above the middle are not sorted.
pub(crate) fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let (middle, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    let (lower, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd {
        return Some(*upper);
    }
    let below = lower.iter().copied().max_by(f64::total_cmp)?;
    Some(between(below, *upper))
}

/// Halves both values before the addition, so that two huge values cannot overflow.
fn between(lower: f64, upper: f64) -> f64 {
    lower / 2.0 + upper / 2.0
}

/// Returns the values in ascending order.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(between(values[values.len() / 2 - 1], upper))
}

/// Returns how many of `n` values are above the quantile `q`: all but `ceil(q n)`. The quantile is thus always an
/// observed value (the inverse of the distribution function, type 1 of Hyndman and Fan, 1996). An interpolated tail
/// would be a number that nobody measured.
#[must_use]
pub fn above(n: usize, q: f64) -> usize {
    // 0.95 × 20 is never 19.000000000000004, but 0.999 × 1000 could be: the tolerance allows for it.
    let below = (q * n as f64 - 1e-9).ceil().max(1.0) as usize;
    n - below.min(n)
}

/// Returns true if `n` values can support the quantile `q`. At least one of them must be expected above it; otherwise
/// it is the largest value under another name.
#[must_use]
pub fn supports(n: usize, q: f64) -> bool {
    n > 0 && (q >= 1.0 || n as f64 * (1.0 - q) >= 1.0 - 1e-9)
}

/// Returns the fewest values that give a stable quantile `q`: ten of them beyond it. With fewer, it varies by tens of
/// percent from one sample to the next, however it is resampled.
#[must_use]
pub fn fewest_values(q: f64) -> usize {
    (10.0 / (1.0 - q) - 1e-6).ceil() as usize
}

/// Returns the exact interval of a median (sign test): the two order statistics that enclose it with probability at
/// least 1 − `alpha`, for any distribution. `None` if there are too few values for that level.
#[must_use]
pub fn median_interval(values: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let values = sorted(values);
    let n = values.len();
    let mut below = 0.0;
    let mut term = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut outside = 0;
    // Up to `outside` values can be left out at each end while their binomial tail is small enough.
    while outside < n / 2 {
        below += term;
        if 2.0 * below > alpha {
            break;
        }
        term *= (n - outside) as f64 / (outside + 1) as f64;
        outside += 1;
    }
    let first = outside.checked_sub(1)?;
    Some((values[first], values[n - 1 - first]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    proptest! {
        #[test]
        fn a_median_is_that_of_the_sorted_values(
            values in proptest::collection::vec(prop_oneof![Just(-0.0), Just(0.0), -9.0_f64..9.0], 0..40),
        ) {
            let bits = |median: Option<f64>| median.map(f64::to_bits);
            prop_assert_eq!(bits(median(&values)), bits(median_of_sorted(&sorted(&values))));
        }
    }

    #[test]
    fn a_percentage_as_it_is_printed_is_its_quantile() {
        let printed = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0];
        assert_eq!(printed.map(Quantile::of_percent), Quantile::ALL.map(Some));
        assert_eq!(Quantile::of_percent(99.99), None);
    }

    #[test]
    fn a_quantile_needs_values_beyond_it() {
        assert!(supports(20, 0.95) && !supports(19, 0.95));
        assert!(supports(100, 0.99) && !supports(99, 0.99));
        assert!(supports(1000, 0.999) && !supports(999, 0.999));
        assert!(supports(1, 1.0) && !supports(0, 1.0));
        assert_eq!(above(20, 0.95), 1);
        assert_eq!(above(1000, 0.999), 1);
        assert_eq!(above(7, 1.0), 0);
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        // n = 10: the 2nd and the 9th value enclose the median with 97.85 %; n = 5 gives none.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median_interval(&values, 0.05), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values[..5], 0.05), None);
        assert_eq!(median_interval(&values[..6], 0.05), Some((1.0, 6.0)));
        assert_eq!(median_interval(&[], 0.05), None);
    }
}
