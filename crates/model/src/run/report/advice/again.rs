//! The command that measures again: without a tracer, or to go on where a signal ended it.

use super::super::answer::judged;
use super::workload::with_own_input;
use super::{Advice, Report, given};
use crate::base::units::Unit;
use crate::run::compare::Change;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::policy::realise::Reach;
use crate::run::policy::{Omission, rerun};
use crate::run::record::StopReason;
use crate::text::number::quantity;
use crate::text::wrap::{plain, quoted};

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
    given(lead, command, "run again with --system, as root")
}

/// The command for starts that come after a rest, which have not the gain of warm memory, with what the few
/// starts took that were tried.
pub(in super::super) fn at_rest(report: &Report<'_>, policy: &str) -> Vec<Advice> {
    let baseline = &report.table.verdict.baseline;
    let took = [policy, baseline].map(|name| rested(report, name));
    let lead = match took {
        [Some(here), Some(there)] => format!(
            "Starts after seconds of rest took {here} with {}, {there} with {}. To measure such starts:",
            plain(policy),
            plain(baseline)
        ),
        _ => "The host takes free memory back, so starts after seconds of rest may gain less. To measure \
              such starts:"
            .to_owned(),
    };
    let rest = "--host-memory=rest:3s";
    let command = with_own_input(report, rerun(&report.record.header.made_by, &[rest]));
    given(lead, command, &format!("run again with {rest}"))
}

/// `377 ms to 1.16 s`, of the starts of a policy after a rest.
fn rested(report: &Report<'_>, policy: &str) -> Option<String> {
    let mut walls = report.record.rested_walls(policy);
    walls.sort_by(f64::total_cmp);
    let ends = [*walls.first()?, *walls.last()?];
    let [low, high] = ends.map(|seconds| quantity(&Unit::Seconds, seconds));
    Some(if low == high {
        low
    } else {
        format!("{low} to {high}")
    })
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
