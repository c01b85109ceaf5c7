//! Uses the rules about programs: adds their own settings to the default policies and to reports whose policies did not
//! reach the pages, and names who keeps huge pages from a program.

use std::path::Path;

use hugewise_advise::fact::Facts;
use hugewise_advise::knowledge::Knowledge;
use hugewise_experiment::run::plan::arguments::{has_place, holds};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::report::Report;

/// The policy with the arguments that may make a command's program faster, unless they are set already. `file` is the
/// executed file, or a link to it. If the command has a placeholder for arguments, the user chooses them.
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

/// Adds to the report why the program's makers keep huge pages from it, and the program's own setting if no policy
/// could be tried.
pub fn beside_knowledge(report: Report<'_>) -> Report<'_> {
    let of = |program: &str| Knowledge::of_executables(&[program]).ok();
    report
        .with_objection(|program| of(program)?.against_huge_pages(program))
        .with_own_setting(|program| Knowledge::compiled().ok()?.own_setting(program))
}
