//! How a policy is reached on a host: the least invasive mechanism, or the missing requirement.

use serde::{Deserialize, Serialize};

use super::{Collapse, FilePages, Malloc, Numa, Policy, Text, Tmpfs};
use crate::base::host::Host;
use crate::base::setting;
use crate::run::site::SiteChoice;
pub use crate::run::trial::MemoryLimits;
pub(crate) use malloc::BIND_NOW;

mod code;
mod file;
mod injection;
mod malloc;
mod mechanism;
mod memory;
mod pages;
mod pool;
mod sites;
#[cfg(test)]
mod tests;
mod tmpfs;

/// May system-wide settings be written (`--system`)?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This process and its children only.
    Process,
    /// System-wide settings too.
    System,
    /// Only system-wide settings, for all programs on the machine.
    Machine,
}

impl Reach {
    fn has_settings(self) -> bool {
        self != Self::Process
    }
}

/// The actions that apply a policy.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Realisation {
    /// The use of `PR_SET_THP_DISABLE` in the child before it becomes the workload.
    pub prctl: ThpPrctl,
    /// How its memory is advised from outside, by tracing its calls.
    #[serde(default, skip_serializing_if = "TreeTracer::is_none")]
    pub tracer: TreeTracer,
    /// When its memory in use is made huge from outside, by tracing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapse: Option<Collapse>,
    /// How its code is put into huge pages: by tracing, or in the page cache before it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// Changes to the environment, in order.
    pub environment: Vec<EnvChange>,
    /// Words to insert into the program's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// System files to write while the policy is active, in order.
    pub files: Vec<FileWrite>,
    /// The memory limits of the trial's cgroup.
    #[serde(default, skip_serializing_if = "MemoryLimits::is_none")]
    pub limits: MemoryLimits,
    /// The memory nodes that the child requests before it becomes the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<Numa>,
    /// The tmpfs that the child mounts in a private namespace before it becomes the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<Tmpfs>,
    /// The files that are read into the page cache before the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePages>,
    /// Path of the allocator library that must appear in the workload's mappings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<String>,
    /// Path of the allocator library that must appear in the workload's mappings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
}

impl Realisation {
    /// Returns true if it consists of system-wide settings, so that it also applies to already running programs.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        let files = self.files.clone();
        *self
            == Self {
                files,
                ..Self::default()
            }
    }

    /// Returns true if it sets pages of code or data files in the page cache.
    #[must_use]
    pub fn sets_file_pages(&self) -> bool {
        self.file.is_some() || self.text == Some(Text::File)
    }

    /// The mechanism that applies the policy, in a few words.
    #[must_use]
    pub fn means(&self) -> String {
        let has_variables = self.library.is_none() && !self.environment.is_empty();
        let means = [
            (self.prctl != ThpPrctl::Leave, "a switch of the process"),
            (self.tmpfs.is_some(), "a private mount"),
            (self.sets_file_pages(), "the page cache"),
            (self.is_traced(), "a tracer"),
            (self.library.is_some(), "a preloaded library"),
            (has_variables, "the environment"),
            (!self.arguments.is_empty(), "its arguments"),
            (!self.files.is_empty(), "settings of the machine"),
        ];
        let used = means.into_iter().filter(|(is_used, _)| *is_used);
        let used: Vec<&str> = used.map(|(_, name)| name).collect();
        match used.is_empty() {
            true => "the machine as it is".to_owned(),
            false => used.join(" and "),
        }
    }
}

impl Realisation {
    /// Returns true if the loader resolves every function before the program starts.
    #[must_use]
    pub fn binds_at_start(&self) -> bool {
        let set = self
            .environment
            .iter()
            .rev()
            .find_map(|change| match change {
                EnvChange::Set { name, value } if name == BIND_NOW => Some(value),
                _ => None,
            });
        set.is_some_and(|value| !value.is_empty())
    }

    /// Returns true if a tracer makes calls in the program.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        let traces_code = self.text.is_some_and(Text::is_traced);
        !self.tracer.is_none() || self.collapse.is_some() || traces_code
    }
}

/// The use of the inherited per-process THP switch.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ThpPrctl {
    /// Leave it as inherited.
    #[default]
    Leave,
    /// Clear it, so that the system-wide settings apply.
    Clear,
    /// Disable all huge pages.
    Disable,
    /// Disable all but advised ones (Linux 6.18).
    ExceptAdvised,
}

/// The action of a tracer of the whole tree when the tree maps memory that can hold a huge page.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TreeTracer {
    /// There is no tracer.
    #[default]
    None,
    /// It stops the tree there and makes it call madvise(2) without effect: the cost of tracing.
    Idle,
    /// It makes the tree call `madvise(MADV_HUGEPAGE)`.
    Huge,
    /// The same for memory of chosen sites, and `madvise(MADV_NOHUGEPAGE)` for memory of all others.
    Sites(SiteChoice),
}

