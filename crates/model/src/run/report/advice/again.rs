//! The command that measures again: without a tracer, or to go on where a signal ended it.

use super::{Advice, Report, given};
use crate::run::compare::Change;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::policy::rerun;
use crate::run::record::StopReason;
use crate::text::wrap::quoted;

/// That the times of a policy hold what its tracer costs, where that was found to be much, and how to
/// do without.
pub(super) fn without_tracer(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let metric = &report.table.verdict.metric;
    let policies = &header.plan.policies;
    let idle = policies.iter().find(|it| it.is_idle_means());
    let row = idle.and_then(|idle| {
        let mut rows = report.table.comparisons.iter();
        rows.find(|row| row.policy == idle.name && row.metric == *metric)
    });
    let Some(row) = row.filter(|row| matches!(row.change, Change::Higher | Change::Lower)) else {
        return Vec::new();
    };
    let cost = row.ratio.map(effect_of_ratio).unwrap_or_default();
    let lead = format!(
        "The times of thp=always hold the cost of the tracer ({}: {cost}). Without it:",
        row.policy
    );
    let root = if header.host.user.can_write_thp {
        ""
    } else {
        "sudo "
    };
    let command = format!("{root}{}", rerun(&header.made_by, &["--system"]));
    given(lead, command, "run again as root, with --system")
}

/// How an experiment that was interrupted goes on.
pub(super) fn after_interruption(report: &Report<'_>) -> Vec<Advice> {
    let end = report.record.end.as_ref();
    let verb = report.record.header.made_by.get(1);
    let is_cut = verb.is_some_and(|verb| verb == "run")
        && end.is_some_and(|end| end.reason == StopReason::Interrupted);
    match report.record_path.as_deref().filter(|_| is_cut) {
        Some(path) => vec![
            Advice::Sentence("To go on:".to_owned()),
            Advice::Command(format!("hugewise run --continue {}", quoted(path))),
        ],
        None => Vec::new(),
    }
}
