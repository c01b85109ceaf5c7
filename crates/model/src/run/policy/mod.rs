//! What to try: one memory setting is a [`Policy`](crate::run::policy::Policy); several keys crossed are a matrix.
//!
//! A policy is data. How it is reached on a given host (by which means, or why it cannot be)
//! is decided in [`realise`](mod@crate::run::policy::realise), and carried out by `hugewise-linux::apply`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// Which policies are tried when the user names none.
pub mod defaults;
/// The variables a workload is started with.
pub mod environment;
pub mod keys;
/// Several keys crossed.
pub mod matrix;
pub mod parse;
pub mod realise;
/// Settings of runtimes and allocators, and whether they were taken.
pub mod runtime;
/// Policies that differ in nothing but huge pages.
mod siblings;
/// Doubts that do not stop a run.
pub mod warnings;
mod words;

pub use defaults::{defaults, unreached};
pub use environment::environment;
pub use matrix::{Axis, cross};
pub use parse::ParseError;
pub use runtime::{Runtime, RuntimeSettings};
pub use warnings::warnings;

/// One memory setting to try, with the name under which it is reported.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The name the user gave, or the canonical text of the settings.
    pub name: String,
    /// What is set.
    pub settings: Settings,
}

impl Policy {
    /// The machine as it is, with nothing set.
    #[must_use]
    pub fn as_is() -> Self {
        Self {
            name: "as-is".to_owned(),
            settings: Settings::default(),
        }
    }
}

/// What a policy sets; everything absent stays as the machine has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `thp=`: anonymous transparent huge pages of the PMD size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thp: Option<Thp>,
    /// `defrag=`: how hard a fault tries for a huge page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defrag: Option<Defrag>,
    /// `mthp=`: per-size modes, by size in KiB.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        with = "crate::base::missing::number_keys"
    )]
    pub mthp: BTreeMap<u64, SizeMode>,
    /// `zero_page=`: whether a read fault maps the shared huge zero page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_page: Option<Toggle>,
    /// `khugepaged.FILE=`: by file name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub khugepaged: BTreeMap<String, u64>,
    /// `malloc=`: the allocator, or what glibc's allocator is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malloc: Option<Malloc>,
    /// `java.NAME=` and its kind: by runtime, then by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runtimes: RuntimeSettings,
    /// `env.NAME=`: environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl Settings {
    /// Whether two policies differ in nothing but how the kernel backs pages. Only then may
    /// equal coverage be called "no effect"; an allocator or a variable may act otherwise.
    #[must_use]
    pub fn differs_only_in_pages(&self, other: &Self) -> bool {
        self.of_program().eq(other.of_program())
    }

    /// What is set of the program itself; its usual allocator is nothing set.
    fn of_program(&self) -> impl Iterator<Item = String> {
        let entries = self.entries();
        let entries = entries.filter(|entry| entry.key.acts == keys::Acts::Program);
        let pairs = entries.map(|entry| entry.to_string());
        pairs.filter(|pair| pair != "malloc=default")
    }
}

/// `thp=`.
#[derive(
    Clone,
    Copy,
    Debug,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    Hash,
    VariantArray,
    IntoStaticStr,
    EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Thp {
    /// No huge page for this program.
    Never,
    /// Huge pages where the program asks for them.
    Madvise,
    /// Huge pages wherever one fits.
    Always,
    /// What the machine has.
    Inherit,
}

/// `defrag=`, the values of the sysfs file.
#[derive(
    Clone,
    Copy,
    Debug,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    Hash,
    VariantArray,
    IntoStaticStr,
    EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Defrag {
    /// Compact and reclaim in every fault.
    Always,
    /// Wake the background threads only.
    Defer,
    /// Compact for advised memory, wake the background threads for the rest.
    #[serde(rename = "defer+madvise")]
    #[strum(serialize = "defer+madvise")]
    DeferMadvise,
    /// Compact for advised memory, nothing for the rest.
    Madvise,
    /// Nothing.
    Never,
}

/// The mode of one folio size, the values of `hugepages-<N>kB/enabled`.
#[derive(
    Clone,
    Copy,
    Debug,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    Hash,
    VariantArray,
    IntoStaticStr,
    EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SizeMode {
    /// Everywhere.
    Always,
    /// What the global file says.
    Inherit,
    /// Advised memory.
    Madvise,
    /// Nowhere.
    Never,
}

/// A setting that is on or off.
#[derive(
    Clone,
    Copy,
    Debug,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    Hash,
    VariantArray,
    IntoStaticStr,
    EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Toggle {
    /// 0.
    #[strum(serialize = "0")]
    Off,
    /// 1.
    #[strum(serialize = "1")]
    On,
}

/// `malloc=`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    Hash,
    VariantArray,
    IntoStaticStr,
    EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Malloc {
    /// Whatever the program uses by itself.
    #[default]
    Default,
    /// `glibc.malloc.hugetlb=1`: advise the heap.
    Thp,
    /// `glibc.malloc.hugetlb=2`: the heap from a hugetlb pool.
    Hugetlb,
    /// libjemalloc, preloaded.
    Jemalloc,
    /// libmimalloc, preloaded.
    Mimalloc,
    /// libtcmalloc, preloaded.
    Tcmalloc,
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
