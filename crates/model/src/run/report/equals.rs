//! Policies that are as good as the best one, and why it is preferred to them.

use super::Report;
use super::answer::judged;
use crate::run::compare::labels::metric_of;
use crate::run::compare::{Preference, Rival, Scale};
use crate::run::metric::Better;
use crate::text::ends::percent_ends;
use crate::text::wrap::plain;

/// A difference beyond this share, up or down, is more than about equal.
const CLOSE: f64 = 0.1;

/// `malloc=thp, not thp=always: it is per process, and no difference was shown.` `None` where the best one was shown to be
/// the best.
pub(super) fn sentence(report: &Report<'_>) -> Option<String> {
    let verdict = &report.table.verdict;
    let best = plain(verdict.best.as_deref()?);
    let shown = shown(report, &best, verdict.equals.first()?);
    let names = verdict.equals.iter().map(|rival| plain(&rival.policy));
    let names = names.collect::<Vec<_>>().join(" or ");
    let why = match verdict.preference {
        Some(Preference::ChangesNothing) => "changes nothing",
        Some(Preference::ChangesProgramAlone) => "is per process",
        Some(Preference::NeedsNoTracing) => "needs no tracing",
        Some(Preference::LessMemory) => "needs less memory",
        Some(Preference::FirstInPlan) | None => {
            return Some(format!("{best} or {names}: {shown}; either will do."));
        }
    };
    Some(format!("{best}, not {names}: it {why}, and {shown}."))
}

/// How the best policy compares with its rivals, of which this is the first. How far they may be apart is told where the
/// rival's own estimate looks better: a reader asks why it is not the one.
fn shown(report: &Report<'_>, best: &str, rival: &Rival) -> String {
    let is_one = report.table.verdict.equals.len() == 1;
    if is_one && is_close(rival) {
        return "the two are about equally good".to_owned();
    }
    let is_asked = is_one && looks_better(report, rival);
    let ends = if is_asked {
        apart(best, rival)
    } else {
        String::new()
    };
    format!("no difference was shown{ends}")
}

/// An estimate that is better by this share than that of the best looks better.
const MARGIN: f64 = 0.05;

fn looks_better(report: &Report<'_>, rival: &Rival) -> bool {
    let ratio = |policy: &str| judged(report, policy)?.ratio;
    let best = report.table.verdict.best.as_deref().and_then(ratio);
    let metric = metric_of(report.record, &report.table.verdict.metric);
    let gain = |(best, rival): (f64, f64)| match metric.better {
        Better::Higher => rival / best,
        Better::Lower | Better::Neither => best / rival,
    };
    best.zip(ratio(&rival.policy))
        .is_some_and(|both| gain(both) > 1.0 + MARGIN)
}

/// ` (malloc=thp against thp=always: −5 to +20 %)`.
fn apart(best: &str, rival: &Rival) -> String {
    let ends = rival.low.zip(rival.high);
    let ends = ends.filter(|_| rival.scale == Scale::Ratio);
    ends.map_or_else(String::new, |(low, high)| {
        let [low, high] = percent_ends(low - 1.0, high - 1.0);
        format!(
            " ({best} against {}: {low} to {high} %)",
            plain(&rival.policy)
        )
    })
}

fn is_close(rival: &Rival) -> bool {
    let ends = rival.low.zip(rival.high);
    let ends = ends.filter(|_| rival.scale == Scale::Ratio);
    ends.is_some_and(|(low, high)| low >= 1.0 / (1.0 + CLOSE) && high <= 1.0 + CLOSE)
}
