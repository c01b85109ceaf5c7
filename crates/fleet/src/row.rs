//! The row of a fleet experiment: one unit, one period, one metric.
//!
//! Long form, so that a metric can be added without a new column, and sufficient statistics
//! beside the metric, so that rows can be added up without the single values.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use hugewise_base::histogram::distribution::Distribution;

pub mod parquet;

/// What one unit saw of one metric in one period.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Row {
    /// Name of the experiment.
    pub experiment: String,
    /// First 16 hexadecimal digits of the SHA-256 of the plan's text: rows of a plan that was
    /// changed midway are told apart.
    pub plan: String,
    /// The unit that was randomised: `host`, `service@host`, or a start of a process.
    pub unit: String,
    /// What units share, which makes their results alike: the host of a pod. The unit itself
    /// where nothing is shared.
    pub cluster: String,
    /// Units are compared within their stratum.
    pub stratum: String,
    /// Name of the arm that the plan gives the unit.
    pub arm: String,
    /// Index of the plan's stage, from 0.
    pub stage: u32,
    /// Share of the cluster's units that the plan treats, 0 to 1; `None` where the plan has no
    /// saturation.
    pub saturation: Option<f64>,
    /// Start of the period, seconds since 1970 (UTC).
    pub start: i64,
    /// Length of the period, seconds.
    pub seconds: f64,
    /// Where the period lies in the experiment.
    pub phase: Phase,
    /// Share of the period during which the arm's settings were in force, 0 to 1; `None` where
    /// nobody looked.
    pub exposure: Option<f64>,
    /// Whether the settings were read back and did what they should.
    pub proof: Proof,
    /// How the period ended for the unit.
    pub ending: Ending,
    /// Name of the metric, with its unit as Prometheus writes it: `latency_seconds`.
    pub metric: String,
    /// Count, mean and scatter of the values of the period.
    #[serde(flatten)]
    pub sums: Sums,
    /// How long requests of the period took, for quantiles.
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
    /// Those of a single value.
    #[must_use]
    pub fn one(mean: f64) -> Self {
        Self {
            n: 1,
            mean,
            m2: 0.0,
        }
    }

    /// Takes one more value in (Welford).
    pub fn add(&mut self, value: f64) {
        self.n = self.n.saturating_add(1);
        let away = value - self.mean;
        self.mean += away / self.n as f64;
        self.m2 += away * (value - self.mean);
    }

    /// Takes other values in (Chan, Golub and LeVeque).
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

/// Where a period lies in the experiment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, EnumString, IntoStaticStr, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Before any arm was applied: the unit's own past.
    Before,
    /// Under its arm.
    During,
    /// After a change of arm, before memory follows it; not compared.
    Washout,
}

/// Whether the arm's settings took hold.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, EnumString, IntoStaticStr, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Proof {
    /// Read back, and the memory of the unit follows them.
    Proved,
    /// Read back, but the memory does not follow.
    Missed,
    /// Could not be read.
    Unknown,
}

/// How a period ended for the unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, EnumString, IntoStaticStr, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Ending {
    /// The period ran its whole length.
    Whole,
    /// A guardrail stopped the arm.
    Guardrail,
    /// The kernel killed the unit for want of memory.
    OutOfMemory,
    /// The agent was stopped, or its plan ended, within the period.
    Stopped,
}
