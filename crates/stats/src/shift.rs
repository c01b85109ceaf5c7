//! The Hodges–Lehmann shift with its exact interval: of paired differences by the Wilcoxon
//! signed-rank test, of two samples by the Mann–Whitney test.

use crate::null::Null;
use crate::quantile::median_of_sorted;

/// A shift, its interval, and the p-value of no shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Median of the Walsh averages (pairs) or of all differences (two samples).
    pub estimate: f64,
    /// Both ends of the interval; `None` when there are too few values for the level.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value. The interval leaves out zero exactly when `p` ≤ alpha.
    pub p: f64,
    /// The number of values, or of pairs of values.
    pub n: usize,
}

/// Returns the shift of paired differences: the median of their Walsh averages, with the closed interval of level 1 −
/// `alpha`. `None` if there are no differences.
///
/// Ties and zeros: an average of exactly zero counts against the smaller side. The test is exact without ties and
/// conservative with ties. To see why, decide ties by symmetric noise too small to reverse any other average. The exact
/// test of the noisy data counts at most all of the ties against, as this function does.
#[must_use]
pub fn paired(differences: &[f64], alpha: f64) -> Option<Shift> {
    let n = differences.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (i, a) in differences.iter().enumerate() {
        averages.extend(differences[..=i].iter().map(|b| a / 2.0 + b / 2.0));
    }
    invert(averages, &Null::signed_rank(n), alpha, n)
}

/// Returns the shift of sample `b` against sample `a`: the median of all differences b − a, with the closed interval of
/// level 1 − `alpha`. Ties count against, as in [`paired`]. `None` if either sample is empty.
#[must_use]
pub fn unpaired(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    let differences = b
        .iter()
        .flat_map(|b| a.iter().map(move |a| b - a))
        .collect();
    let null = Null::rank_sum(a.len(), b.len());
    invert(differences, &null, alpha, a.len().min(b.len()))
}

