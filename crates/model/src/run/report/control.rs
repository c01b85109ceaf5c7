//! The control: whether the baseline, run twice in each round, agrees with itself.

use serde::Serialize;
use strum::Display;

use super::Report;
use super::answer::{Sign, interval, judged};
use crate::run::compare::labels::{effect_of, metric_of};
use crate::run::compare::{Answer, Comparison, Scale};
use crate::text::document::Level;
use crate::text::number::{percent, percent_change};
use crate::text::wrap::plain;

/// What the control shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlOutcome {
    /// The baseline differs from itself by less than the effect that is reported, or than the
    /// threshold where none is.
    #[strum(serialize = "passed")]
    Passed,
    /// Its interval is too wide to say so, or too few rounds gave none.
    #[strum(serialize = "inconclusive")]
    TooWide,
    /// It differs from itself by more than the threshold: so much is chance here.
    #[strum(serialize = "failed")]
    Failed,
}

/// What the control shows; `None` where none was run.
#[must_use]
pub fn outcome(report: &Report<'_>) -> Option<ControlOutcome> {
    let control = &report.table.control.as_ref()?.comparison;
    let Some((low, high)) = around_zero(control) else {
        return Some(ControlOutcome::TooWide);
    };
    let threshold = threshold(report, control);
    let limit = limit(report, control);
    Some(if low > threshold || high < -threshold {
        ControlOutcome::Failed
    } else if -limit <= low && high <= limit {
        ControlOutcome::Passed
    } else {
        ControlOutcome::TooWide
    })
}

/// `control passed (−0.4 to +0.6 %)`, `control inconclusive (±41.0 %)`. The latter takes nothing from an
/// answer, whose interval has the same noise in it; it only adds nothing. One whose interval excludes 0 is met by chance in
/// one of twenty experiments; a fault of the machine that ruins the answer looks the same.
pub(super) fn brief(report: &Report<'_>) -> Option<String> {
    let outcome = outcome(report)?;
    let control = &report.table.control.as_ref()?.comparison;
    let metric = metric_of(report.record, &control.metric);
    let figure = interval(&metric, control, Sign::Kept);
    let figure = figure.filter(|_| control.scale == Scale::Ratio);
    let figure = figure.map_or_else(String::new, |interval| format!(" ({interval})"));
    Some(match outcome {
        ControlOutcome::TooWide if excludes_zero(control) => {
            format!("control inconclusive{figure}: it excludes 0, so measure again")
        }
        ControlOutcome::TooWide => format!("control {outcome}{}", half_width(control)),
        _ => format!("control {outcome}{figure}"),
    })
}

/// `as-is against itself +0.1 % (95 %: −0.4 to +0.6 %), limits −1.0 and +1.0 %: passed`.
fn line(report: &Report<'_>) -> Option<String> {
    let outcome = outcome(report)?;
    let control = &report.table.control.as_ref()?.comparison;
    let metric = metric_of(report.record, &control.metric);
    let baseline = plain(&control.baseline);
    let figures = interval(&metric, control, Sign::Kept).map(|interval| {
        let effect = effect_of(report.record, control);
        format!(" {effect} (95 %: {interval})")
    });
    let figures = figures.unwrap_or_default();
    let limit = match control.scale {
        Scale::Ratio => {
            let limit = limit(report, control);
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

/// How far its interval reaches to either side, where it is one of ratios.
fn half_width(control: &Comparison) -> String {
    let ends = control.low.zip(control.high);
    let ends = ends.filter(|_| control.scale == Scale::Ratio);
    ends.map_or_else(String::new, |(low, high)| {
        format!(" (±{} %)", percent((high - low) / 2.0))
    })
}

fn excludes_zero(control: &Comparison) -> bool {
    around_zero(control).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
}

fn around_zero(row: &Comparison) -> Option<(f64, f64)> {
    let (low, high) = row.low.zip(row.high)?;
    Some(match row.scale {
        Scale::Ratio => (low.ln(), high.ln()),
        Scale::Difference => (low, high),
    })
}

/// What the control's interval must lie within: the smallest effect that is reported, or the
/// threshold where that is larger.
fn limit(report: &Report<'_>, control: &Comparison) -> f64 {
    let smallest = smallest_effect(report).unwrap_or(0.0);
    threshold(report, control).max(smallest)
}

fn threshold(report: &Report<'_>, control: &Comparison) -> f64 {
    let threshold = report.table.verdict.threshold;
    match control.scale {
        Scale::Ratio => threshold.ln_1p(),
        Scale::Difference => threshold * control.baseline_value.unwrap_or(0.0).abs(),
    }
}

/// The smallest effect that is reported as better or worse.
fn smallest_effect(report: &Report<'_>) -> Option<f64> {
    let verdict = &report.table.verdict;
    let decided = verdict.policies.iter();
    let decided = decided.filter(|(_, answer)| matches!(answer, Answer::Better | Answer::Worse));
    let effects = decided.filter_map(|(policy, _)| judged(report, policy)?.distance());
    effects.min_by(f64::total_cmp)
}
