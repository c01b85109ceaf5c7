//! Policies that are as good as the best one, and why it is preferred to them.

use super::Report;
use crate::run::compare::{Preference, Rival, Scale};
use crate::text::wrap::plain;

/// A difference beyond this share, up or down, is more than about equal.
const CLOSE: f64 = 0.1;

/// `thp=always and malloc=thp are about equally good; malloc=thp is per process.` `None` where the best one was shown to be the best.
pub(super) fn sentence(report: &Report<'_>) -> Option<String> {
    let verdict = &report.table.verdict;
    let best = plain(verdict.best.as_deref()?);
    let first = verdict.equals.first()?;
    let names = verdict.equals.iter().map(|rival| plain(&rival.policy));
    let names: Vec<String> = names.collect();
    let all = format!("{} and {best}", names.join(", "));
    let equal = match is_close(first) && names.len() == 1 {
        true => format!("{all} are about equally good"),
        false => format!("{all} were not shown to differ"),
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
