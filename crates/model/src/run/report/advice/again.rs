//! The command that measures again: without a tracer, or to go on where a signal ended it.

use super::super::answer::judged;
use super::workload::with_own_input;
use super::{Advice, Report, given, given_within};
use crate::base::units::Unit;
use crate::run::compare::Change;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::compare::medians::arm_trials;
use crate::run::findings::host_cold_memory::{RestedStart, Touches};
use crate::run::metric::MetricId;
use crate::run::policy::realise::Reach;
use crate::run::policy::{Omission, Settings, rerun_without};
use crate::run::record::{COLD_REST, StopReason};
use crate::text::number::quantity;
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
    given(lead, command, "run again with --system, as root")
}

/// What starts after a rest take, and where that is not known the command that tells.
pub(in super::super) fn at_rest(
    report: &Report<'_>,
    policy: &str,
    start: RestedStart,
) -> Vec<Advice> {
    let known = match start {
        RestedStart::Longer(_) => return Vec::new(),
        RestedStart::Shorter(less) => {
            let sentence = format!("After seconds of rest a start takes {}.", less.text());
            return vec![Advice::Sentence(sentence)];
        }
        RestedStart::Open(it) => format!(
            "After seconds of rest a start takes {}: not decided. To decide it",
            it.text()
        ),
        RestedStart::Unmeasured(Some(touches)) => expected(touches),
        RestedStart::Unmeasured(None) => {
            "Starts after seconds of rest may gain less. To measure them".to_owned()
        }
    };
    measured_at_rest(report, policy, &known)
}

fn expected(touches: Touches) -> String {
    let [longer, saved] = [touches.longer, touches.saved].map(|it| quantity(&Unit::Seconds, it));
    let lead = format!("After seconds of rest the huge pages take about {longer} more to touch");
    match touches.outweigh() {
        true => format!("{lead}, and save {saved}: probably slower then. To measure it"),
        false => format!("{lead}. To measure it"),
    }
}

/// The command that measures starts after a rest, behind what it is for.
fn measured_at_rest(report: &Report<'_>, policy: &str, lead: &str) -> Vec<Advice> {
    let trial = mean_wall(report, policy) + COLD_REST.as_secs_f64();
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

/// A command is copied even where it takes more than a line of 80 columns, but not two lines.
const COPIED: usize = 120;

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

fn mean_wall(report: &Report<'_>, policy: &str) -> f64 {
    let walls = arm_trials(report.record, policy);
    let walls: Vec<f64> = walls
        .filter_map(|trial| trial.value(MetricId::WallSeconds))
        .collect();
    walls.iter().sum::<f64>() / walls.len().max(1) as f64
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
