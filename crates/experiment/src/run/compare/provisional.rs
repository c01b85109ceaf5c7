//! Effects of fewer rounds than can decide.

use serde::{Deserialize, Serialize};

use crate::run::compare::Scale;
use crate::run::compare::effect::Draws;
use crate::run::stats::{Draw, Sums};

/// The results of a few rounds of one policy in one metric, without statistics.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Provisional {
    /// Name of the metric.
    pub metric: String,
    /// The scale of the effects: ratios policy / baseline, or differences in the unit of the metric.
    pub scale: Scale,
    /// The typical effect over the rounds.
    pub estimate: f64,
    /// The smallest effect of a round.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Number of rounds whose effect has the direction of the estimate.
    pub same_direction: u32,
    /// Number of all rounds.
    pub rounds: u32,
    /// The fewest rounds that can decide.
    pub needed: u32,
}

/// The results in `draws` for `metric`; `None` without a round.
pub(super) fn provisional(metric: &str, draws: &Draws, needed: u32) -> Option<Provisional> {
    let estimate = Sums::of(&draws.scaled).estimate()?;
    let each = || draws.scaled.iter().map(Draw::difference);
    let agrees = |effect: &f64| effect * estimate > 0.0;
    let shown = |effect: f64| match draws.scale {
        Scale::Ratio => effect.exp(),
        Scale::Difference => effect,
    };
    Some(Provisional {
        metric: metric.to_owned(),
        scale: draws.scale,
        estimate: shown(estimate),
        least: shown(each().reduce(f64::min)?),
        most: shown(each().reduce(f64::max)?),
        same_direction: each().filter(agrees).count() as u32,
        rounds: draws.scaled.len() as u32,
        needed,
    })
}
