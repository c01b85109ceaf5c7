//! Whether the arms still have the units that the plan gave them.

use statrs::distribution::{ChiSquared, ContinuousCDF, Discrete, Hypergeometric};

/// p-value that the numbers of units are as the arms' weights say (χ²). `None` for fewer than
/// five expected units in an arm, where χ² is too rough.
pub(super) fn sample_ratio(found: &[u64], weights: &[f64]) -> Option<f64> {
    let all: u64 = found.iter().sum();
    let whole: f64 = weights.iter().sum();
    let expected: Vec<f64> = weights.iter().map(|it| it / whole * all as f64).collect();
    if found.len() < 2 || expected.iter().any(|it| *it < 5.0) {
        return None;
    }
    let parts = found.iter().zip(&expected);
    let statistic: f64 = parts.map(|(n, e)| (*n as f64 - e).powi(2) / e).sum();
    let freedom = (found.len() - 1) as f64;
    ChiSquared::new(freedom).ok().map(|it| it.sf(statistic))
}

/// Fisher's exact p-value, two-sided, that units were lost equally often in two arms.
pub(super) fn lost_equally(control: Lost, arm: Lost) -> f64 {
    let (all, lost) = (control.of + arm.of, control.lost + arm.lost);
    let Ok(chance) = Hypergeometric::new(all, lost, arm.of) else {
        return 1.0;
    };
    let least = lost.saturating_sub(control.of);
    let seen = chance.pmf(arm.lost);
    let cases = (least..=lost.min(arm.of)).map(|it| chance.pmf(it));
    // Equal chances differ in their last bits.
    let as_rare = cases.filter(|it| *it <= seen * (1.0 + 1e-9));
    as_rare.sum::<f64>().min(1.0)
}

/// Units of an arm, and how many of them were lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) lost: u64,
    pub(super) of: u64,
}
