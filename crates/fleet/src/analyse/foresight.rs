//! Forecasts for a future experiment from pre-period values.

use serde::Serialize;

use super::detectable_effect::before_the_slope;
use super::estimate::{Estimate, Sample};
use super::tally::{Tally, Time, Unit};

/// The basis of the smallest detectable effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The units under their arms.
    Result,
    /// One half of the pre-period predicts the other. The experiment is assumed to last half as long as the pre-period.
    Halves,
    /// The scatter of the pre-period, which does not show how well it predicts. This forecast is too optimistic.
    Past,
    /// Hypothetical pairs of turns in the pre-period. The experiment is assumed to last as planned.
    Turns,
}

/// Returns the estimate for a future experiment, from the pre-period values of the units that `side` assigns to an arm.
/// `None` if no stratum has two clusters in both arms.
pub(crate) fn foresee(
    tally: &Tally,
    metric: &str,
    side: impl Fn(&Unit) -> Option<bool> + Copy,
) -> Option<(Estimate, Basis)> {
    let halves = tally.sample(metric, Time::Halves, side);
    if let Some(estimate) = of_halves(&halves, tally.halves(metric)) {
        return Some((estimate, Basis::Halves));
    }
    let past = tally.sample(metric, Time::Before, side).estimate()?;
    Some((before_the_slope(past), Basis::Past))
}

/// Compares the later half of the pre-period, adjusted for the earlier half. The result is scaled to an experiment half
/// as long as the pre-period, adjusted for all of it. `None` if fewer than half of the units have both halves, or if a
/// half has no logarithm.
fn of_halves(sample: &Sample, values: [u64; 2]) -> Option<Estimate> {
    let both = sample.past.iter().flatten();
    let is_finite = both.clone().chain(&sample.value).all(|it| it.is_finite());
    let is_enough = 2 * both.count() >= sample.value.len();
    let estimate = sample.estimate().filter(|_| is_finite && is_enough)?;
    // The pre-period values of the two arms differ, and the slope that removes the difference is estimated.
    let slope = 1.0 + 1.0 / estimate.freedom;
    let variance = slope * whole_past(estimate.slope, values);
    Some(Estimate {
        error: estimate.error * variance.sqrt(),
        ..estimate
    })
}

/// The residual variance after adjustment for the whole pre-period, over that after adjustment for its earlier half.
/// Assumes that a value is a constant of the unit plus noise that is independent between spans. The slope on the
/// earlier half is then its reliability, which gives the reliability of the whole (Spearman and Brown).
fn whole_past(slope: f64, [early, late]: [u64; 2]) -> f64 {
    let (early, late) = (early as f64, late as f64);
    let lasting = slope.clamp(0.0, 1.0);
    let (whole, half) = (early + late, 0.5 * (early + late));
    let left = lasting * early / whole.mul_add(lasting, early * (1.0 - lasting));
    (early / half + left) / (early / late + lasting)
}
