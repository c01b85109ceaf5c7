//! Claims that the machine was too noisy for the threshold that was asked for.
//!
//! Evidence: the A/A control differs from itself, or its interval is wider than the threshold
//! while a verdict is open: no policy can then be told from the baseline by less than that. Marks say what disturbed.
//! Refuted by the same experiment on a quiet machine. Next: more rounds, a larger workload, or
//! a higher threshold.

use serde_json::Map;

use super::ground::{Evidence, Ground};
use super::{Finding, Outcome, Rule};
use crate::run::compare::labels::effect_of;
use crate::run::compare::{Answer, Comparison, Control, Scale};
use crate::text::number::{chosen_percent, percent};

/// See the module.
#[derive(Debug)]
pub(super) struct RunTooNoisy;

impl Rule for RunTooNoisy {
    fn id(&self) -> &'static str {
        "run-too-noisy"
    }

    fn explain(&self) -> &'static str {
        "Claims that the machine was too noisy for the threshold that was asked for. Evidence: the \
         baseline, run twice in each round, differs from itself, or the interval of that comparison \
         is wider than the threshold and a verdict is open; marked trials say what disturbed. Refuted by the same \
         experiment on a quiet machine. Next: more rounds, a longer workload, or a \
         larger threshold."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground
            .table
            .control
            .iter()
            .map(|control| judge(self.id(), ground, control))
            .collect()
    }
}

fn judge(id: &str, ground: &Ground<'_>, control: &Control) -> Finding {
    let threshold = ground.table.verdict.threshold;
    let comparison = &control.comparison;
    let floor = floor(comparison);
    let mut evidence = Evidence(Map::new());
    if let Some(value) = comparison.baseline_value {
        evidence.reading(&comparison.metric, &comparison.baseline, value);
    }
    evidence.figure("threshold", threshold);
    evidence.figure("noise_floor", floor);
    evidence.figure("control_ratio", comparison.ratio);
    let (outcome, text) = match floor {
        _ if !control.passed => (Outcome::Shown, failed(ground, comparison)),
        None if comparison.low.is_some() => (
            Outcome::CannotTell,
            format!(
                "{} is 0 under {}: its noise is no share of it",
                ground.label(&comparison.metric),
                comparison.baseline
            ),
        ),
        None => (
            Outcome::CannotTell,
            "the control could not be compared with itself".to_owned(),
        ),
        Some(floor) if floor > threshold && is_open(ground) => {
            (Outcome::Shown, wide(ground, comparison, floor))
        }
        Some(floor) => (
            Outcome::NotShown,
            format!(
                "{} against itself is known to ±{} %",
                comparison.baseline,
                percent(floor)
            ),
        ),
    };
    Finding {
        explanation: RunTooNoisy.explain(),
        answers: false,
        id: id.to_owned(),
        policy: None,
        outcome,
        text,
        evidence: evidence.0,
    }
}

/// Whether a verdict is still open: noise that a clear effect stands out of is not too much.
fn is_open(ground: &Ground<'_>) -> bool {
    let mut answers = ground.table.verdict.policies.values();
    answers.any(|answer| *answer == Answer::CannotTell)
}

/// What cannot be told from nothing: half of the width of the control's interval.
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

fn failed(ground: &Ground<'_>, control: &Comparison) -> String {
    format!(
        "{} differs from itself by {}: something other than the policies acted on the trials, \
         unless it is the one run in twenty in which chance does it{}",
        control.baseline,
        effect_of(ground.record, control),
        disturbances(ground)
    )
}

fn wide(ground: &Ground<'_>, control: &Comparison, floor: f64) -> String {
    format!(
        "{} against itself is known only to ±{} %, and ±{} % was asked for{}",
        control.baseline,
        percent(floor),
        chosen_percent(ground.table.verdict.threshold),
        disturbances(ground)
    )
}

fn disturbances(ground: &Ground<'_>) -> String {
    let marks = ground.record.count_marks();
    let list: Vec<String> = marks
        .iter()
        .map(|(kind, count)| format!("{kind} in {count}"))
        .collect();
    if list.is_empty() {
        return "; no trial is marked".to_owned();
    }
    format!("; marked trials: {}", list.join(", "))
}
