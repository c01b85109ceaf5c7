//! Observations of a process, or of the machine.

use serde::Serialize;

use super::access::Access;
use super::command::Command;
use super::fact::Facts;
use super::subject::{Subject, SubjectKind};

/// The observed data of a process, or of the machine.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The PID; `None` for the machine, and for an application that is not running.
    pub pid: Option<u32>,
    /// The name.
    pub name: String,
    /// Its executable, if known.
    pub exe: Option<String>,
    /// Access to its memory and executable.
    pub access: Access,
    /// Its systemd unit, if its cgroup shows one.
    pub service: Option<String>,
    /// Its command, if it can be repeated.
    pub command: Option<Command>,
    /// The detected subjects.
    pub parts: Vec<Part>,
    /// Known facts.
    pub facts: Facts,
}

/// A detected subject, with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Name of the subject.
    pub subject: String,
    /// The title of the subject.
    pub title: String,
    /// The kind of the subject.
    pub kind: SubjectKind,
    /// The detected version.
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

    /// Title and version for people, without the distribution's suffix on the version of a program.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.version {
            Some(version) if self.kind.is_of_the_machine() => format!("{} {version}", self.title),
            Some(version) => format!("{} {}", self.title, upstream(version)),
            None => format!("{} (version unknown)", self.title),
        }
    }
}

/// The version of a package without its epoch, its revision and its repack suffix.
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
