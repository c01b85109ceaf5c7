//! The ratio of two means over rounds, with an interval valid at any time.
//!
//! A mean is the cost of many runs together. No exact test of it exists: one rare run, observed or not, can dominate
//! it. Its interval is therefore an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
//! 2024): valid in the limit, at all stopping times simultaneously.

use crate::draw::Draw;

/// The number of rounds at which the sequence is narrowest.
const TUNED_FOR: f64 = 20.0;
/// With fewer rounds, the observed spread is too rough for an asymptotic interval.
pub const FEWEST_FOR_A_MEAN: u32 = 8;

/// A ratio of means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanRatio {
    /// The mean under the policy divided by the mean under the baseline.
    pub ratio: f64,
    /// Its interval; `None` with fewer than eight rounds.
    pub interval: Option<(f64, f64)>,
}

/// Returns the ratio of the means of `draws` (raw values) at level 1 − `alpha`. `None` if the mean of the baseline is
/// not above zero.
#[must_use]
pub fn mean_ratio(draws: &[Draw], alpha: f64) -> Option<MeanRatio> {
    let n = draws.len() as f64;
    let baseline = draws.iter().map(Draw::baseline_mean).sum::<f64>() / n;
    let policy = draws.iter().map(Draw::policy_mean).sum::<f64>() / n;
    let ratio = policy / baseline;
    if baseline <= 0.0 || !ratio.is_finite() {
        return None;
    }
    // The error of the ratio is linear in these, to first order.
    let error = |draw: &Draw| (draw.policy_mean() - ratio * draw.baseline_mean()) / baseline;
    let variance = draws.iter().map(|draw| error(draw).powi(2)).sum::<f64>() / (n - 1.0);
    let radius = variance.sqrt() * radius_of_mean(n, alpha);
    Some(MeanRatio {
        ratio,
        interval: (draws.len() >= FEWEST_FOR_A_MEAN as usize)
            .then_some((ratio - radius, ratio + radius)),
    })
}

/// Returns half the width of the confidence sequence of a mean after `n` rounds, in units of the spread of one
/// round.
#[must_use]
pub fn radius_of_mean(n: f64, alpha: f64) -> f64 {
    let least = -2.0 * alpha.ln();
    let rho = (least + least.ln() + 1.0) / TUNED_FOR;
    let growth = n * rho + 1.0;
    (2.0 * growth / (n * n * rho) * (growth.sqrt() / alpha).ln()).sqrt()
}
