//! What is said about the control.

use super::Report;
use super::answer::judged;
use super::interval::{Sign, interval};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Control, ControlOutcome, Scale};
use crate::text::document::Level;
use crate::text::number::percent_change;
use crate::text::wrap::plain;

/// What the control shows; `None` where none was run.
#[must_use]
pub fn outcome(report: &Report<'_>) -> Option<ControlOutcome> {
    let control = report.table.control.as_ref()?;
    Some(control.outcome(report.table.verdict.threshold, smallest_effect(report)))
}

/// `control passed (−0.4 to +0.6 %)`, `control: as-is against itself −21 to +37 %, too noisy to tell`. One that passes beside a large effect only,
/// says so, and so does one that excludes 0. An inconclusive one takes nothing from an answer, whose interval has the same
/// noise in it, and adds nothing: it is not called inconclusive, which everybody took for a doubt. One whose interval
/// excludes 0 is met by chance in
/// one of twenty experiments; a fault of the machine that ruins the answer looks the same.
pub(super) fn brief(report: &Report<'_>) -> Option<String> {
    let outcome = outcome(report)?;
    let control = report.table.control.as_ref()?;
    let row = &control.comparison;
    let metric = metric_of(report.record, &row.metric);
    let figure = interval(&metric, row, Sign::Kept).filter(|_| row.scale == Scale::Ratio);
    let behind = figure.as_ref();
    let behind = behind.map_or_else(String::new, |it| format!(" ({it})"));
    Some(match outcome {
        ControlOutcome::TooWide if excludes_zero(control) => {
            format!("control inconclusive{behind}, and it excludes 0: measure again")
        }
        ControlOutcome::TooWide => match (figure, row.ends()) {
            (Some(figure), _) => {
                format!(
                    "control: {} against itself {figure}, too noisy to tell",
                    plain(&row.baseline)
                )
            }
            (None, Some(_)) => "control inconclusive".to_owned(),
            // It is one run against one, and needs more rounds than a policy.
            (None, None) => return None,
        },
        ControlOutcome::Passed => {
            let size = match is_within_threshold(report, control) {
                true => "",
                false => ", less than the effect",
            };
            let doubt = match excludes_zero(control) {
                true => ", but it excludes 0",
                false => "",
            };
            format!("control passed{size}{behind}{doubt}")
        }
        ControlOutcome::Failed => format!("control failed{behind}"),
    })
}

/// `as-is against itself +0.1 % (95 %: −0.4 to +0.6 %), limits −1.0 and +1.0 %: passed`.
fn line(report: &Report<'_>) -> Option<String> {
    let outcome = outcome(report)?;
    let control = report.table.control.as_ref()?;
    let row = &control.comparison;
    let metric = metric_of(report.record, &row.metric);
    let baseline = plain(&row.baseline);
    let figures = interval(&metric, row, Sign::Kept).map(|interval| {
        let effect = effect_of(report.record, row);
        format!(" {effect} (95 %: {interval})")
    });
    let figures = figures.unwrap_or_default();
    let limit = match row.scale {
        Scale::Ratio => {
            let limit = control.limit(report.table.verdict.threshold, smallest_effect(report));
            let [low, high] = [-limit, limit].map(|end| percent_change(end.exp_m1()));
            format!(", limits {low} and {high} %")
        }
        Scale::Difference => String::new(),
    };
    Some(format!(
        "{baseline} against itself{figures}{limit}: {outcome}"
    ))
}

/// The whole of it: a detail, unless it failed.
pub(super) fn doubt(report: &Report<'_>) -> Option<(Level, String)> {
    let line = format!("Control: {}.", line(report)?);
    Some(match outcome(report)? {
        ControlOutcome::Failed => (
            Level::First,
            format!("{line} So much is chance here: take no effect of this size for real."),
        ),
        _ => (Level::Detail, line),
    })
}

/// Whether it is small by itself, not only beside the effects that are reported.
fn is_within_threshold(report: &Report<'_>, control: &Control) -> bool {
    control.outcome(report.table.verdict.threshold, None) == ControlOutcome::Passed
}

fn excludes_zero(control: &Control) -> bool {
    let ends = control.comparison.ends();
    ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
}

/// The smallest effect that may be behind what is reported as better or worse; what a tracer alone costs is no
/// answer.
fn smallest_effect(report: &Report<'_>) -> Option<f64> {
    let verdict = &report.table.verdict;
    let policies = report.record.header.plan.policies.iter();
    let decided = policies.filter(|policy| {
        let answer = verdict.policies.get(&policy.name);
        matches!(answer, Some(Answer::Better | Answer::Worse))
            && !report.record.header.plan.is_sham(&policy.name)
    });
    let effects = decided.filter_map(|policy| judged(report, &policy.name)?.least_distance());
    effects.min_by(f64::total_cmp)
}
