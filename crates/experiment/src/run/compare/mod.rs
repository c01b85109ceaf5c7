//! Differences between policies: effects with intervals, and the verdict.
//!
//! Values are compared within rounds. One claim is controlled for error: the verdict metric, under all policies, at all
//! times. Every other row is an individual, uncorrected interval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::plan::JudgeBy;
use crate::run::stats::Quantile;

mod best;
mod between;
pub(crate) mod columns;
mod control;
pub(crate) mod coverage;
mod decision;
mod effect;
mod idle;
mod idle_state;
mod interaction;
/// The names of comparisons and metrics.
pub mod labels;
mod mechanism;
/// The median reading of every metric under every policy.
pub mod medians;
mod order;
mod pages_alone;
mod percentiles;
mod programs;
mod provisional;
mod quantiles;
mod rounds;
mod rows;
mod sessions;
mod starts;
mod stopping;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod warning;
mod why;

pub use best::{Preference, Rival};
pub use between::{Across, between, host_differences};
pub use control::{Control, ControlOutcome};
pub use decision::{
    Runs, fewest_rounds, fewest_rounds_of, fewest_rounds_of_single_runs, first_answer,
};
pub use idle::after_idle;
pub use idle_state::{IdleStates, idle_states};
pub use interaction::{Gain, Interaction};
pub use order::{Order, Stratum};
pub use pages_alone::PagesAlone;
pub use percentiles::{PERCENTILES, percentile, percentile_of_each};
pub use provisional::Provisional;
pub use quantiles::{QuantileChange, quantile_changes};
pub use sessions::sessions;
pub use starts::{Starts, starts};
pub use stopping::{Progress, progress, running};
pub use summary::{Summary, summary};
use table::Judged;
pub use table::{Options, deciding, table};
pub use warning::Warning;
pub use why::Why;

/// Why records cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A baseline that is not the name of a policy in the plan.
    #[error("no policy is called `{name}`; choose a baseline among: {known}")]
    UnknownPolicy {
        /// The requested name.
        name: String,
        /// The policies of the plan.
        known: String,
    },
    /// A metric that is neither built in nor in the plan.
    #[error("no metric is called `{name}`; {hint}")]
    UnknownMetric {
        /// The requested name.
        name: String,
        /// The probable name, or the metrics of the record.
        hint: String,
    },
    /// A threshold outside the range of a share.
    #[error("a threshold of {threshold} is not a share; write 0.01 for 1 %")]
    BadThreshold {
        /// The requested threshold.
        threshold: String,
    },
    /// Two records of different circumstances.
    #[error(
        "the two records differ in more than what is compared ({differences}); \
         allow that with --across if you mean to"
    )]
    Circumstances {
        /// Each field with both values.
        differences: String,
    },
    /// No policy under which both the first program and another one ran.
    #[error("no two programs ran under the same policy")]
    NoPrograms,
    /// Two records without a policy in common.
    #[error("the two records have no policy in common; run both with the same policies")]
    NothingInCommon,
}

/// All comparisons in one record, or between two.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Table {
    /// One per metric, statistic and policy other than the baseline. The order is that of
    /// [`crate::run::metric::METRICS`], then the printed metrics; policies are in the order of the plan.
    pub comparisons: Vec<Comparison>,
    /// The A/A control: the second run of the baseline against the first, on the verdict metric.
    pub control: Option<Control>,
    /// The effect of huge pages under policies that also change malloc, if the same policy ran with small pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages_alone: Vec<PagesAlone>,
    /// The answer.
    pub verdict: Verdict,
    /// For several programs: whether they gain equally from each policy. The comparisons are then those of each program
    /// with the first under the same policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
}

