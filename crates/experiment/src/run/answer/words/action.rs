//! Words for the actions: the settings to choose, and the commands to run next.

use super::{base, change, interval, list};
use crate::run::answer::{
    Answer, Choice, ChoiceScope, Command, ManualStep, Mechanism, Next, NextStep, PageReach,
};
use crate::run::compare::Preference;

/// Returns the line for a choice without commands and steps.
pub(in crate::run::answer) fn nothing_to_do(answer: &Answer) -> String {
    match &answer.choice {
        None => "Do: nothing.".to_owned(),
        Some(choice) if choice.arm.is_none() => format!("Do: nothing yet. {}", stays(answer)),
        Some(choice) if choice.mechanism == Mechanism::Nothing => {
            format!("Do: nothing. {}", stays(answer))
        }
        Some(choice) => {
            let arm = choice.arm.as_deref().unwrap_or_default();
            format!("Do{}: use {arm}.", condition(choice))
        }
    }
}

/// Returns the sentence about the state to keep: the baseline, if it is the present setting.
fn stays(answer: &Answer) -> String {
    let base = base(answer);
    let arm = answer.arm(&answer.judged.baseline);
    match arm.is_none_or(|arm| arm.mechanism == Mechanism::Nothing) {
        true => format!("{base} stays."),
        false => format!("Settings stay as they are; {base} applied only in trials."),
    }
}

/// The first word of the commands.
pub(in crate::run::answer) const DO: &str = "Do";
/// The first words of commands that others precede.
pub(in crate::run::answer) const DO_ALSO: &str = "Do also";

/// Returns the heading of commands that set the chosen policy for the program.
pub(in crate::run::answer) fn set_for_program(answer: &Answer, choice: &Choice) -> String {
    let (condition, mechanism) = (condition(choice), mechanism(choice.mechanism));
    let arm = choice.arm.as_deref().and_then(|arm| answer.arm(arm));
    let needs_mode = arm.is_some_and(|arm| arm.mode != "never")
        && choice.commands.iter().all(|it| !it.machine_wide);
    let mode = super::machine_mode(answer).filter(|mode| needs_mode && *mode != "never");
    let mode = mode.map_or_else(String::new, |mode| format!("; THP stays {mode}"));
    format!("{condition}: {mechanism}{mode}")
}

/// Returns the heading of commands that change the machine.
pub(in crate::run::answer) fn set_for_machine(choice: &Choice) -> String {
    let is_root = |it: &Command| it.machine_wide && it.as_root;
    let root = match choice.commands.iter().any(is_root) {
        true => "as root, ",
        false => "",
    };
    let condition = condition(choice);
    format!("{condition}: machine-wide ({root}until reboot; to keep: hugewise advise --write)")
}

fn condition(choice: &Choice) -> &'static str {
    match choice.scope {
        ChoiceScope::AnyRun => "",
        ChoiceScope::BackToBack(_) => " (only if runs follow each other)",
    }
}

/// Returns the way a policy is set.
pub(in crate::run::answer) fn mechanism(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Nothing => "sets nothing",
        Mechanism::Program | Mechanism::Machine => "set for this program",
        Mechanism::Preload => "preload a library into this program",
        Mechanism::Tracer => "run this program under a tracer",
        Mechanism::Switch => "make its memory huge, now and at the next start",
        Mechanism::Start => {
            "start it with these pages; compare the ways, with the cost of start-up"
        }
    }
}

/// Returns the part of the system that a policy changes.
pub(in crate::run::answer) fn changes(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Nothing => "changes nothing",
        Mechanism::Program => "changes this program",
        Mechanism::Preload => "preloads a library",
        Mechanism::Tracer => "uses a tracer",
        Mechanism::Switch => "switches memory in use",
        Mechanism::Start => "changes the start of the program",
        Mechanism::Machine => "changes the machine",
    }
}

/// Returns a step without a command.
pub(in crate::run::answer) fn step(step: &ManualStep) -> String {
    match step {
        ManualStep::Call(call) => format!("the parent process calls {call}"),
        ManualStep::CgroupLimits(limits) => format!("set in its cgroup: {}", limits.join(" ")),
        ManualStep::Prefix(prefix) => format!("start it with {prefix}"),
        ManualStep::Mount(line) => format!("for all programs, as root: {line}"),
        ManualStep::Arguments(words) => format!("add to its arguments: {words}"),
    }
}

