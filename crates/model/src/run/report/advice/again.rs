//! The command that measures again: without a tracer, or to go on where a signal ended it.

use super::super::answer::judged;
use super::super::interval::{Sign, interval};
use super::workload::with_own_input;
use super::{Advice, COPIED, Report, given, given_within};
use crate::run::compare::labels::{effect_of_ratio, metric_of};
use crate::run::compare::{Answer, Change, Comparison};
use crate::run::findings::Context;
use crate::run::findings::rested_starts::RestedStart;
use crate::run::metric::MetricId;
use crate::run::plan::USUAL_TIME;
use crate::run::policy::realise::Reach;
use crate::run::policy::{Omission, Settings, rerun_without};
use crate::run::record::{COLD_REST, StopReason};
use crate::text::wrap::quoted;

/// That the times of thp=always hold the cost of its tracer or library, where that cost was shown or thp=always is
/// open, and the command that does without.
pub(super) fn without_tracer(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let mut policies = header.plan.policies.iter();
    let idle = policies.find(|it| it.is_idle_means());
    let row = idle.and_then(|idle| judged(report, &idle.name));
    let is_open = report.table.verdict.policies.get("thp=always") == Some(&Answer::NotDecided)
        && !report.changed_no_page("thp=always");
    let is_shown = |row: &Comparison| matches!(row.change, Change::Higher | Change::Lower);
    let Some(row) = row.filter(|row| is_open || is_shown(row)) else {
        return Vec::new();
    };
    let traced = Omission::of(vec!["thp=always".to_owned()], &header.host, Reach::Process);
    let Some(command) = traced.and_then(|it| it.command(&header.made_by)) else {
        return Vec::new();
    };
    let metric = metric_of(report.record, &row.metric);
    // A cost that is not shown may come out below none, which is no size of a cost.
    let cost = match interval(&metric, &row, Sign::Kept).filter(|_| !is_shown(&row)) {
        Some(range) => format!("whose cost is not decided (95 %: {range})"),
        None => format!(
            "which costs {}",
            row.ratio.map(effect_of_ratio).unwrap_or_default()
        ),
    };
    let lead = format!("thp=always works by a tracer here, {cost}. Without it:");
    given(lead, command, "run again with --system, as root")
}

/// The experiment with these policies in place of its own.
pub(super) fn with_policies<'a>(
    report: &Report<'_>,
    policies: impl IntoIterator<Item = &'a Settings>,
) -> Advice {
    let flags = policies.into_iter().map(|it| format!("--policy={it}"));
    let flags: Vec<String> = flags.collect();
    let words: Vec<&str> = flags.iter().map(String::as_str).collect();
    Advice::Command(rerun_without(
        &report.record.header.made_by,
        &POLICIES,
        &words,
    ))
}

/// The flags that choose policies.
const POLICIES: [&str; 3] = ["--policy", "--matrix", "--baseline"];

/// What may be expected of starts after a rest where none were measured, and the command that decides. What the touches of
/// the warm runs foretell in seconds is twice what is measured, so no figure is given.
pub(in super::super) fn at_rest(
    report: &Report<'_>,
    policy: &str,
    start: RestedStart,
) -> Vec<Advice> {
    let rest = format!("{} s of rest", COLD_REST.as_secs());
    let known = match start {
        RestedStart::Longer(_) | RestedStart::Shorter(_) => return Vec::new(),
        RestedStart::Open(_) => format!("To decide what a start takes after {rest}"),
        RestedStart::Unmeasured(Some(_)) => {
            format!(
                "After {rest} the first touches are slow here, and may cost the gain. To measure it"
            )
        }
        RestedStart::Unmeasured(None) => {
            format!("Starts after {rest} may gain less or more. To measure them")
        }
    };
    let more = match start {
        RestedStart::Open(it) if it.starts >= ENOUGH_STARTS => None,
        _ => more_starts(report, policy, &known),
    };
    more.unwrap_or_else(|| measured_at_rest(report, policy, &known))
}

/// Starts of each: where so many left it open, as many again hardly tell.
const ENOUGH_STARTS: u64 = 8;

/// That the experiment goes on, behind what it is for: starts after a rest follow its rounds. `None` where it has none.
fn more_starts(report: &Report<'_>, policy: &str, lead: &str) -> Option<Vec<Advice>> {
    let time = report.record.time_of_more_cold_trials(policy)?;
    let minutes = (time.max(USUAL_TIME).as_secs_f64() / 60.0).ceil();
    let command = Advice::Command(continued(report)?);
    Some(vec![
        Advice::Sentence(format!("{lead}, in about {minutes} minutes:")),
        command,
    ])
}

/// The command by which an experiment goes on, of which a path cannot be left out, however long it is. `None` where it
/// does not.
pub(super) fn continued(report: &Report<'_>) -> Option<String> {
    let verb = report.record.header.made_by.get(1);
    let path = report.word().filter(|_| verb.is_some_and(|it| it == "run"));
    path.map(|path| format!("hugewise run --continue {}", quoted(path)))
}

/// The command that measures starts after a rest, behind what it is for.
fn measured_at_rest(report: &Report<'_>, policy: &str, lead: &str) -> Vec<Advice> {
    let context = Context::new(report.record, &report.table);
    let wall = context.medians.get(policy, MetricId::WallSeconds);
    let trial = wall.unwrap_or(0.0) + COLD_REST.as_secs_f64();
    let minutes = (trial * ENOUGH_TRIALS / 60.0).ceil();
    let rest = format!("--host-memory=rest:{}s", COLD_REST.as_secs());
    let limit = format!("--max-time={minutes}m");
    let (left_out, flags) = match alone(report, policy) {
        Some(policy) => (&RESTED[..], vec![policy, rest, limit]),
        None => (&RESTED[..1], vec![rest, limit]),
    };
    let words: Vec<&str> = flags.iter().map(String::as_str).collect();
    let command = rerun_without(&report.record.header.made_by, left_out, &words);
    let command = with_own_input(report, command);
    given_within(
        COPIED,
        format!("{lead}, in {minutes} minutes:"),
        command,
        &format!("run again with {}", flags.join(" ")),
    )
}

/// What such a command has not of the one before: the first, and the policies where it is about one.
const RESTED: [&str; 3] = ["--host-memory", "--policy", "--matrix"];

/// Twenty rounds of the policy, the baseline and the control.
const ENOUGH_TRIALS: f64 = 60.0;

/// The flag that compares one policy with the machine as it is; `None` where something else is the baseline.
fn alone(report: &Report<'_>, policy: &str) -> Option<String> {
    let plan = &report.record.header.plan;
    let policy = plan.policies.iter().find(|it| it.name == policy)?;
    let is_usual = plan.policies[plan.baseline_index()].settings == Settings::default();
    is_usual.then(|| format!("--policy={}", policy.settings))
}

/// How an experiment that was interrupted goes on.
pub(super) fn after_interruption(report: &Report<'_>) -> Vec<Advice> {
    let end = report.record.end.as_ref();
    let is_cut = end.is_some_and(|end| end.reason == StopReason::Interrupted);
    match continued(report).filter(|_| is_cut) {
        Some(command) => vec![
            Advice::Sentence("To go on:".to_owned()),
            Advice::Command(command),
        ],
        None => Vec::new(),
    }
}
