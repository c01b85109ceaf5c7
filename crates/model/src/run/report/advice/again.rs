//! The command that measures again: without a tracer, or to go on where a signal ended it.

use super::super::answer::judged;
use super::{Advice, Report, given};
use crate::run::compare::Change;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::policy::realise::Reach;
use crate::run::policy::{Omission, rerun};
use crate::run::record::StopReason;
use crate::text::wrap::quoted;

/// That the times of thp=always hold the cost of its tracer or library, where that cost was shown, and
/// the command that does without.
pub(super) fn without_tracer(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let mut policies = header.plan.policies.iter();
    let idle = policies.find(|it| it.is_idle_means());
    let row = idle.and_then(|idle| judged(report, &idle.name));
    let Some(row) = row.filter(|row| matches!(row.change, Change::Higher | Change::Lower)) else {
        return Vec::new();
    };
    let traced = Omission::of(vec!["thp=always".to_owned()], &header.host, Reach::Process);
    let Some(command) = traced.and_then(|it| it.command(&header.made_by)) else {
        return Vec::new();
    };
    let cost = row.ratio.map(effect_of_ratio).unwrap_or_default();
    let lead = format!("thp=always works by a tracer here, which costs {cost}. Without it:");
    given(lead, command, "run again as root, with --system")
}

/// The command for starts that come after a rest, which have not the gain of warm memory.
pub(in super::super) fn at_rest(report: &Report<'_>) -> Vec<Advice> {
    let lead = "For starts after a rest, measure those:";
    let rest = "--host-memory=rest:3s";
    let command = rerun(&report.record.header.made_by, &[rest]);
    given(lead.to_owned(), command, &format!("run again with {rest}"))
}

/// How an experiment that was interrupted goes on.
pub(super) fn after_interruption(report: &Report<'_>) -> Vec<Advice> {
    let end = report.record.end.as_ref();
    let verb = report.record.header.made_by.get(1);
    let is_cut = verb.is_some_and(|verb| verb == "run")
        && end.is_some_and(|end| end.reason == StopReason::Interrupted);
    match report.word().filter(|_| is_cut) {
        Some(path) => vec![
            Advice::Sentence("To go on:".to_owned()),
            Advice::Command(format!("hugewise run --continue {}", quoted(path))),
        ],
        None => Vec::new(),
    }
}
