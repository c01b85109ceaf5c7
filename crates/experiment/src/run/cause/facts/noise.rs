//! The noise of a machine: the baseline against itself.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::Outcome;
use crate::run::compare::{Answer, Comparison, Scale, Table};
use crate::run::record::Record;

/// The baseline against itself, beside the threshold.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Noise {
    /// Shown when the noise hides an answer.
    pub outcome: Outcome,
    /// Half of the width of its interval, as a share; `None` with too few rounds, and when the baseline is zero.
    pub floor: Option<f64>,
    /// The smallest effect of interest, as a share.
    pub threshold: f64,
    /// The second run of the baseline over the first.
    pub ratio: Option<f64>,
    /// Trials that something disturbed, by its name.
    pub disturbed: BTreeMap<&'static str, usize>,
}

/// Returns `None` without a control.
#[must_use]
pub fn noise(record: &Record, table: &Table) -> Option<Noise> {
    let control = &table.control.as_ref()?.comparison;
    let threshold = table.verdict.threshold;
    let floor = floor(control);
    // A clear effect exceeds the noise, which then hides nothing.
    let mut answers = table.verdict.policies.values();
    let is_open = answers.any(|answer| *answer == Answer::NotDecided);
    Some(Noise {
        outcome: match floor {
            None => Outcome::CannotTell,
            Some(floor) if floor > threshold && is_open => Outcome::Shown,
            Some(_) => Outcome::NotShown,
        },
        floor,
        threshold,
        ratio: control.ratio,
        disturbed: record.count_marks(),
    })
}

fn floor(control: &Comparison) -> Option<f64> {
    let half = (control.high? - control.low?) / 2.0;
    match control.scale {
        Scale::Ratio => Some(half),
        Scale::Difference if half == 0.0 => Some(0.0),
        Scale::Difference => {
            let whole = control.baseline_value?.abs();
            (whole > 0.0).then_some(half / whole)
        }
    }
}
