//! The time that would decide an open question, if it is not too long.

use std::time::Duration;

use super::again::continued;
use super::{Advice, Report, given};
use crate::run::compare::{Comparison, Scale};
use crate::run::policy::rerun;
use crate::text::wrap::plain;

use super::super::answer::judged;
use super::super::conclusion::conclude;

/// Nobody is sent to wait for longer.
const MOST: Duration = Duration::from_secs(3600);
/// An effect of the size that is seen is decided once its interval is so much narrower.
const NARROWER: f64 = 1.3;

/// The command that would decide it, where the noise of this experiment lets it be done soon.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let Some(seconds) = seconds(report) else {
        return Vec::new();
    };
    if seconds > MOST.as_secs_f64() {
        let sentence =
            "More rounds would take over an hour; longer trials or less noise tell sooner.";
        return vec![Advice::Sentence(sentence.to_owned())];
    }
    let minutes = (seconds / 60.0).ceil().max(2.0) as u64;
    let lead = format!(
        "More rounds may tell{}, in about {minutes} minutes:",
        of_whom(report)
    );
    if let Some(command) = continued(report) {
        let command = format!("{command} --max-time {minutes}m");
        return vec![Advice::Sentence(lead), Advice::Command(command)];
    }
    let limit = format!("--max-time={minutes}m");
    given(
        lead,
        rerun(&report.record.header.made_by, &[&limit]),
        &format!("run again with {limit}"),
    )
}

/// ` of thp=always`, where several policies were tried.
fn of_whom(report: &Report<'_>) -> String {
    let several = report.table.verdict.policies.len() > 1;
    let policy = conclude(report).and_then(|it| it.policy);
    policy
        .filter(|_| several)
        .map_or_else(String::new, |policy| format!(" of {}", plain(&policy)))
}

/// How long the rounds would take that are missing, in seconds.
fn seconds(report: &Report<'_>) -> Option<f64> {
    let policy = conclude(report)?.policy?;
    let row = judged(report, &policy)?;
    let factor =
        too_few(report, &policy).or_else(|| factor(&row, report.table.verdict.threshold))?;
    // The rounds that there are count.
    Some(took(report)?.as_secs_f64() * (factor - 1.0).max(1.0))
}

/// How many times the rounds so far are needed: the interval narrows with their square root.
fn factor(row: &Comparison, threshold: f64) -> Option<f64> {
    let (low, high) = row.low.zip(row.high)?;
    let (half, effect) = match (row.scale, row.ratio) {
        (Scale::Ratio, Some(ratio)) => ((high / low).ln() / 2.0, ratio.ln().abs()),
        _ => return None,
    };
    let wanted = effect.max(threshold.ln_1p());
    Some((NARROWER * half / wanted).powi(2))
}

/// How many times the rounds so far are needed where there are too few to decide anything: one
/// round more than the fewest.
fn too_few(report: &Report<'_>, policy: &str) -> Option<f64> {
    let shown = report.table.verdict.provisional.get(policy)?.first()?;
    Some(f64::from(shown.needed + 1) / f64::from(shown.rounds.max(1)))
}

/// How long the rounds took.
pub(super) fn took(report: &Report<'_>) -> Option<Duration> {
    let begun = report.record.trials.first()?.started_unix_ms;
    let last = report.record.trials.last()?.started_unix_ms;
    last.checked_sub(begun).map(Duration::from_millis)
}