impl TreeTracer {
    /// Returns true if there is no tracer.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// One change of the environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum EnvChange {
    /// Set the variable.
    Set {
        /// Name.
        name: String,
        /// Value.
        value: String,
    },
    /// Insert before the present content of a list variable, with a separator.
    Prepend {
        /// Name.
        name: String,
        /// The separator of entries.
        separator: char,
        /// The new entry.
        value: String,
    },
    /// Append to a list variable with a separator, after removing no other entry.
    Append {
        /// Name.
        name: String,
        /// The separator of entries.
        separator: char,
        /// The new entry.
        value: String,
    },
}

/// One write to a system-wide settings file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct FileWrite {
    /// Path relative to the root of the machine, for example
    /// `sys/kernel/mm/transparent_hugepage/enabled`.
    #[serde(deserialize_with = "setting::path")]
    pub path: String,
    /// The value to write, without a newline.
    #[serde(deserialize_with = "setting::value")]
    pub value: String,
}

/// Why a policy cannot be applied here, with the missing requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy `{policy}`: {}", self.reason())]
pub struct Unreachable {
    /// Name of the policy.
    pub policy: String,
    /// The obstacle.
    pub problem: String,
    /// What would help.
    pub remedy: String,
}

impl Unreachable {
    /// The obstacle and its remedy, for a context that already shows the policy.
    #[must_use]
    pub fn reason(&self) -> String {
        format!("{}; {}", self.problem, self.remedy)
    }
}

/// Finds the least invasive mechanism that applies `policy` on `host`.
///
/// The per-process switch and the environment come first. System files are written only if nothing else works, and only
/// those without the wanted value.
///
/// # Errors
/// Returns every obstacle, each with its remedy; nothing has been changed.
pub fn realise(
    policy: &Policy,
    host: &Host,
    reach: Reach,
) -> Result<Realisation, Vec<Unreachable>> {
    let mut draft = Draft {
        policy,
        host,
        reach,
        realisation: Realisation::default(),
        obstacles: Vec::new(),
    };
    pages::reach(&mut draft);
    pool::reach(&mut draft);
    memory::reach(&mut draft);
    malloc::reach(&mut draft);
    mechanism::reach_idle(&mut draft);
    sites::reach(&mut draft);
    injection::reach(&mut draft);
    code::reach(&mut draft);
    tmpfs::reach(&mut draft);
    file::reach(&mut draft);
    draft.set_runtimes();
    draft.set_variables();
    malloc::check_fixed(&mut draft);
    draft
        .realisation
        .arguments
        .clone_from(&policy.settings.args);
    if draft.obstacles.is_empty() {
        Ok(draft.realisation)
    } else {
        Err(draft.obstacles)
    }
}

/// A realisation under construction.
struct Draft<'a> {
    policy: &'a Policy,
    host: &'a Host,
    reach: Reach,
    realisation: Realisation,
    obstacles: Vec<Unreachable>,
}

impl Draft<'_> {
    fn obstacle(&mut self, problem: impl Into<String>, remedy: impl Into<String>) {
        self.obstacles.push(Unreachable {
            policy: self.policy.name.clone(),
            problem: problem.into(),
            remedy: remedy.into(),
        });
    }

    /// The variables of `env.NAME=`, after those of `malloc=`.
    fn set_variables(&mut self) {
        for (name, value) in &self.policy.settings.env {
            self.realisation.environment.push(EnvChange::Set {
                name: name.clone(),
                value: value.clone(),
            });
        }
    }

    /// The variables of `java.NAME=` and similar keys.
    fn set_runtimes(&mut self) {
        for (key, change) in self.policy.settings.runtime_changes() {
            let variable = change.name().to_owned();
            if self.policy.settings.env.contains_key(&variable) {
                self.obstacle(
                    format!("`env.{variable}` and `{key}=` both decide {variable}"),
                    format!("leave env.{variable} or {key}= out"),
                );
            }
            if key == "glibc.pthread.stack_hugetlb" {
                malloc::check_glibc(self, malloc::FIRST_GLIBC_WITH_STACKS);
            }
            if (key.as_str(), change.value()) == ("glibc.elf.thp", "glibc.elf.thp=1") {
                malloc::check_advice(self, &key);
            }
            let tunable = key == "glibc.malloc.hugetlb";
            let malloc = self.policy.settings.malloc;
            if tunable && matches!(malloc, Some(Malloc::Thp | Malloc::Hugetlb)) {
                self.obstacle(
                    "`malloc=` and `glibc.malloc.hugetlb=` both decide the same tunable",
                    "leave one of them out",
                );
            }
            self.realisation.environment.push(change);
        }
    }

    /// Appends to a list variable that `malloc=` needs.
    fn append_variable(&mut self, name: &str, value: &str) {
        if self.policy.settings.env.contains_key(name) {
            self.obstacle(
                format!("`env.{name}` and `malloc=` both decide {name}"),
                format!(
                    "put `{value}` into env.{name} and leave malloc= out, or leave env.{name} out"
                ),
            );
        }
        self.realisation.environment.push(EnvChange::Append {
            name: name.to_owned(),
            separator: ':',
            value: value.to_owned(),
        });
    }
}
