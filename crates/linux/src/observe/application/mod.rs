//! What runs, in which version, and what it was told: read from files, without touching a process.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use hugewise_model::advise::advice::{Observation, Part};
use hugewise_model::advise::condition::Truth;
use hugewise_model::advise::fact::Facts;
use hugewise_model::advise::knowledge::Knowledge;
use hugewise_model::advise::observed::{self, service};
use hugewise_model::advise::subject::{Kind, Subject};

use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;
use process::Process;

mod configuration;
mod group;
mod machine;
mod process;
mod version;

pub use machine::read_machine;

/// The machine itself: its kernel, its distribution and what starts its services.
#[must_use]
pub fn observe_machine(knowledge: &Knowledge, host: &Facts) -> Observation {
    let own = knowledge
        .subjects()
        .filter(|subject| subject.kind.is_of_the_machine());
    let parts = own.filter(|subject| concerns(subject, host) == Truth::Yes);
    Observation {
        name: "this machine".to_owned(),
        parts: parts
            .map(|subject| Part::new(subject, version::of_machine(subject, host)))
            .collect(),
        ..Observation::default()
    }
}

/// Whether the condition of a subject of the machine holds; a kernel needs none.
fn concerns(subject: &Subject, facts: &Facts) -> Truth {
    let condition = subject
        .detect
        .as_ref()
        .and_then(|detect| detect.when.as_ref());
    match condition {
        Some(condition) => condition.holds(facts, subject.order),
        None => (subject.kind == Kind::Kernel).into(),
    }
}

/// What runs in a process; `None` where it is gone or has no program. What may not be read is
/// left out of its facts.
#[must_use]
pub fn observe_process(
    root: &Root,
    knowledge: &Knowledge,
    host: &Facts,
    pid: u32,
) -> Option<Observation> {
    let process = Process::read(root, pid)?;
    let group = group::facts(root, pid, host);
    Some(observe(root, knowledge, host, &process, &group))
}

/// What a command would be. It is not started: what only a process has stays unknown.
///
/// # Errors
/// There is no such program.
pub fn observe_command(
    root: &Root,
    knowledge: &Knowledge,
    host: &Facts,
    program: &OsStr,
    words: Vec<String>,
) -> Result<Observation, String> {
    let process = Process::of_command(root, program, words)
        .ok_or_else(|| format!("{}: no such program", program.to_string_lossy()))?;
    Ok(observe(root, knowledge, host, &process, &Facts::default()))
}

fn observe(
    root: &Root,
    knowledge: &Knowledge,
    host: &Facts,
    process: &Process,
    group: &Facts,
) -> Observation {
    let mut facts = process.facts(root, knowledge).with(group);
    let known = host.with(&facts);
    let mut parts = Vec::new();
    for subject in knowledge.subjects() {
        let Some((part, file)) = found(root, subject, process, &known) else {
            continue;
        };
        if subject.kind.names_a_process() || file.is_some() {
            facts = facts.with(&configuration::facts(root, subject, knowledge, process));
        }
        parts.push(part);
    }
    parts.sort_by_key(|part| part.kind);
    mark_absent(&mut facts);
    Observation {
        pid: process.pid,
        name: process.name(),
        service: facts
            .text("cgroup.path")
            .and_then(service)
            .map(str::to_owned),
        exe: Some(process.traces.exe.clone()),
        parts,
        facts,
    }
}

/// Subjects that were looked for and not found are known not to be there.
fn mark_absent(facts: &mut Facts) {
    facts.set("has.", false);
}

/// A subject that a process has, and the file that shows it.
fn found(
    root: &Root,
    subject: &Subject,
    process: &Process,
    facts: &Facts,
) -> Option<(Part, Option<String>)> {
    if subject.kind.is_of_the_machine() {
        let version = version::of_machine(subject, facts);
        return (concerns(subject, facts) == Truth::Yes)
            .then(|| (Part::new(subject, version), None));
    }
    let detect = subject.detect.as_ref()?;
    if detect.is_by_facts_alone() && detect.when.is_none() {
        return None;
    }
    let held = detect
        .when
        .as_ref()
        .map(|it| it.holds(facts, subject.order));
    if held.is_some_and(|truth| truth != Truth::Yes) {
        return None;
    }
    let file = match detect.is_by_facts_alone() {
        true => process.traces.exe.clone(),
        false => detect
            .file(&process.traces, |name| process.has_section(root, name))?
            .to_owned(),
    };
    let version = version::of_process(root, subject, process, &file, facts);
    Some((Part::new(subject, version), Some(file)))
}

/// Leaves out workers: processes whose parent runs the same program.
pub fn without_workers(root: &Root, observed: &mut Vec<Observation>) {
    let programs: BTreeMap<u32, String> = observed
        .iter()
        .filter_map(|one| Some((one.pid?, one.exe.clone()?)))
        .collect();
    let is_worker = |one: &Observation| {
        let parent = one.pid.and_then(|pid| read_pid_stat(root, pid).ok());
        let of_parent = parent.and_then(|stat| programs.get(&stat.parent));
        of_parent.is_some() && of_parent == one.exe.as_ref()
    };
    observed.retain(|one| !is_worker(one));
}

/// The facts of options in the words of a command.
fn flags(argv: &[String], environment: &BTreeMap<String, String>) -> Facts {
    let told = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"];
    let told = told.iter().filter_map(|name| environment.get(*name));
    let told = told.flat_map(|text| text.split_ascii_whitespace());
    observed::jvm_flags(told.chain(argv.iter().map(String::as_str)))
}
