//! The command that tries a policy on a program which keeps huge pages from its own memory, where a setting of the program
//! leaves them on.

use super::{Advice, Report};
use crate::run::compare::medians::arm_trials;
use crate::run::plan::arguments::in_line;
use crate::run::policy::{Policy, Settings, rerun_without};
use crate::run::trial::remedy;
use crate::text::wrap::{plain, quoted_words};

/// Nothing where each policy reached the program, and where nothing is known that the program could be told.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let mut policies = header.plan.policies.iter();
    let Some((program, told)) = policies.find_map(|policy| told(report, policy)) else {
        return Vec::new();
    };
    let is_placed = |line: &String| in_line(line, &told.args).is_ok();
    if header.plan.shell && !header.plan.command.iter().all(is_placed) {
        return Vec::new();
    }
    let flag = format!("--policy={told}");
    let command = rerun_without(
        &header.made_by,
        &["--policy", "--matrix", "--baseline"],
        &[&flag],
    );
    vec![
        Advice::Sentence(format!(
            "To try {} with {}:",
            plain(&program),
            quoted_words(&told.args)
        )),
        Advice::Command(command),
    ]
}

/// The program that switched the huge pages of a policy off, and the policy with what leaves them on.
fn told(report: &Report<'_>, policy: &Policy) -> Option<(String, Settings)> {
    report.table.verdict.reasons.get(&policy.name)?;
    let mut acts = arm_trials(report.record, &policy.name).filter_map(|it| it.read_back.own_act());
    let program = acts.next()?.process().name.clone();
    let arguments = remedy(&program)?.split(' ').map(str::to_owned);
    let settings = Settings {
        args: arguments.collect(),
        ..policy.settings.clone()
    };
    policy
        .settings
        .args
        .is_empty()
        .then_some((program, settings))
}
