//! What the rules know of a program: its own settings, among the usual policies and beside a report whose
//! policies did not reach its pages, and who keeps huge pages from it.

use std::path::Path;

use hugewise_advise::fact::Facts;
use hugewise_advise::knowledge::Knowledge;
use hugewise_experiment::run::plan::arguments::{has_place, holds};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::report::Report;

/// The policy of the arguments by which the program of a command may run faster, where it has them not
/// yet; the file is what is executed, or a link to it. Where a command has a place for arguments, the
/// user says which.
pub fn arguments(file: &Path, command: &[String]) -> Option<Policy> {
    let target = std::fs::canonicalize(file).ok()?;
    let names = [file, &target].map(|path| path.file_name().unwrap_or_default());
    let known = names.into_iter().filter_map(|name| name.to_str());
    let knowledge = Knowledge::of_executables(&known.collect::<Vec<_>>()).ok()?;
    let mut facts = Facts::default();
    facts.set("argv", command.join(" "));
    let policy = knowledge.own_arguments(&facts)?;
    let is_there = holds(command, &policy.settings.args) || has_place(command);
    (!is_there).then_some(policy)
}

/// The report with what is known of the program: who makes it and keeps huge pages from it, and its own setting, where no
/// policy could be tried.
pub fn beside_knowledge(report: Report<'_>) -> Report<'_> {
    let of = |program: &str| Knowledge::of_executables(&[program]).ok();
    report
        .with_objection(|program| of(program)?.against_huge_pages(program))
        .with_own_setting(|program| Knowledge::compiled().ok()?.own_setting(program))
}
