//! The readings of each arm, metric by metric.

use serde::Serialize;

use crate::base::missing::Missing;
use crate::base::units::Unit;
use crate::run::compare::Statistic;
use crate::run::metric::{Better, Scope};

/// One metric under every arm.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Row {
    /// Name of the metric.
    pub metric: String,
    /// The property of its sample.
    pub statistic: Statistic,
    /// The label shown to users.
    pub label: String,
    /// True if it belongs on the first screen.
    pub first_screen: bool,
    /// True if every first screen must contain it.
    pub stays: bool,
    /// One for each arm with a reading.
    pub cells: Vec<Cell>,
}

/// The typical reading of one arm.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Cell {
    /// The arm.
    pub arm: String,
    /// The typical value over trials, in the unit of the metric.
    pub value: Option<f64>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// Facts about a metric.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MetricFacts {
    /// The label shown to users.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// The good direction.
    pub better: Better,
    /// The processes that it covers.
    pub scope: Scope,
}
