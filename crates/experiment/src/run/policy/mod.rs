//! The settings to try: one memory setting is a [`Policy`](crate::run::policy::Policy); several keys crossed are a
//! matrix.
//!
//! A policy is data. [`realise`](mod@crate::run::policy::realise) decides how it is reached on a given host, or why it
//! cannot be. `hugewise-linux::apply` carries this out.
//!
//! To add a key, add a field of `Settings` and a row of `KEYS` in `keys.rs`; a new mechanism is a file in `realise/`.
//! To refuse a policy for some programs, add a rule to `cannot_act.rs`, and its facts to `linux::apply::executable`.

use serde::{Deserialize, Serialize};

pub mod cannot_act;
mod collapse;
/// The default policies.
pub mod defaults;
/// The variables of a workload's environment.
pub mod environment;
mod file_pages;
mod key;
pub mod keys;
/// Several keys crossed.
pub mod matrix;
/// The memory nodes of a program's pages.
pub mod numa;
mod omission;
pub mod parse;
pub mod realise;
pub mod runtime;
mod same_except_pages;
mod sites;
mod tmpfs;
/// Doubts that do not stop a run.
pub mod warnings;
mod words;

pub use cannot_act::{Executable, Heap, ObservedProgram, ReadOnly, cannot_act};
pub use collapse::Collapse;
pub(crate) use defaults::collapsed_later;
pub use defaults::{candidates, defaults, heeds_advice};
pub use environment::environment;
pub use file_pages::FilePages;
pub use key::{Acts, Key, offered_keys};
pub use keys::Settings;
pub use matrix::{Axis, cross};
pub use numa::{Numa, NumaMode};
pub use omission::{Need, Omission, omission, rerun, rerun_without};
pub use parse::ParseError;
pub use runtime::{Runtime, RuntimeSettings};
pub use tmpfs::Tmpfs;
pub use warnings::{advice_by_chance, left_to_chance, warnings};
pub use words::{
    Defrag, FileMode, Malloc, Means, Preload, Shmem, ShmemMode, SizeMode, Text, Thp, TmpfsMode,
    Toggle, Tracer,
};

/// One memory setting to try, with its name in reports.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The name the user gave, or the canonical text of the settings.
    pub name: String,
    /// What is set.
    pub settings: Settings,
}

impl Policy {
    /// Settings with their canonical text as their name.
    #[must_use]
    pub fn of(settings: Settings) -> Self {
        Self {
            name: settings.to_string(),
            settings,
        }
    }

    /// The machine as it is, with nothing set.
    #[must_use]
    pub fn as_is() -> Self {
        Self {
            name: "as-is".to_owned(),
            settings: Settings::default(),
        }
    }

    /// Returns true if its settings are those of an overhead control ([`crate::run::plan::Plan::is_overhead_control`]),
    /// whatever other policies there are.
    #[must_use]
    pub fn is_set_as_an_overhead_control(&self) -> bool {
        self.is_idle_means() || self.settings.is_malloc_alone()
    }

    /// Returns true if it only measures the cost of a mechanism: the tracer or the library without its advice.
    #[must_use]
    pub fn is_idle_means(&self) -> bool {
        let settings = &self.settings;
        settings.tracer == Some(Tracer::Idle) || settings.preload == Some(Preload::Idle)
    }
}

impl Settings {
    /// Returns true if it changes system-wide settings, which cannot be set for a single process (`--system`). Among
    /// the keys that choose pages, only the mode has a mechanism for one process.
    #[must_use]
    pub fn needs_machine(&self) -> bool {
        let pages = self.shmem.is_some() || !self.mthp.is_empty() || !self.mthp_shmem.is_empty();
        let making =
            self.defrag.is_some() || self.zero_page.is_some() || !self.khugepaged.is_empty();
        pages || making || !self.hugetlb.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_sizes_are_complete() {
        let settings: Settings = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, Settings::default());
    }
}
