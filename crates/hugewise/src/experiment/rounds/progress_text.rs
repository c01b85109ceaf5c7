//! Texts of the progress.

use hugewise_experiment::run::compare::Comparison;
use hugewise_experiment::run::metric::find;
use hugewise_experiment::run::trial::{Outcome, Trial};
use hugewise_text::ends::percent_ends;
use hugewise_text::number::{counted, percent_change};

use super::super::progress_line::BETWEEN;

/// The first failure, shown before all trials have failed.
pub(super) fn failure(trial: &Trial) -> String {
    let which = format!("first trial, policy {}", trial.policy);
    let tail = trial.stderr_tail.as_deref().unwrap_or_default();
    failure_text(&which, &trial.outcome, tail)
}

/// Returns the text of a failed run: its end, and the last lines that it printed on stderr.
pub fn failure_text(which: &str, outcome: &Outcome, stderr_tail: &str) -> String {
    let mut text = format!("the workload failed ({which}): {outcome}");
    for line in stderr_tail.lines() {
        text.push_str("\n    ");
        text.push_str(line);
    }
    text
}

/// The estimates after this many rounds.
pub fn so_far_text(rounds: u32, rows: &[Comparison]) -> String {
    let rounds = counted(rounds.into(), "round");
    let estimates: Vec<String> = rows.iter().map(estimate).collect();
    let metric = rows.first().map(|it| &it.metric);
    let is_early = rows.iter().all(|it| it.low.is_none());
    let early = if is_early { " (no intervals yet)" } else { "" };
    metric.map_or(rounds.clone(), |metric| {
        let known = find(metric);
        let label = known.map_or_else(|| metric.replace('_', " "), |it| it.label.to_string());
        format!("{rounds}{early}: {label} {}", estimates.join(BETWEEN))
    })
}

/// The status after every policy is decided. These rounds are not counted in the report, which compares nothing in
/// them.
pub(super) const CONTROL: &str =
    "the policies are done, the baseline runs against itself as the control";

fn estimate(running: &Comparison) -> String {
    let policy = &running.policy;
    let Some(ratio) = running.ratio else {
        return format!("{policy} not known yet");
    };
    let change = percent_change(ratio - 1.0);
    match running.low.zip(running.high) {
        Some((low, high)) => {
            let [low, high] = percent_ends(low - 1.0, high - 1.0);
            format!("{policy} {change} % ({low} to {high} %)")
        }
        None => format!("{policy} {change} %"),
    }
}
