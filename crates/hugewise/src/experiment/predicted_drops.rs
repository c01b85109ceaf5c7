//! Predicts from the files of the programs which policies a run would drop.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::policy::{Executable, Policy};
use hugewise_linux::apply::executable::read_executable;

use crate::program;

/// The reasons, by policy name. The programs that a shell line starts are unknown.
pub fn left_out(
    plan: &Plan,
    realisations: &BTreeMap<String, Realisation>,
) -> BTreeMap<String, String> {
    if plan.shell || plan.bench.is_some() {
        return BTreeMap::new();
    }
    let why = |policy: &Policy| {
        let command = match plan.program_of(&policy.name) {
            Some(program) => &program.command,
            None => &plan.command,
        };
        let path = command.first()?;
        let file = read_executable(&program::file(OsStr::new(path), None)?)?;
        let why = cannot_preload(&file, realisations.get(&policy.name)?, path);
        let why = why.or_else(|| file.foresee(&policy.settings, path))?;
        Some((policy.name.clone(), why))
    };
    plan.policies.iter().filter_map(why).collect()
}

/// Why the policy's library cannot be preloaded.
pub fn cannot_preload(file: &Executable, realisation: &Realisation, path: &str) -> Option<String> {
    let is_static = realisation.library.is_some() && file.loader.is_none();
    is_static.then(|| format!("{path} is statically linked, and nothing is preloaded into it"))
}