/// Returns estimate, interval and p-value from the values whose signs are the test statistic.
fn invert(mut values: Vec<f64>, null: &Null, alpha: f64, n: usize) -> Option<Shift> {
    values.sort_unstable_by(f64::total_cmp);
    let estimate = median_of_sorted(&values)?;
    let interval = null
        .cut(values.len(), alpha)
        .checked_sub(1)
        .map(|cut| (values[cut], values[values.len() - 1 - cut]));
    let not_above = values.partition_point(|&value| value <= 0.0);
    let not_below = values.len() - values.partition_point(|&value| value < 0.0);
    let p = (2.0 * null.tail(not_above.min(not_below))).min(1.0);
    Some(Shift {
        estimate,
        interval,
        p,
        n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    /// The share of all sign patterns with a signed-rank sum at least as far from the middle.
    fn p_by_all_signs(differences: &[f64]) -> f64 {
        let n = differences.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| differences[a].abs().total_cmp(&differences[b].abs()));
        let total = n * (n + 1) / 2;
        let extreme = |t: usize| t.min(total - t);
        let seen: usize = (0..n)
            .filter(|&r| differences[order[r]] > 0.0)
            .map(|r| r + 1)
            .sum();
        let hits = (0..1_u32 << n)
            .filter(|signs| {
                let t = (0..n).filter(|r| signs >> r & 1 == 1).map(|r| r + 1).sum();
                extreme(t) <= extreme(seen)
            })
            .count();
        (hits as f64 / f64::from(1_u32 << n)).min(1.0)
    }

    #[test]
    fn a_textbook_example() {
        // Hollander and Wolfe, example 3.1 (depression scores): estimate −0.46, and T+ = 5 of
        // n = 9 gives a two-sided p of 0.0390625.
        #[expect(clippy::approx_constant, reason = "a score of 3.14 in the example")]
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let differences: Vec<f64> = y.iter().zip(x).map(|(y, x)| y - x).collect();
        let shift = paired(&differences, 0.05).expect("nine pairs");
        assert!(near(shift.estimate, -0.46), "{shift:?}");
        assert!(near(shift.p, 0.039_062_5), "{shift:?}");
        let (low, high) = shift.interval.expect("nine pairs allow 95 %");
        assert!(
            (low + 0.786).abs() < 5e-4 && (high + 0.010).abs() < 5e-4,
            "{shift:?}"
        );
    }

    #[test]
    fn nothing_but_ties() {
        let same = paired(&[0.0; 12], 0.05).expect("twelve pairs");
        assert_eq!(
            (same.estimate, same.interval, same.p),
            (0.0, Some((0.0, 0.0)), 1.0)
        );
        let up = paired(&[0.25; 12], 0.05).expect("twelve pairs");
        assert_eq!((up.estimate, up.interval), (0.25, Some((0.25, 0.25))));
        assert!(near(up.p, 2.0 / 4096.0));
        assert_eq!(paired(&[], 0.05), None);
        assert_eq!(unpaired(&[], &[1.0], 0.05), None);
        assert_eq!(
            paired(&[1.0; 5], 0.05).and_then(|shift| shift.interval),
            None
        );
    }

    #[test]
    fn ties_are_conservative_for_every_sign() {
        // Conditional on the sizes, every sign pattern of a symmetric null is equally likely:
        // the share of patterns with p ≤ level may not exceed the level.
        let sizes = [0.0_f64, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0, 5.0];
        let ps: Vec<f64> = (0..1_u32 << sizes.len())
            .map(|signs| {
                let sign = |i: usize| if signs >> i & 1 == 1 { 1.0 } else { -1.0 };
                let d: Vec<f64> = sizes.iter().enumerate().map(|(i, s)| sign(i) * s).collect();
                paired(&d, 0.05).expect("ten pairs").p
            })
            .collect();
        for level in [0.005, 0.01, 0.05, 0.1, 0.3] {
            let share = ps.iter().filter(|&&p| p <= level).count() as f64 / ps.len() as f64;
            assert!(share <= level, "{share} at {level}");
        }
    }

    #[test]
    fn two_samples_cover_a_shift() {
        let mut random = fastrand::Rng::with_seed(11);
        let covered = (0..2000)
            .filter(|_| {
                let a: Vec<f64> = (0..9).map(|_| random.f64()).collect();
                let b: Vec<f64> = (0..14).map(|_| random.f64() + 0.4).collect();
                let (low, high) = unpaired(&a, &b, 0.05)
                    .and_then(|s| s.interval)
                    .expect("enough");
                low <= 0.4 && 0.4 <= high
            })
            .count();
        // At least 95 %: 1,871 is four standard deviations below 1,900 + discreteness.
        assert!(covered >= 1871, "{covered} of 2000");
    }

    proptest! {
        #[test]
        fn p_is_the_share_of_sign_patterns(d in proptest::collection::vec(-9.0_f64..9.0, 1..11)) {
            prop_assert!(near(paired(&d, 0.05).expect("not empty").p, p_by_all_signs(&d)));
        }

        #[test]
        fn swapping_turns_the_sign_and_shifting_moves_the_interval(
            d in proptest::collection::vec(-9.0_f64..9.0, 6..40), by in -5.0_f64..5.0,
        ) {
            let plain = paired(&d, 0.05).expect("not empty");
            let (low, high) = plain.interval.expect("six are enough");
            prop_assert!(low <= plain.estimate && plain.estimate <= high);
            prop_assert_eq!(plain.p <= 0.05, low > 0.0 || high < 0.0);
            let turned: Vec<f64> = d.iter().rev().map(|d| -d).collect();
            let turned = paired(&turned, 0.05).expect("not empty");
            prop_assert_eq!((turned.estimate, turned.p), (-plain.estimate, plain.p));
            prop_assert_eq!(turned.interval, Some((-high, -low)));
            let moved: Vec<f64> = d.iter().map(|d| d + by).collect();
            let moved = paired(&moved, 0.05).expect("not empty");
            prop_assert!(near(moved.estimate, plain.estimate + by));
            let (moved_low, moved_high) = moved.interval.expect("six are enough");
            prop_assert!(near(moved_low, low + by) && near(moved_high, high + by));
        }

        #[test]
        fn two_samples_swap(
            a in proptest::collection::vec(-9.0_f64..9.0, 5..20),
            b in proptest::collection::vec(-9.0_f64..9.0, 5..20),
        ) {
            let there = unpaired(&a, &b, 0.05).expect("not empty");
            let back = unpaired(&b, &a, 0.05).expect("not empty");
            let (low, high) = there.interval.expect("five each are enough");
            prop_assert!(near(back.estimate, -there.estimate) && near(back.p, there.p));
            prop_assert_eq!(back.interval, Some((-high, -low)));
        }
    }
}
