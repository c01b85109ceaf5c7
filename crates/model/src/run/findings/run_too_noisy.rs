//! Claims that the machine was too noisy for the threshold that was asked for.

use serde_json::Map;

use super::context::{Context, Evidence};
use super::{Finding, Outcome, Rule};
use crate::run::compare::{Answer, Comparison, Control, Scale};
use crate::text::number::{chosen_percent, percent};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct RunTooNoisy;

impl Rule for RunTooNoisy {
    fn id(&self) -> &'static str {
        "run-too-noisy"
    }

    fn explain(&self) -> &'static str {
        "Claims that the machine was too noisy for the threshold. Evidence: the \
         interval of the baseline against itself, run twice in each round, is wider than the threshold and a verdict is open; marks name what disturbed trials. Refuted by the same \
         experiment on a quiet machine. Next: more rounds, a longer workload, or a \
         larger threshold."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context
            .table
            .control
            .iter()
            .map(|control| judge(self.id(), context, control))
            .collect()
    }
}

fn judge(id: &str, context: &Context<'_>, control: &Control) -> Finding {
    let threshold = context.table.verdict.threshold;
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
        None if comparison.low.is_some() => (
            Outcome::CannotTell,
            format!(
                "{} is 0 under {}, so its noise is no share of it",
                context.label(&comparison.metric),
                comparison.baseline
            ),
        ),
        None => (
            Outcome::CannotTell,
            "Too few rounds to measure the noise".to_owned(),
        ),
        Some(floor) if floor > threshold && is_open(context) => {
            (Outcome::Shown, wide(context, comparison, floor))
        }
        Some(_) => (
            Outcome::NotShown,
            format!(
                "Noise hides no answer. {} was compared with itself",
                comparison.baseline
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
fn is_open(context: &Context<'_>) -> bool {
    let mut answers = context.table.verdict.policies.values();
    answers.any(|answer| *answer == Answer::NotDecided)
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

fn wide(context: &Context<'_>, control: &Comparison, floor: f64) -> String {
    format!(
        "The control is too noisy (±{} %) to show a difference of ±{} %. {} was compared with itself{}",
        percent(floor),
        chosen_percent(context.table.verdict.threshold),
        control.baseline,
        disturbances(context)
    )
}

fn disturbances(context: &Context<'_>) -> String {
    let marks = context.record.count_marks();
    let list: Vec<String> = marks
        .iter()
        .map(|(kind, count)| format!("{kind} in {count}"))
        .collect();
    if list.is_empty() {
        return "; no trial was disturbed".to_owned();
    }
    format!("; disturbed trials: {}", list.join(", "))
}
