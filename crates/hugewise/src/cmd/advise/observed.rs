//! The subjects of advice: processes, a named application, or a command.

use anyhow::Result;
use hugewise_advise::advice::{Observation, named};
use hugewise_advise::fact::Facts;
use hugewise_advise::knowledge::Knowledge;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::list_processes;
use hugewise_linux::observe::application::{Observer, read_machine, without_workers};
use hugewise_linux::probe;
use hugewise_text::suggest::{nearest, suggestion};

use super::Arguments;
use crate::{cgroup_name, exit, invoker, paths, process_name};

/// The place of the list of names.
const LIST: &str = "all names are in docs/reference/rules.md";

/// The facts about the machine.
pub(super) fn machine(root: &Root) -> Result<Facts> {
    let answers = probe::answers_without_tracing(root, paths::environment())?;
    let host = probe::host(root, &answers)?;
    Ok(read_machine(root, &host))
}

/// The subjects, with the machine as the last one if all processes are included.
pub(super) fn find(
    root: &Root,
    knowledge: &Knowledge,
    host: &Facts,
    arguments: &Arguments,
) -> Result<Vec<Observation>> {
    if !arguments.app.is_empty() {
        let apps = arguments.app.iter();
        return apps.map(|text| app(knowledge, text)).collect();
    }
    let observer = Observer::new(root, knowledge, host);
    if let Some((program, rest)) = arguments.command.split_first() {
        let words = rest.iter().map(|word| word.to_string_lossy().into_owned());
        let words = words.collect();
        // The user's own files decide which files this reads.
        let command = invoker::rights()?.lend(|| Ok(observer.command(program, words)))?;
        return command.map(|one| vec![one]).map_err(exit::usage);
    }
    let pids = processes(root, knowledge, arguments)?;
    let named: Vec<&str> = arguments.named().collect();
    if named.is_empty() {
        return Ok(with_machine(root, &observer, pids));
    }
    let mut observed = each(&observer, pids);
    // A name means a server, not each of its workers.
    if named.iter().any(|word| word.parse::<u32>().is_err()) {
        without_workers(root, &mut observed);
    }
    if observed.is_empty() {
        let named = named.join(" ");
        return Err(exit::usage(format!("{named}: no such process")));
    }
    Ok(observed)
}

/// All processes except this one, and the machine; empty if the process list cannot be read.
pub(super) fn all(root: &Root, knowledge: &Knowledge, host: &Facts) -> Result<Vec<Observation>> {
    let observer = Observer::new(root, knowledge, host);
    Ok(with_machine(root, &observer, list_processes(root)?))
}

/// These processes without workers, and the machine.
fn with_machine(root: &Root, observer: &Observer<'_>, pids: Vec<u32>) -> Vec<Observation> {
    let mut observed = each(observer, pids);
    without_workers(root, &mut observed);
    observed.push(observer.machine());
    observed
}

/// These processes except this one.
fn each(observer: &Observer<'_>, pids: Vec<u32>) -> Vec<Observation> {
    let own = std::process::id();
    let others = pids.into_iter().filter(|&pid| pid != own);
    others.filter_map(|pid| observer.process(pid)).collect()
}

fn processes(root: &Root, knowledge: &Knowledge, arguments: &Arguments) -> Result<Vec<u32>> {
    if let Some(path) = &arguments.cgroup {
        return cgroup_name::processes(root, path);
    }
    if arguments.named().next().is_none() {
        return Ok(list_processes(root)?);
    }
    let mut pids = Vec::new();
    for target in arguments.named() {
        let meant = process_name::named(root, target);
        pids.extend(meant.map_err(|why| {
            let between = if why.ends_with('?') { " or," } else { ";" };
            let known = known(knowledge, target).map(|known| format!("{between} {known}"));
            exit::usage(format!("{target}: {why}{}", known.unwrap_or_default()))
        })?);
    }
    Ok(pids)
}

/// The known facts about a word that is not a process.
fn known(knowledge: &Knowledge, word: &str) -> Option<String> {
    let subject = knowledge.called(word).map(|subject| subject.name.as_str());
    let name = subject.or_else(|| nearest(word, names(knowledge)))?;
    Some(format!(
        "for a {name} that does not run: --app {name}=VERSION"
    ))
}

fn names(knowledge: &Knowledge) -> impl Iterator<Item = &str> {
    knowledge.subjects().map(|subject| subject.name.as_str())
}

fn app(knowledge: &Knowledge, text: &str) -> Result<Observation> {
    named(knowledge, text).map_err(|why| {
        let name = text.split('=').next().unwrap_or_default();
        let help = match knowledge.called(name) {
            Some(_) => String::new(),
            None => format!("{}; {LIST}", suggestion(name, names(knowledge))),
        };
        exit::usage(format!("--app {text}: {why}{help}"))
    })
}