/// One metric under one policy against the same metric under the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Comparison {
    /// Name of the metric.
    pub metric: String,
    /// The compared property of the sample.
    pub statistic: Statistic,
    /// Name of the policy.
    pub policy: String,
    /// Name of the baseline.
    pub baseline: String,
    /// The property under the baseline: the median over trials for [`Statistic::Center`], otherwise the quantile.
    pub baseline_value: Option<f64>,
    /// The property under the policy.
    pub policy_value: Option<f64>,
    /// The scale of `estimate`, `low` and `high`: a ratio policy/baseline, or a difference.
    pub scale: Scale,
    /// Ratio policy / baseline, if `scale` is [`Scale::Ratio`]; otherwise `None`.
    pub ratio: Option<f64>,
    /// Difference policy − baseline in the unit of the metric, if `scale` is [`Scale::Difference`]; otherwise `None`.
    pub difference: Option<f64>,
    /// Lower end of the interval, on the scale.
    pub low: Option<f64>,
    /// Upper end of the interval, on the scale.
    pub high: Option<f64>,
    /// Two-sided p-value. In the verdict metric it is corrected for all policies and valid at any stopping time; in
    /// other rows it is uncorrected. `None` if nothing was compared.
    pub p: Option<f64>,
    /// Number of rounds in which both were read.
    pub n: u32,
    /// The conclusion.
    pub change: Change,
    /// Warnings about the number: failed trials left out, marked trials, missing readings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Comparison {
    /// Distance of the policy from the baseline in either direction: the logarithm of a ratio, or a difference in the
    /// unit of the metric. `None` if nothing was compared.
    #[must_use]
    pub fn distance(&self) -> Option<f64> {
        let log = self.ratio.map(|ratio| ratio.ln().abs());
        log.or(self.difference.map(f64::abs))
    }

    /// The ends of its interval around zero: logarithms of ratios, or differences in the unit of the
    /// metric.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        let (low, high) = self.low.zip(self.high)?;
        Some(match self.scale {
            Scale::Ratio => (low.ln(), high.ln()),
            Scale::Difference => (low, high),
        })
    }

    /// The smallest distance from the baseline within its interval, on the scale of [`Self::ends`]: zero if the
    /// interval contains zero.
    #[must_use]
    pub fn least_distance(&self) -> Option<f64> {
        let (low, high) = self.ends()?;
        Some(low.max(-high).max(0.0))
    }
}

/// The compared property of a sample.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The typical value of a trial.
    Center,
    /// A quantile of all values of all trials.
    #[serde(untagged)]
    Quantile(Quantile),
}

/// The scale of an effect.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Policy divided by baseline, computed on the logarithm.
    Ratio,
    /// Policy minus baseline: used if a zero rules out a ratio.
    Difference,
}

/// The conclusion from a comparison.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The whole interval is above zero.
    Higher,
    /// The whole interval is below zero.
    Lower,
    /// The whole interval is within the threshold: an equivalence.
    NoDifference,
    /// Anything else.
    CannotTell,
}

/// The answer of an experiment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Verdict {
    /// The metric that decides.
    pub metric: String,
    /// Name of the policy that the others were compared with: the plan's, or another one on request. Between two
    /// records: the one in the second plan.
    pub baseline: String,
    /// The smallest effect of interest, as a share.
    pub threshold: f64,
    /// The answer for each policy other than the baseline.
    pub policies: BTreeMap<String, PolicyAnswer>,
    /// The reason by policy, if the comparison does not show it: for `no_effect` and `not_decided`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, Why>,
    /// The runs of each measured policy, compared with those of the baseline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runs: BTreeMap<String, Runs>,
    /// The property of the runs by which the policies were judged.
    #[serde(default, skip_serializing_if = "JudgeBy::is_shape")]
    pub judge_by: JudgeBy,
    /// True if the baseline, metric, threshold or property of the runs differs from the plan: it was chosen after the
    /// data could be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen_afterwards: bool,
    /// Do the trials depend on the preceding ones? `None` if this could not be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// The policy to choose among those better than the baseline. It is the one shown to be better than the others, or
    /// among equals the one that changes least. It is the baseline if no policy is better, and `None` if the rounds do
    /// not decide.
    pub best: Option<String>,
    /// Policies that the rounds cannot distinguish from the best one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<Rival>,
    /// Why the best one is preferred to these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    /// The direction of user time, by policy, if the judged metric is undecided and user time for the same work is
    /// clear. It is a separate claim, whose error all judged policies share.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub user_time: BTreeMap<String, PolicyAnswer>,
    /// The results of a policy while it has too few rounds to decide: for the verdict metric, and also for user time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provisional: BTreeMap<String, Vec<Provisional>>,
}

/// The answer for one policy.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PolicyAnswer {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// Some runs were shown to be better, and some to be worse.
    Mixed,
    /// The typical run is the same, and rare runs were shown to be worse.
    RarelyWorse,
    /// Equivalent within the threshold.
    NoDifference,
    /// Better after some trials and worse after others.
    DependsOnOrder,
    /// The policy did not change the program's pages.
    NoEffect,
    /// The rounds do not decide.
    NotDecided,
}

impl PolicyAnswer {
    /// Returns true if a difference was shown.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(
            self,
            Self::Better | Self::Worse | Self::Mixed | Self::RarelyWorse
        )
    }
}
