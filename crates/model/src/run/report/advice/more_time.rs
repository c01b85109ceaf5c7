//! The time that would decide an open question, if it is not too long.

use std::time::Duration;

use super::again::continued;
use super::at_best::most_to_gain;
use super::{Advice, Report, given};
use crate::run::compare::labels::effect_of_ratio;
use crate::run::compare::{Comparison, Scale, fewest_rounds_of_single_runs};
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
    let of_answer = || judged(report, &conclude(report)?.policy?);
    let Some(row) = most_to_gain(report).or_else(of_answer) else {
        return Vec::new();
    };
    let several = report.table.verdict.policies.len() > 1;
    let what = match several {
        true => plain(&row.policy),
        false => "it".to_owned(),
    };
    more_rounds(report, &row, &what)
}

/// The command that would decide this comparison, and `what` that decides.
pub(super) fn more_rounds(report: &Report<'_>, row: &Comparison, what: &str) -> Vec<Advice> {
    let Some(seconds) = seconds(report, row).filter(|_| is_of_interest(report, row)) else {
        return Vec::new();
    };
    if seconds > MOST.as_secs_f64() {
        return vec![Advice::Sentence(format!(
            "Deciding {what} would take over an hour more here; a quieter machine needs less."
        ))];
    }
    let minutes = (seconds / 60.0).ceil().max(2.0) as u64;
    let lead = format!(
        "About {minutes} more minutes{} decide {what}:",
        as_it_seems(report, row)
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

/// Whether the effect that is seen is not within the threshold, or there are too few rounds to see one. Nobody is sent to
/// wait for what the table calls equal.
fn is_of_interest(report: &Report<'_>, row: &Comparison) -> bool {
    let threshold = report.table.verdict.threshold.ln_1p();
    let is_early = too_few(report, &row.policy).is_some() || row.low.is_none();
    is_early || row.ratio.is_none_or(|ratio| ratio.ln().abs() > threshold)
}

/// `, if −5.0 % holds,`: the time is that of an effect of the size that is seen.
fn as_it_seems(report: &Report<'_>, row: &Comparison) -> String {
    let is_few = too_few(report, &row.policy).is_some();
    let effect = row.ratio.filter(|_| !is_few && row.low.is_some());
    effect.map_or_else(String::new, |ratio| {
        format!(", if {} holds,", effect_of_ratio(ratio))
    })
}

/// How long the rounds would take that are missing, in seconds.
fn seconds(report: &Report<'_>, row: &Comparison) -> Option<f64> {
    let too_few = too_few(report, &row.policy);
    let factor = too_few
        .or_else(|| factor(row, report.table.verdict.threshold))
        .or_else(|| without_interval(report, row))?;
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

/// The same of two single runs a round, which have no interval before the rounds that can decide.
fn without_interval(report: &Report<'_>, row: &Comparison) -> Option<f64> {
    let is_of_single_runs = row.baseline != report.table.verdict.baseline;
    let needed = f64::from(fewest_rounds_of_single_runs() + 1);
    (is_of_single_runs && row.n > 0).then(|| needed / f64::from(row.n))
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
