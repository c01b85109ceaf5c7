//! The A/A control: does the baseline, run twice in each round, agree with itself?

use serde::Serialize;
use strum::Display;

use super::Comparison;
use super::effect::limit;

/// The difference between two runs of one policy. The shuffle makes the two equivalent, so any difference is chance. It
/// is shown, but decides nothing.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Control {
    /// The second run of the baseline against the first.
    pub comparison: Comparison,
}

/// The outcome of the control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlOutcome {
    /// The baseline differs from itself by less than the weak end of the reported effect's interval, or by less than
    /// the threshold if no effect is reported.
    #[strum(serialize = "passed")]
    Passed,
    /// Its interval is too wide to decide, or too few rounds gave no interval.
    #[strum(serialize = "inconclusive")]
    TooWide,
    /// It differs from itself by more than the threshold, so differences of that size are chance here.
    #[strum(serialize = "failed")]
    Failed,
}

impl Control {
    /// Returns the outcome. `threshold` is a share of the baseline; `smallest` is the smallest effect compatible with
    /// what is reported as better or worse, as [`Comparison::least_distance`].
    #[must_use]
    pub fn outcome(&self, threshold: f64, smallest: Option<f64>) -> ControlOutcome {
        let Some((low, high)) = self.comparison.ends() else {
            return ControlOutcome::TooWide;
        };
        let least = self.on_scale(threshold);
        let limit = self.limit(threshold, smallest);
        if low > least || high < -least {
            ControlOutcome::Failed
        } else if -limit <= low && high <= limit {
            ControlOutcome::Passed
        } else {
            ControlOutcome::TooWide
        }
    }

    /// The limit for the interval of the control: the smallest reported effect or the threshold, whichever is larger.
    /// On the scale of [`Comparison::ends`].
    #[must_use]
    pub fn limit(&self, threshold: f64, smallest: Option<f64>) -> f64 {
        self.on_scale(threshold).max(smallest.unwrap_or(0.0))
    }

    /// The threshold on the scale of [`Comparison::ends`].
    fn on_scale(&self, threshold: f64) -> f64 {
        let row = &self.comparison;
        limit(row.scale, row.baseline_value.unwrap_or(0.0), threshold)
    }
}
