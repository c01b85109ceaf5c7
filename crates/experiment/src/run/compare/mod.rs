//! What differs between two policies: effects with intervals, and the verdict.
//!
//! Values are compared within rounds. One claim is controlled for error: the verdict metric,
//! under all policies, at all times. Every other row is an interval by itself.

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
/// What comparisons and metrics are called.
pub mod labels;
mod mechanism;
/// The middle reading of every metric under every policy.
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
    /// A baseline that no policy of the plan is called.
    #[error("no policy is called `{name}`; choose a baseline among: {known}")]
    UnknownPolicy {
        /// What was asked for.
        name: String,
        /// The policies of the plan.
        known: String,
    },
    /// A metric that neither the table nor the plan knows.
    #[error("no metric is called `{name}`; {hint}")]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// What was meant, or the metrics of the record.
        hint: String,
    },
    /// A threshold that is no share.
    #[error("a threshold of {threshold} is not a share; write 0.01 for 1 %")]
    BadThreshold {
        /// What was asked for.
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
    /// No policy under which the first program and another ran.
    #[error("no two programs ran under the same policy")]
    NoPrograms,
    /// Two records without a policy in common.
    #[error("the two records have no policy in common; run both with the same policies")]
    NothingInCommon,
}

/// Everything that was compared in one record, or between two.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Table {
    /// One per metric, statistic and policy other than the baseline; metrics in the order of
    /// [`crate::run::metric::METRICS`], then printed metrics; policies in the order of the plan.
    pub comparisons: Vec<Comparison>,
    /// The A/A control: the second run of the baseline against the first, on the verdict metric.
    pub control: Option<Control>,
    /// What huge pages do by themselves under policies that change malloc too, where the same was run with small pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages_alone: Vec<PagesAlone>,
    /// The answer.
    pub verdict: Verdict,
    /// Of programs, whether they gain alike from each policy; the comparisons are then those of
    /// each program with the first under the same policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
}

/// One metric under one policy against the same metric under the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Comparison {
    /// Name of the metric.
    pub metric: String,
    /// Which property of the sample is compared.
    pub statistic: Statistic,
    /// Name of the policy.
    pub policy: String,
    /// Name of the baseline.
    pub baseline: String,
    /// The property under the baseline: the median over trials for [`Statistic::Center`], else
    /// the quantile.
    pub baseline_value: Option<f64>,
    /// The property under the policy.
    pub policy_value: Option<f64>,
    /// Whether `estimate`, `low` and `high` are a ratio policy/baseline or a difference.
    pub scale: Scale,
    /// Ratio policy / baseline, when `scale` is [`Scale::Ratio`]; else `None`.
    pub ratio: Option<f64>,
    /// Difference policy − baseline in the unit of the metric, when `scale` is
    /// [`Scale::Difference`]; else `None`.
    pub difference: Option<f64>,
    /// Lower end of the interval, on the scale.
    pub low: Option<f64>,
    /// Upper end of the interval, on the scale.
    pub high: Option<f64>,
    /// Two-sided p-value. In the verdict metric it counts all policies and holds at any time of
    /// stopping; elsewhere it is that of the row by itself. `None` where nothing was compared.
    pub p: Option<f64>,
    /// Rounds in which both were read.
    pub n: u32,
    /// What may be said.
    pub change: Change,
    /// What travels with the number: failed trials left out, marked trials, missing readings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Comparison {
    /// How far the policy lies from the baseline, whichever way: the logarithm of a ratio, or a
    /// difference in the unit of the metric; `None` where nothing was compared.
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

    /// The least distance from the baseline that its interval leaves, on the scale of [`Self::ends`]: zero where it
    /// holds zero.
    #[must_use]
    pub fn least_distance(&self) -> Option<f64> {
        let (low, high) = self.ends()?;
        Some(low.max(-high).max(0.0))
    }
}

/// Which property of a sample is compared.
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
    /// Policy divided by baseline, worked out on the logarithm.
    Ratio,
    /// Policy less baseline: used where a zero forbids a ratio.
    Difference,
}

/// What may be said of a comparison.
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
    /// Name of the policy that the others were compared with; the plan's, or another that was
    /// asked for. Between two records: the plan's of the second.
    pub baseline: String,
    /// The smallest effect of interest that was judged by, as a share.
    pub threshold: f64,
    /// The answer for each policy other than the baseline.
    pub policies: BTreeMap<String, PolicyAnswer>,
    /// Why, where it is not plain from the comparison, by policy: for `no_effect` and
    /// `not_decided`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, Why>,
    /// The runs of each policy that was measured, beside those of the baseline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runs: BTreeMap<String, Runs>,
    /// By which property of the runs the policies were judged.
    #[serde(default, skip_serializing_if = "JudgeBy::is_shape")]
    pub judge_by: JudgeBy,
    /// Whether the baseline, the metric, the threshold or the property of the runs is another than
    /// the plan's: chosen after the data was there to be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen_afterwards: bool,
    /// Whether the trials depend on what ran before them; `None` where that could not be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// The policy to choose: of those that are better than the baseline, the one that was shown to
    /// be better than the others, or among equals the one that changes least; the baseline where
    /// none is better; `None` when it cannot be told.
    pub best: Option<String>,
    /// Policies that are as good as the best one, as far as the rounds tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<Rival>,
    /// Why the best one is preferred to these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    /// The direction of user time, by policy, where what is judged is not decided and user time for the
    /// same work is clear: a claim of its own, whose error all judged policies share.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub user_time: BTreeMap<String, PolicyAnswer>,
    /// What the rounds of a policy show where they are fewer than can decide: of the verdict metric,
    /// and of user time beside it.
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
    /// The policy changed nothing about the program's pages.
    NoEffect,
    /// The rounds do not tell.
    NotDecided,
}

impl PolicyAnswer {
    /// Whether it is a difference that was shown.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(
            self,
            Self::Better | Self::Worse | Self::Mixed | Self::RarelyWorse
        )
    }
}
