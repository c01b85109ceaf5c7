//! Identifies running applications, their versions and their settings, by reading files only; no process is touched.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use hugewise_advise::access::Access;
use hugewise_advise::advice::{Observation, Part, needs_page_walk};
use hugewise_advise::condition::Truth;
use hugewise_advise::fact::{Facts, HIDING};
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::observed::service;
use hugewise_advise::subject::{Subject, SubjectKind};

use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;
use process::Process;

mod configuration;
mod group;
mod hidden;
mod libraries;
mod machine;
mod options;
mod package;
mod process;
mod program;
mod tuned;
mod version;

pub use machine::read_machine;

/// Observes the applications of one machine. Results found in a file are cached for other processes that use the same
/// file.
#[derive(Debug)]
pub struct Observer<'a> {
    root: &'a Root,
    knowledge: &'a Knowledge,
    host: &'a Facts,
    versions: version::Found,
}

impl<'a> Observer<'a> {
    /// Creates an observer and determines the facts about the machine.
    #[must_use]
    pub fn new(root: &'a Root, knowledge: &'a Knowledge, host: &'a Facts) -> Self {
        Self {
            root,
            knowledge,
            host,
            versions: version::Found::default(),
        }
    }

    /// Describes the machine: its kernel, its distribution, its service manager, and the mount option that hides
    /// processes.
    #[must_use]
    pub fn machine(&self) -> Observation {
        let own = self
            .knowledge
            .subjects()
            .filter(|subject| subject.kind.is_of_the_machine());
        let parts = own.filter(|subject| concerns(subject, self.host) == Truth::Yes);
        let mut facts = Facts::default();
        facts.set_known(HIDING, hidden::hiding(self.root));
        Observation {
            name: "this machine".to_owned(),
            parts: parts
                .map(|subject| Part::new(subject, version::of_machine(subject, self.host)))
                .collect(),
            facts,
            ..Observation::default()
        }
    }

    /// Describes what a process runs; `None` if the process has ended or has no program. Facts that this user may not
    /// read are left out.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<Observation> {
        let process = Process::read(self.root, pid)?;
        let group = group::facts(self.root, pid, self.host);
        let mut observed = self.observe(&process, &group);
        let is_told = observed.facts.get("process.anon.bytes").is_some();
        if !is_told || needs_page_walk(self.knowledge, self.host, &observed) {
            observed.facts = observed.facts.with(&process.memory(self.root));
        }
        Some(observed)
    }

    /// Describes the process that a command would start. The command is not started, so facts that only a process has
    /// stay unknown.
    ///
    /// # Errors
    /// There is no such program.
    pub fn command(&self, program: &OsStr, words: Vec<String>) -> Result<Observation, String> {
        let process = Process::of_command(self.root, self.knowledge, program, words)
            .ok_or_else(|| format!("{}: no such program", program.to_string_lossy()))?;
        Ok(self.observe(&process, &Facts::default()))
    }

    fn observe(&self, process: &Process, group: &Facts) -> Observation {
        let (root, knowledge) = (self.root, self.knowledge);
        let mut facts = process.facts(root, knowledge).with(group);
        let known = self.host.with(&facts);
        let mut parts = Vec::new();
        for subject in knowledge.subjects() {
            let Some((part, file)) = self.found(subject, process, &known) else {
                continue;
            };
            if subject.kind.names_a_process() || file.is_some() {
                facts = facts.with(&configuration::facts(root, subject, knowledge, process));
            }
            parts.push(part);
        }
        parts.sort_by_key(|part| part.kind);
        if process.shows_files() {
            mark_absent(&mut facts);
        }
        let service = facts.text("cgroup.path").and_then(service);
        Observation {
            pid: process.pid,
            name: process.name(),
            service: service.map(str::to_owned),
            command: process.command.clone(),
            exe: match process.access {
                Access::Open => Some(process.traces.exe.clone()),
                Access::Closed => None,
            },
            access: process.access,
            parts,
            facts,
        }
    }

    /// Detects a subject in a process; returns it with the file that reveals it.
    fn found(
        &self,
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
                .file(&process.traces, |name| process.has_section(self.root, name))?
                .to_owned(),
        };
        let version =
            version::of_process(self.root, subject, process, &file, facts, &self.versions);
        Some((Part::new(subject, version), Some(file)))
    }
}

/// Evaluates the condition of a subject of the machine; the kernel needs no condition.
fn concerns(subject: &Subject, facts: &Facts) -> Truth {
    let condition = subject
        .detect
        .as_ref()
        .and_then(|detect| detect.when.as_ref());
    match condition {
        Some(condition) => condition.holds(facts, subject.order),
        None => (subject.kind == SubjectKind::Kernel).into(),
    }
}

/// Marks missing subjects as absent, if they were looked for.
fn mark_absent(facts: &mut Facts) {
    facts.set("has.", false);
}

/// Removes worker processes: those whose parent runs the same program. If an executable may not be read, the process
/// names are compared.
pub fn without_workers(root: &Root, observed: &mut Vec<Observation>) {
    let programs: BTreeMap<u32, (Option<String>, String)> = observed
        .iter()
        .filter_map(|one| Some((one.pid?, (one.exe.clone(), one.name.clone()))))
        .collect();
    let is_worker = |one: &Observation| {
        let parent = one.pid.and_then(|pid| read_pid_stat(root, pid).ok());
        let parent = parent.and_then(|stat| programs.get(&stat.parent));
        parent.is_some_and(|(exe, name)| match (&one.exe, exe) {
            (Some(own), Some(other)) => own == other,
            _ => one.name == *name,
        })
    };
    observed.retain(|one| !is_worker(one));
}
