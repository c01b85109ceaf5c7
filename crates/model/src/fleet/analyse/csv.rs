//! The effects as rows for programs.

use super::Analysis;
use crate::text::csv::{Csv, optional};

const HEADING: [&str; 14] = [
    "arm",
    "metric",
    "scale",
    "change",
    "low",
    "high",
    "error",
    "freedom",
    "p",
    "randomisation_p",
    "control_points",
    "arm_points",
    "variance_left",
    "detectable",
];

impl Analysis {
    /// A row for each arm and metric.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&HEADING);
        for it in &self.effects {
            csv.row([
                it.arm.clone(),
                it.metric.clone(),
                it.scale.word().to_owned(),
                it.change.to_string(),
                it.low.to_string(),
                it.high.to_string(),
                it.error.to_string(),
                it.freedom.to_string(),
                it.p.to_string(),
                it.randomisation_p.to_string(),
                it.points[0].to_string(),
                it.points[1].to_string(),
                optional(it.variance_left),
                it.detectable.to_string(),
            ]);
        }
        csv.into_text()
    }
}
