//! What the past alone says of an experiment that is to come.

use serde::Serialize;

use super::detectable_effect::before_the_slope;
use super::estimate::{Estimate, Sample};
use super::tally::{Tally, Time, Unit};

/// What the smallest effect that is found rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The units under their arms.
    Result,
    /// One half of the past, which predicts the other: the experiment is to last half as long as
    /// the whole past.
    Halves,
    /// The scatter of the past, which cannot say how well it predicts: too large a promise.
    Past,
    /// Pairs of turns that the past would have had: the experiment is to last as the plan says.
    Turns,
}

/// The estimate of an experiment that is to come, from the past of the units that `side` gives an
/// arm. `None` where no stratum has two clusters of both arms.
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

/// The estimate with the later half of the past as what is compared, and the earlier one as its past,
/// made into that of an experiment that lasts half as long as the whole past, and has it all for its
/// past. `None` where half of the units have not both, or a half has no logarithm.
fn of_halves(sample: &Sample, values: [u64; 2]) -> Option<Estimate> {
    let both = sample.past.iter().flatten();
    let is_finite = both.clone().chain(&sample.value).all(|it| it.is_finite());
    let is_enough = 2 * both.count() >= sample.value.len();
    let estimate = sample.estimate().filter(|_| is_finite && is_enough)?;
    // The two arms have not the same past, and the slope that takes the difference out is estimated.
    let slope = 1.0 + 1.0 / estimate.freedom;
    let variance = slope * whole_past(estimate.slope, values);
    Some(Estimate {
        error: estimate.error * variance.sqrt(),
        ..estimate
    })
}

/// The variance that is left by a whole past, over that which its earlier part leaves in the later
/// one. Values are taken to be what is a unit's for ever, and noise that is independent among
/// stretches; the slope on the earlier part is then its reliability, from which that of the whole
/// follows (Spearman and Brown).
fn whole_past(slope: f64, [early, late]: [u64; 2]) -> f64 {
    let (early, late) = (early as f64, late as f64);
    let lasting = slope.clamp(0.0, 1.0);
    let (whole, half) = (early + late, 0.5 * (early + late));
    let left = lasting * early / whole.mul_add(lasting, early * (1.0 - lasting));
    (early / half + left) / (early / late + lasting)
}
