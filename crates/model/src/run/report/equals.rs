//! Policies that are as good as the best one, and why it is preferred to them.

use super::Report;
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Preference, Rival, Scale};
use crate::text::number::{Scaler, percent_change};
use crate::text::wrap::plain;

/// A difference beyond this share, up or down, is more than about equal.
const CLOSE: f64 = 0.1;

/// `thp=always and malloc=thp are about equally good (95 %: −2.1 to +3.0 %); malloc=thp is per
/// process.` `None` where the best one was shown to be the best.
pub(super) fn sentence(report: &Report<'_>) -> Option<String> {
    let verdict = &report.table.verdict;
    let best = plain(verdict.best.as_deref()?);
    let first = verdict.equals.first()?;
    let names = verdict.equals.iter().map(|rival| plain(&rival.policy));
    let names: Vec<String> = names.collect();
    let all = format!("{} and {best}", names.join(", "));
    let interval = interval(report, first).filter(|_| names.len() == 1);
    let equal = match interval {
        Some(interval) if is_close(first) => {
            format!("{all} are about equally good (95 %: {interval})")
        }
        Some(interval) => format!("{all} were not shown to differ (95 %: {interval})"),
        None => format!("{all} were not shown to differ"),
    };
    let why = match verdict.preference {
        Some(Preference::ChangesNothing) => "changes nothing",
        Some(Preference::ChangesProgramAlone) => "is per process",
        Some(Preference::NeedsNoTracing) => "needs no tracing",
        Some(Preference::LessMemory) => "needs less memory",
        Some(Preference::FirstInPlan) | None => return Some(format!("{equal}; either will do.")),
    };
    Some(format!("{equal}; {best} {why}."))
}

fn is_close(rival: &Rival) -> bool {
    let ends = rival.low.zip(rival.high);
    let ends = ends.filter(|_| rival.scale == Scale::Ratio);
    ends.is_some_and(|(low, high)| low >= 1.0 / (1.0 + CLOSE) && high <= 1.0 + CLOSE)
}

fn interval(report: &Report<'_>, rival: &Rival) -> Option<String> {
    let (low, high) = (rival.low?, rival.high?);
    Some(match rival.scale {
        Scale::Ratio => format!(
            "{} to {} %",
            percent_change(low - 1.0),
            percent_change(high - 1.0)
        ),
        Scale::Difference => {
            let metric = metric_of(report.record, &report.table.verdict.metric);
            let scaler = Scaler::for_row(&metric.unit, &[low, high]);
            format!(
                "{} to {}",
                scaler.show_change(low),
                scaler.show_change(high)
            )
        }
    })
}
