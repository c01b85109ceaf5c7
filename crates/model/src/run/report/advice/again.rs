//! The command that measures again: without a tracer, or to go on where a signal ended it.

use super::super::answer::judged;
use super::super::interval::{Sign, interval};
use super::switched_off::left_on;
use super::workload::with_own_input;
use super::{Advice, COPIED, Report, given, given_within, program_name};
use crate::run::compare::labels::{effect_of_ratio, metric_of};
use crate::run::compare::{Answer, Change, Comparison};
use crate::run::findings::Context;
use crate::run::findings::rested_runs::RestedRun;
use crate::run::metric::MetricId;
use crate::run::plan::USUAL_TIME;
use crate::run::policy::realise::Reach;
use crate::run::policy::{Omission, Settings, Thp, rerun_without};
use crate::run::record::{COLD_REST, StopReason};
use crate::text::wrap::{plain, quoted};

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
    let Some(traced) = traced else {
        return Vec::new();
    };
    let metric = metric_of(report.record, &row.metric);
    // A cost that is not shown may come out below none, which is no size of a cost.
    let cost = match interval(&metric, &row, Sign::Kept).filter(|_| !is_shown(&row)) {
        Some(range) => format!(", somewhere from {range}"),
        None if is_shown(&row) => row
            .ratio
            .map_or_else(String::new, |it| format!(", {}", effect_of_ratio(it))),
        // Too few rounds.
        None => String::new(),
    };
    let lead =
        format!("The figures of thp=always include the cost of its tracer{cost}. Without tracer:");
    reached_by_system(report, &traced, lead)
}

/// The experiment with `--system` in place of a tracer or library, and with what leaves huge pages on in a program that switches
/// them off for itself once the machine has them on.
fn reached_by_system(report: &Report<'_>, traced: &Omission, lead: String) -> Vec<Advice> {
    let header = &report.record.header;
    let Some(command) = traced.command(&header.made_by) else {
        return Vec::new();
    };
    let always = Settings {
        thp: Some(Thp::Always),
        ..Settings::default()
    };
    let Some(policy) = left_on(&always, program_name(report.record)) else {
        return given(lead, command, &with_system(report, ""));
    };
    let in_words = with_system(
        report,
        &format!(" --policy {}", quoted(&policy.to_string())),
    );
    vec![Advice::Sentence(format!("{lead} {in_words}."))]
}

/// `run again with --system, as root`; `flags` stand behind `--system`.
pub(super) fn with_system(report: &Report<'_>, flags: &str) -> String {
    let by_whom = match report.record.header.host.user.uid {
        0 => "",
        _ => ", as root",
    };
    format!("run again with --system{flags}{by_whom}")
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

/// What to set for single runs where that is another thing, or what may be expected of them where none were measured, and the
/// command that decides.
pub(in super::super) fn at_rest(report: &Report<'_>, policy: &str, run: RestedRun) -> Vec<Advice> {
    let Some(known) = for_single_runs(report, run) else {
        return Vec::new();
    };
    let verb = match run {
        RestedRun::Longer(_) | RestedRun::Shorter(_) => return vec![Advice::Sentence(known)],
        RestedRun::Open(_) => "may decide it",
        RestedRun::Unmeasured(_) => "measure them",
    };
    let lead = |minutes: f64| format!("{known} About {minutes} more minutes {verb}:");
    let more = match run {
        RestedRun::Open(it) if it.runs >= ENOUGH_RUNS => None,
        _ => more_runs(report, policy, lead),
    };
    more.unwrap_or_else(|| measured_at_rest(report, policy, lead))
}

/// `For single runs (cron, a shell): as-is, until decided.` `None` where they gain too. What the touches of the warm runs
/// foretell in seconds is twice what is measured, so no figure is given.
pub(in super::super) fn for_single_runs(report: &Report<'_>, run: RestedRun) -> Option<String> {
    let baseline = plain(&report.table.verdict.baseline);
    let instead = match baseline.chars().count() > SHORT_NAME {
        true => "For single runs (cron, a shell): the baseline".to_owned(),
        false => format!("For single runs (cron, a shell): {baseline}"),
    };
    let rest = COLD_REST.as_secs();
    Some(match run {
        RestedRun::Shorter(_) => return None,
        RestedRun::Longer(_) => format!("{instead}."),
        RestedRun::Open(_) => format!("{instead}, until decided."),
        RestedRun::Unmeasured(Some(touches)) if touches.outweigh() => {
            let why = format!("new memory is slow here after {rest} s of rest");
            format!("{instead}. They were not measured, and {why}.")
        }
        RestedRun::Unmeasured(_) => {
            format!("Single runs (cron, a shell), after {rest} s of rest, were not measured.")
        }
    })
}

/// A longer name is in the table.
const SHORT_NAME: usize = 12;

/// Runs of each: where so many left it open, as many again hardly tell.
const ENOUGH_RUNS: u64 = 8;

/// That the experiment goes on, behind what it is for: runs after a rest follow its rounds. `None` where it has none.
fn more_runs(
    report: &Report<'_>,
    policy: &str,
    lead: impl Fn(f64) -> String,
) -> Option<Vec<Advice>> {
    let time = report.record.time_of_more_cold_trials(policy)?;
    let minutes = (time.max(USUAL_TIME).as_secs_f64() / 60.0).ceil();
    let command = Advice::Command(continued(report)?);
    Some(vec![Advice::Sentence(lead(minutes)), command])
}

/// The command by which an experiment goes on, of which a path cannot be left out, however long it is. `None` where it
/// does not.
pub(super) fn continued(report: &Report<'_>) -> Option<String> {
    let verb = report.record.header.made_by.get(1);
    let path = report.word().filter(|_| verb.is_some_and(|it| it == "run"));
    path.map(|path| format!("hugewise run --continue {}", quoted(path)))
}

/// The command that measures runs after a rest, behind what it is for.
fn measured_at_rest(
    report: &Report<'_>,
    policy: &str,
    lead: impl Fn(f64) -> String,
) -> Vec<Advice> {
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
        lead(minutes),
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
