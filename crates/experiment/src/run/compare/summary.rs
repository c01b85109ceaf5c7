//! A single policy, without a comparison.

use crate::run::compare::medians::{arm_trials, middles};
use crate::run::record::Record;
use crate::run::stats::ALPHA;
use crate::run::stats::quantile::{median, median_interval};

/// The typical value of one metric under one policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Median over trials, in the unit of the metric; of each trial's median if a trial printed many numbers.
    pub median: f64,
    /// Lower end of the exact 95 % interval of the median; `None` with fewer than six trials.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Number of trials that succeeded and were read.
    pub n: u32,
}

/// The typical value of `metric` under `policy`, over its successful trials without the control. `None` if it was never
/// read.
///
/// The interval comes from the sign test. It assumes nothing about the distribution, but it assumes independent trials,
/// which drift violates. Only comparisons within rounds are safe from drift.
#[must_use]
pub fn summary(record: &Record, policy: &str, metric: &str) -> Option<Summary> {
    let trials = arm_trials(record, policy).filter(|trial| trial.succeeded());
    let (values, _) = middles(trials, metric);
    let interval = median_interval(&values, ALPHA);
    Some(Summary {
        median: median(&values)?,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        n: values.len() as u32,
    })
}