/// Returns the comparison of the chosen policy with its equals.
pub(in crate::run::answer) fn chosen(answer: &Answer, choice: &Choice) -> Option<String> {
    let arm = choice.arm.as_ref()?;
    let ties: Vec<String> = choice
        .ties
        .iter()
        .map(|tie| {
            let claim = answer.claim(tie.claim);
            match (change(answer, claim), interval(answer, claim)) {
                (Some(change), Some(ends)) => format!("{} ({change} {ends})", tie.arm),
                (None, Some(ends)) => format!("{} {ends}", tie.arm),
                _ => format!("{} (too few common rounds)", tie.arm),
            }
        })
        .collect();
    let reason = choice.preference.map(preference);
    let reason = reason.map_or_else(String::new, |reason| format!("; {reason}"));
    match ties.is_empty() {
        true => None,
        false => Some(format!(
            "{arm} over {}: not shown to differ{reason}",
            list(&ties)
        )),
    }
}

/// Returns the reason for one of several equals.
fn preference(preference: Preference) -> &'static str {
    match preference {
        Preference::ChangesNothing => "sets nothing",
        Preference::ChangesProgramAlone => "needs no system setting",
        Preference::NeedsNoTracing => "needs no tracer",
        Preference::LessMemory => "needs less memory",
        Preference::FirstInPlan => "comes first in the plan",
    }
}

/// Returns the purpose of a next step, and the number of others; empty when its command shows it.
pub(in crate::run::answer) fn next(answer: &Answer, next: &Next, others: usize) -> String {
    let time = next.minutes.map(|minutes| format!("about {minutes} min"));
    let is_root = next.command.as_ref().is_some_and(|command| command.as_root);
    let root = is_root.then(|| "as root".to_owned());
    let lead: Vec<String> = time.into_iter().chain(root).collect();
    let lead = lead.join(", ");
    let purpose = purpose(answer, &next.step);
    let parts = [lead, purpose].into_iter().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join(": ");
    let text = match others {
        0 => text,
        others => super::with_more(&text, others),
    };
    match (&next.command, text.is_empty()) {
        (Some(_), false) => format!("{text}:"),
        _ => text,
    }
}

fn purpose(answer: &Answer, step: &NextStep) -> String {
    match step {
        NextStep::Decide { claim } => {
            let claim = answer.claim(*claim);
            let arm = &claim.contrast.arm;
            let near = change(answer, claim).unwrap_or_default();
            format!("decides {arm}, if the effect stays near {near}")
        }
        NextStep::TooLong { claim } => {
            let arm = &answer.claim(*claim).contrast.arm;
            format!("too long to decide {arm} here; a quieter machine needs less")
        }
        NextStep::MoreStarts { claim, starts } => {
            let arm = &answer.claim(*claim).contrast.arm;
            format!(
                "about {starts} starts in total show whether {arm} holds beyond these processes"
            )
        }
        NextStep::AfterIdle { arm } => {
            format!("measure {arm} after idle too, to see whom it helps")
        }
        NextStep::Continue => "continue the experiment that a signal ended".to_owned(),
        NextStep::TryPolicies {
            policies,
            impossible: true,
        } => {
            format!("{} cannot be set here", list(policies))
        }
        NextStep::TryPolicies {
            policies,
            impossible: false,
        } => {
            format!("try {}, too", list(policies))
        }
        NextStep::TryPolicy { policy, because } => format!("try {policy}: {}", reach(*because)),
        NextStep::WithoutMechanism { arm } => {
            format!("measure {arm} without its tracer or library")
        }
        NextStep::PagesAlone { arm } => {
            format!("compare {arm} with the same malloc and small pages")
        }
        NextStep::OtherMemory { idle_seconds: 0 } => "measure back-to-back runs alone".to_owned(),
        NextStep::OtherMemory { idle_seconds } => {
            format!("measure only runs after {idle_seconds} s of idle")
        }
        NextStep::JudgeTypical => {
            "judge by the usual run, if rare slow runs do not matter".to_owned()
        }
        NextStep::Verbose => String::new(),
    }
}

/// Returns the reason why a policy may change pages that no other one changed.
fn reach(reach: PageReach) -> &'static str {
    match reach {
        PageReach::SmallPages => "all had the same huge pages; small pages are the contrast",
        PageReach::Collapse => "it makes memory huge while the program runs",
        PageReach::System => "the machine's setting reaches all memory",
        PageReach::Allocator => "the allocator can ask for huge pages",
        PageReach::OwnSetting => "the program has its own setting",
        PageReach::LeavesOn => "the program switches huge pages off; this leaves them on",
    }
}
