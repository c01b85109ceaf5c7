//! What is said of policies before they are tried.

use hugewise_model::run::policy::{advice_by_chance, warnings};
use hugewise_model::run::record::Header;

use crate::options::Options;
use crate::output::Output;
use crate::stderr::message;

/// Warns about policies before anything runs.
pub(super) fn announce(header: &Header, options: &Options, output: &Output) {
    if output.quiet {
        return;
    }
    let plan = &header.plan;
    // What is doubtful under one program is doubtful under all.
    let policies = || {
        let arms = plan.policies.iter();
        arms.filter(|arm| plan.program_of(&arm.name) == plan.programs.first())
    };
    for policy in policies() {
        for doubt in warnings(policy, &header.host) {
            message(format_args!("{}: {doubt}", plan.policy_of(&policy.name)));
        }
    }
    if !options.names_policies() {
        return;
    }
    // `doctor` says it of the policies that nobody named.
    for policy in policies() {
        if let Some(doubt) = advice_by_chance(policy, &header.host) {
            message(format_args!("{}: {doubt}", plan.policy_of(&policy.name)));
        }
    }
}
