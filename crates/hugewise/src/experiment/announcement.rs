//! Warnings about policies before they are tried.

use hugewise_experiment::run::policy::warnings;
use hugewise_experiment::run::record::Header;

use super::{file_cache, own_mount};
use crate::output::Output;
use crate::stderr::message;

/// Warns about policies before anything runs.
pub(super) fn announce(header: &Header, output: &Output) {
    if output.quiet {
        return;
    }
    let plan = &header.plan;
    // A policy that is doubtful under one program is doubtful under all.
    let policies = plan.policies.iter();
    let policies = policies.filter(|arm| plan.program_of(&arm.name) == plan.programs.first());
    for policy in policies {
        let doubts = warnings(policy, &header.host).into_iter();
        for doubt in doubts
            .chain(own_mount::doubt(policy))
            .chain(file_cache::doubt(policy))
        {
            message(format_args!("{}: {doubt}", plan.policy_of(&policy.name)));
        }
    }
}
