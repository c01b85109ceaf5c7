//! The row of a fleet experiment: one unit, one period, one metric.
//!
//! Long format, so that a metric can be added without a new column. Each metric has sufficient statistics, so that rows
//! can be combined without the single values.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use hugewise_base::histogram::distribution::Distribution;

pub mod parquet;

/// One metric of one unit in one period.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Row {
    /// Name of the experiment.
    pub experiment: String,
    /// First 16 hexadecimal digits of the SHA-256 of the plan's text. They distinguish rows from before and after a
    /// change of the plan.
    pub plan: String,
    /// The randomised unit: `host`, `service@host`, or a start of a process.
    pub unit: String,
    /// The shared environment that correlates the results of units, such as the host of a pod. The unit itself if
    /// nothing is shared.
    pub cluster: String,
    /// Units are compared within their stratum.
    pub stratum: String,
    /// Name of the unit's arm by the plan.
    pub arm: String,
    /// Index of the plan's stage, from 0.
    pub stage: u32,
    /// Treated share of the cluster's units by the plan, 0 to 1; `None` if the plan has no saturation.
    pub saturation: Option<f64>,
    /// Start of the period, in seconds since 1970 (UTC).
    pub start: i64,
    /// Length of the period, in seconds.
    pub seconds: f64,
    /// The phase of the experiment.
    pub phase: Phase,
    /// Share of the period with active settings of the arm, 0 to 1; `None` if it was not checked.
    pub exposure: Option<f64>,
    /// The proof that the settings were read back and had their effect.
    pub proof: Proof,
    /// How the period ended for the unit.
    pub ending: Ending,
    /// Name of the metric, with its unit as Prometheus writes it: `latency_seconds`.
    pub metric: String,
    /// Count, mean and scatter of the values in the period.
    #[serde(flatten)]
    pub sums: Sums,
    /// The durations of requests in the period, for quantiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Distribution>,
}

/// Sufficient statistics of the values of one period.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Sums {
    /// Number of values.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Sum of the squared distances from the mean.
    pub m2: f64,
}

impl Sums {
    /// The statistics of a single value.
    #[must_use]
    pub fn one(mean: f64) -> Self {
        Self {
            n: 1,
            mean,
            m2: 0.0,
        }
    }

    /// Adds one value (Welford).
    pub fn add(&mut self, value: f64) {
        self.n = self.n.saturating_add(1);
        let away = value - self.mean;
        self.mean += away / self.n as f64;
        self.m2 += away * (value - self.mean);
    }

    /// Merges other statistics (Chan, Golub and LeVeque).
    pub fn merge(&mut self, other: &Self) {
        let (n, more) = (self.n as f64, other.n as f64);
        if other.n == 0 {
            return;
        }
        let away = other.mean - self.mean;
        self.n = self.n.saturating_add(other.n);
        self.mean += away * more / (n + more);
        self.m2 += other.m2 + away * away * n * more / (n + more);
    }
}

/// The phase of an experiment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, EnumString, IntoStaticStr, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Before any arm was applied: the unit's pre-period.
    Before,
    /// Under its arm.
    During,
    /// After a change of arm, before memory adapts; not compared.
    Washout,
}

/// The proof that the arm's settings took effect.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, EnumString, IntoStaticStr, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Proof {
    /// Read back, and the memory of the unit agrees.
    Proved,
    /// Read back, but the memory does not agree.
    Missed,
    /// Could not be read.
    Unknown,
}

/// How a period ended for the unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, EnumString, IntoStaticStr, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Ending {
    /// The period ran to its end.
    Whole,
    /// A guardrail stopped the arm.
    Guardrail,
    /// The kernel OOM-killed the unit.
    OutOfMemory,
    /// The agent was stopped, or its plan ended, within the period.
    Stopped,
}
