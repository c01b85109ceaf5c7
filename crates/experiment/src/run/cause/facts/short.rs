//! Workloads that are too short to say much.

use serde::Serialize;

use crate::run::compare::Table;
use crate::run::compare::medians::Medians;
use crate::run::metric::MetricId;
use crate::run::record::Record;

const SHORT_SECONDS: f64 = 0.05;
const VERY_SHORT_SECONDS: f64 = 0.01;

/// A workload of which process start and exit may be a large part.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct TooShort {
    /// Median wall time under the baseline, in seconds.
    pub wall_seconds: f64,
    /// Returns true when start and exit may be most of it: below 10 ms.
    pub is_very_short: bool,
    /// Samples of its memory in a typical trial.
    pub samples: Option<f64>,
}

/// Returns `None` for a workload of 50 ms or more.
#[must_use]
pub fn too_short(record: &Record, table: &Table) -> Option<TooShort> {
    let medians = Medians::of(record);
    let read = |metric: MetricId| medians.get(&table.verdict.baseline, metric).ok();
    let wall_seconds = read(MetricId::WallSeconds).filter(|wall| *wall < SHORT_SECONDS)?;
    Some(TooShort {
        wall_seconds,
        is_very_short: wall_seconds < VERY_SHORT_SECONDS,
        samples: read(MetricId::SamplesTotal),
    })
}
