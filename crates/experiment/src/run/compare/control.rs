//! The A/A control: whether the baseline, run twice in each round, agrees with itself.

use serde::Serialize;
use strum::Display;

use super::Comparison;
use super::effect::limit;

/// How far two runs of one policy lie apart here. The shuffle makes the two
/// alike, so a difference is chance; it is shown, and judges nothing.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Control {
    /// The second run of the baseline against the first.
    pub comparison: Comparison,
}

/// What the control shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlOutcome {
    /// The baseline differs from itself by less than the effect that is reported, at the weak end of its
    /// interval, or than the threshold where none is.
    #[strum(serialize = "passed")]
    Passed,
    /// Its interval is too wide to say so, or too few rounds gave none.
    #[strum(serialize = "inconclusive")]
    TooWide,
    /// It differs from itself by more than the threshold: so much is chance here.
    #[strum(serialize = "failed")]
    Failed,
}

impl Control {
    /// What it shows. `threshold` is a share of the baseline; `smallest` is the smallest effect that may be behind
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

    /// What its interval must lie within: the smallest effect that is reported, or the threshold
    /// where that is larger. On the scale of [`Comparison::ends`].
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
