//! What rules are about: an application, a runtime, an allocator, a kernel, and how it is found.

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
    /// Form of the file.
    pub schema: u32,
    /// Its short name, which is that of the file.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Other names by which people call it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it is.
    pub kind: SubjectKind,
    /// How its versions are numbered.
    #[serde(default)]
    pub order: Order,
    /// How it is found.
    pub detect: Option<Detection>,
    /// What is said about it.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

impl Subject {
    /// Whether it is found by exactly this name of an executable.
    #[must_use]
    pub fn is_executed_as(&self, name: &str) -> bool {
        let mut files = self.detect.iter().flat_map(|detect| &detect.exe);
        files.any(|file| file == name)
    }
}

/// What a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// A program that people run.
    Application,
    /// What runs programs of a language.
    Runtime,
    /// What gives out memory.
    Allocator,
    /// A library, the C library too.
    Library,
    /// What was asked for against what came, and states that break programs.
    State,
    /// What starts services.
    ServiceManager,
    /// What starts containers.
    Orchestrator,
    /// What is installed.
    Distribution,
    /// The kernel.
    Kernel,
}

impl SubjectKind {
    /// Whether it is the machine's and not a process's.
    #[must_use]
    pub fn is_of_the_machine(self) -> bool {
        matches!(
            self,
            Self::Kernel | Self::Distribution | Self::ServiceManager | Self::Orchestrator
        )
    }

    /// Whether people know a process by it.
    #[must_use]
    pub fn names_a_process(self) -> bool {
        matches!(self, Self::Application | Self::Runtime)
    }
}

/// How a subject is found.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detection {
    /// Patterns of the executable's file name.
    pub exe: Vec<String>,
    /// Patterns of the file names of mapped files.
    pub library: Vec<String>,
    /// Files that the executable loads by its own decision, named relative to its folder: they show a command that is
    /// not started yet.
    pub loads: Vec<String>,
    /// Patterns of an argument.
    pub argv: Vec<String>,
    /// A section of the executable.
    pub section: Option<String>,
    /// A condition over facts.
    pub when: Option<Condition>,
    /// Where its version is found, in the order in which it is looked for.
    pub version: Vec<VersionSource>,
    /// Its configuration file.
    pub conf: Option<Configuration>,
}

/// Where a version is found. A pattern is a regular expression whose first group is the version.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "from", rename_all = "lowercase", deny_unknown_fields)]
pub enum VersionSource {
    /// The distribution's package of the executable or library.
    Package,
    /// The folder that installers of Python leave beside a package: `NAME-VERSION.dist-info`.
    Python {
        /// Name of the package.
        name: String,
    },
    /// The path of the executable or library.
    Path {
        /// What to find there.
        pattern: String,
    },
    /// A text file, named relative to the folder of the executable.
    File {
        /// Its path.
        path: String,
        /// What to find there.
        pattern: String,
    },
    /// The bytes of the executable or library.
    Exe {
        /// What to find there.
        pattern: String,
    },
    /// The arguments, joined by blanks.
    Argv {
        /// What to find there.
        pattern: String,
    },
    /// One variable of the environment, as `NAME=VALUE`.
    Environ {
        /// What to find there.
        pattern: String,
    },
    /// A fact of the host.
    Fact {
        /// Its name.
        fact: String,
    },
}

/// What a pattern finds: its first group.
///
/// # Errors
/// The pattern is no regular expression.
pub fn first_group(pattern: &str, bytes: &[u8]) -> Result<Option<String>, String> {
    let pattern = Regex::new(pattern).map_err(|why| format!("`{pattern}`: {why}"))?;
    let found = pattern.captures(bytes).and_then(|groups| groups.get(1));
    Ok(found.map(|group| String::from_utf8_lossy(group.as_bytes()).into_owned()))
}

/// Where an application has its settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Configuration {
    /// Files that may be it: `{arg}` is an argument that names one, `{data}` the folder of its data.
    pub files: Vec<String>,
    /// Files whose settings take the place of the others'.
    pub overrides: Vec<String>,
    /// Values of settings that the file does not have.
    pub defaults: BTreeMap<String, String>,
}

impl Detection {
    /// The file by which a process is known to be or to have the subject: the executable or a
    /// library. `has_section` says whether the executable has a section.
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

    /// Whether nothing of a process shows it.
    #[must_use]
    pub fn is_by_facts_alone(&self) -> bool {
        self.exe.is_empty()
            && self.library.is_empty()
            && self.argv.is_empty()
            && self.section.is_none()
    }
}

/// What of a running process shows which subjects it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Path of its executable.
    pub exe: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Paths of the files that it maps.
    pub files: Vec<String>,
}

impl Traces {
    /// By which name it was called: a server may be a link to another program, and may write more
    /// behind its name.
    #[must_use]
    pub fn called(&self) -> &str {
        let first = self.argv.first().map_or("", String::as_str);
        let word = first.split([' ', ':']).next().unwrap_or_default();
        word.rsplit('/').next().unwrap_or_default()
    }
}

/// A path relative to the folder of a file, without `..`.
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
