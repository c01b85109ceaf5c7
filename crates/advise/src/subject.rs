//! Subjects of rules: applications, runtimes, allocators, kernels, and how they are detected.

use std::collections::BTreeMap;

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::rule::Rule;
use super::version::Order;
use hugewise_base::glob;

/// One file of the knowledge.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Schema version of the file.
    pub schema: u32,
    /// The short name, equal to the name of the file.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// Other common names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The kind of subject.
    pub kind: SubjectKind,
    /// The order of its versions.
    #[serde(default)]
    pub order: Order,
    /// How to detect it.
    pub detect: Option<Detection>,
    /// Its rules.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

impl Subject {
    /// Returns true if it is detected by exactly this executable name.
    #[must_use]
    pub fn is_executed_as(&self, name: &str) -> bool {
        let mut files = self.detect.iter().flat_map(|detect| &detect.exe);
        files.any(|file| file == name)
    }
}

/// The kind of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// An application.
    Application,
    /// A language runtime.
    Runtime,
    /// A memory allocator.
    Allocator,
    /// A library, including the C library.
    Library,
    /// Requested against actual state, and states that break programs.
    State,
    /// A service manager.
    ServiceManager,
    /// A container orchestrator.
    Orchestrator,
    /// A distribution.
    Distribution,
    /// The kernel.
    Kernel,
}

impl SubjectKind {
    /// Returns true if it belongs to the machine and not to a process.
    #[must_use]
    pub fn is_of_the_machine(self) -> bool {
        matches!(
            self,
            Self::Kernel | Self::Distribution | Self::ServiceManager | Self::Orchestrator
        )
    }

    /// Returns true if people name a process by it.
    #[must_use]
    pub fn names_a_process(self) -> bool {
        matches!(self, Self::Application | Self::Runtime)
    }
}

/// How to detect a subject.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detection {
    /// Patterns of the executable's file name.
    pub exe: Vec<String>,
    /// Patterns of the file names of mapped files.
    pub library: Vec<String>,
    /// Files that the executable loads on its own, relative to its directory. They identify a command that has not
    /// started yet.
    pub loads: Vec<String>,
    /// Patterns for an argument.
    pub argv: Vec<String>,
    /// A section of the executable.
    pub section: Option<String>,
    /// A condition over facts.
    pub when: Option<Condition>,
    /// The sources of its version, in order of preference.
    pub version: Vec<VersionSource>,
    /// Its configuration file.
    pub conf: Option<Configuration>,
}

/// A source of a version. A pattern is a regular expression whose first group is the version.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "from", rename_all = "lowercase", deny_unknown_fields)]
pub enum VersionSource {
    /// The distribution package of the executable or library.
    Package,
    /// The directory that Python installers create next to a package: `NAME-VERSION.dist-info`.
    Python {
        /// Name of the package.
        name: String,
    },
    /// The path of the executable or library.
    Path {
        /// The pattern.
        pattern: String,
    },
    /// A text file, relative to the directory of the executable.
    File {
        /// Its path.
        path: String,
        /// The pattern.
        pattern: String,
    },
    /// The bytes of the executable or library.
    Exe {
        /// The pattern.
        pattern: String,
    },
    /// The arguments, joined by spaces.
    Argv {
        /// The pattern.
        pattern: String,
    },
    /// One environment variable, as `NAME=VALUE`.
    Environ {
        /// The pattern.
        pattern: String,
    },
    /// A fact of the host.
    Fact {
        /// Its name.
        fact: String,
    },
}

/// Returns the first group of a pattern match.
///
/// # Errors
/// Fails if the pattern is not a valid regular expression.
pub fn first_group(pattern: &str, bytes: &[u8]) -> Result<Option<String>, String> {
    let pattern = Regex::new(pattern).map_err(|why| format!("`{pattern}`: {why}"))?;
    let found = pattern.captures(bytes).and_then(|groups| groups.get(1));
    Ok(found.map(|group| String::from_utf8_lossy(group.as_bytes()).into_owned()))
}

/// The configuration file of an application.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Configuration {
    /// Candidate files: `{arg}` is an argument that names one, `{data}` is the data directory.
    pub files: Vec<String>,
    /// Files whose settings override the others.
    pub overrides: Vec<String>,
    /// Default values of settings that are missing in the file.
    pub defaults: BTreeMap<String, String>,
}

impl Detection {
    /// Returns the file that identifies the subject: the executable or a library. `has_section` returns true if the
    /// executable has the given section.
    #[must_use]
    pub fn file<'a>(
        &self,
        process: &'a Traces,
        has_section: impl Fn(&str) -> bool,
    ) -> Option<&'a str> {
        let named = |patterns: &[String], path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            patterns.iter().any(|pattern| glob::fits(pattern, name))
        };
        let argument = |word: &String| self.argv.iter().any(|pattern| glob::fits(pattern, word));
        let called = process.called();
        if named(&self.exe, &process.exe)
            || named(&self.exe, called)
            || process.argv.iter().any(argument)
        {
            return Some(&process.exe);
        }
        let libraries = process.files.iter();
        let library = libraries
            .map(String::as_str)
            .find(|path| named(&self.library, path));
        library.or_else(|| {
            let section = self.section.as_deref()?;
            has_section(section).then_some(process.exe.as_str())
        })
    }

    /// Returns true if only facts identify it, and no file or argument of a process does.
    #[must_use]
    pub fn is_by_facts_alone(&self) -> bool {
        self.exe.is_empty()
            && self.library.is_empty()
            && self.argv.is_empty()
            && self.section.is_none()
    }
}

/// The data of a running process that identifies its subjects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Path of its executable.
    pub exe: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Paths of the mapped files.
    pub files: Vec<String>,
}

impl Traces {
    /// Returns the name by which it was called. A server can be a link to another program, and can append text to its
    /// name.
    #[must_use]
    pub fn called(&self) -> &str {
        let first = self.argv.first().map_or("", String::as_str);
        let word = first.split([' ', ':']).next().unwrap_or_default();
        word.rsplit('/').next().unwrap_or_default()
    }
}

/// Returns a path relative to the directory of a file, without `..`.
#[must_use]
pub fn beside(file: &str, path: &str) -> Option<String> {
    let (folder, _) = file.rsplit_once('/')?;
    let mut parts: Vec<_> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_beside_a_file_is_found() {
        let java = "/usr/lib/jvm/java-17/bin/java";
        assert_eq!(
            beside(java, "../release").as_deref(),
            Some("/usr/lib/jvm/java-17/release")
        );
        assert_eq!(beside("/a/b", "c").as_deref(), Some("/a/c"));
    }
}
