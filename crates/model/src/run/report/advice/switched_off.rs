//! The command that tries a policy on a program which keeps huge pages from its own memory, where a setting of the program
//! leaves them on.

use super::again::with_policies;
use super::pages_alone::minutes;
use super::workload::places;
use super::{Advice, Report};
use crate::run::compare::medians::arm_trials;
use crate::run::policy::{Policy, Settings};
use crate::run::trial::remedy;
use crate::text::wrap::{plain, quoted_words};

/// Nothing where each policy reached the program, and where nothing is known that the program could be told.
pub(super) fn advice(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let mut policies = header.plan.policies.iter();
    let Some((program, told)) = policies.find_map(|policy| told(report, policy)) else {
        return Vec::new();
    };
    if !places(header, &told.args) {
        return Vec::new();
    }
    let (program, arguments) = (plain(&program), quoted_words(&told.args));
    vec![
        Advice::Sentence(format!(
            "To try {program} with {arguments}, in about {} minutes:",
            minutes(report, 2)
        )),
        with_policies(report, [&told]),
    ]
}

/// The program that switched the huge pages of a policy off, and the policy with what leaves them on.
fn told(report: &Report<'_>, policy: &Policy) -> Option<(String, Settings)> {
    report.table.verdict.reasons.get(&policy.name)?;
    let mut acts = arm_trials(report.record, &policy.name).filter_map(|it| it.read_back.own_act());
    let program = acts.next()?.process().name.clone();
    let settings = left_on(&policy.settings, &program)?;
    let is_without = policy.settings.args.is_empty();
    is_without.then_some((program, settings))
}

/// The settings with the arguments that leave huge pages on in a program that switches them off for itself, where they are
/// known.
pub(super) fn left_on(settings: &Settings, program: &str) -> Option<Settings> {
    let arguments = remedy(program)?.split(' ').map(str::to_owned);
    Some(Settings {
        args: arguments.collect(),
        ..settings.clone()
    })
}
