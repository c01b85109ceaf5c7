//! What was observed of a process, or of the machine itself.

use serde::Serialize;

use super::access::Access;
use super::command::Command;
use super::fact::Facts;
use super::subject::{Subject, SubjectKind};

/// What is known of a process, or of the machine itself.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Its number; none for the machine, and for an application that does not run.
    pub pid: Option<u32>,
    /// What it is called.
    pub name: String,
    /// Its executable, where it is known.
    pub exe: Option<String>,
    /// Whether its memory and executable may be read.
    pub access: Access,
    /// The unit of systemd that it belongs to, where its cgroup tells one.
    pub service: Option<String>,
    /// How it was started, where that can be repeated.
    pub command: Option<Command>,
    /// The subjects that it has.
    pub parts: Vec<Part>,
    /// What is known of it.
    pub facts: Facts,
}

/// A subject that was found, with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Name of the subject.
    pub subject: String,
    /// Its name for people.
    pub title: String,
    /// What it is.
    pub kind: SubjectKind,
    /// Its version as it was found.
    pub version: Option<String>,
}

impl Part {
    /// A subject in a version.
    #[must_use]
    pub fn new(subject: &Subject, version: Option<String>) -> Self {
        Self {
            subject: subject.name.clone(),
            title: subject.title.clone(),
            kind: subject.kind,
            version,
        }
    }

    /// Name and version for people, without what a distribution adds to the version of a program.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.version {
            Some(version) if self.kind.is_of_the_machine() => format!("{} {version}", self.title),
            Some(version) => format!("{} {}", self.title, upstream(version)),
            None => format!("{} (version unknown)", self.title),
        }
    }
}

/// The version of a package without its epoch, its revision and the mark of what was repacked.
fn upstream(version: &str) -> &str {
    let version = match version.split_once(':') {
        Some((epoch, rest)) if epoch.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => version,
    };
    let revised = version.rsplit_once('-');
    let revised =
        revised.filter(|(_, revision)| revision.starts_with(|c: char| c.is_ascii_digit()));
    let version = revised.map_or(version, |(upstream, _)| upstream);
    version.split('+').next().unwrap_or(version)
}
