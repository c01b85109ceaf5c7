//! Facts about a host and a process, by name. Conditions of rules refer to them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A boolean.
    Boolean,
    /// A number, or bytes.
    Number,
    /// Text: a word or a line.
    Text,
    /// A version, with version ordering.
    Version,
}

/// The owner of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The machine: the value is the same for all its processes.
    Host,
    /// A process or its cgroup.
    Process,
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A boolean.
    Boolean(bool),
    /// A number, or bytes.
    Number(f64),
    /// A word, a line or a version.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value as f64)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Facts by name. Unknown facts are absent. If all facts of a family are known, the name of the family (`env.`) holds
/// the value of the absent ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub BTreeMap<String, Value>);

impl Facts {
    /// Returns the value of a fact, if it is known.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).or_else(|| {
            let (family, _) = name.split_once('.')?;
            self.0.get(&format!("{family}."))
        })
    }

    /// Sets a fact.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// Sets a fact if its value is known.
    pub fn set_known(&mut self, name: impl Into<String>, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Returns these facts and the others.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let both = self.0.iter().chain(&others.0);
        Self(
            both.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Returns the text of a fact, if it is known.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Facts of a process that the kernel computes only by walking its page tables.
pub const WALKED: [&str; 3] = [
    "process.anon_huge.bytes",
    "process.shmem_huge.bytes",
    "process.advised.bytes",
];

/// The fact with the mount option that hides processes of other users.
pub const HIDING: &str = "processes.hidden";

/// Facts with a fixed name.
const NAMES: &[(&str, FactKind, Owner)] = {
    use FactKind::{Boolean, Number, Text, Version};
    use Owner::{Host, Process};
    &[
        ("kernel.version", Version, Host),
        ("arch", Text, Host),
        ("page.bytes", Number, Host),
        ("thp.pmd.bytes", Number, Host),
        ("thp.enabled", Text, Host),
        ("thp.defrag", Text, Host),
        ("thp.shmem_enabled", Text, Host),
        ("thp.mthp", Boolean, Host),
        ("thp.shrink_underused", Boolean, Host),
        ("thp.boot", Text, Host),
        ("khugepaged.max_ptes_none", Number, Host),
        ("khugepaged.defrag", Boolean, Host),
        ("khugepaged.pages_to_scan", Number, Host),
        ("khugepaged.scan_sleep_millisecs", Number, Host),
        ("hugetlb.pool.bytes", Number, Host),
        ("hugetlb.free.bytes", Number, Host),
        ("memory.bytes", Number, Host),
        ("swap.bytes", Number, Host),
        ("vm.overcommit_memory", Number, Host),
        ("vm.overcommit_hugepages", Number, Host),
        ("vm.swappiness", Number, Host),
        ("distribution.id", Text, Host),
        ("distribution.version", Version, Host),
        ("systemd.version", Version, Host),
        ("tuned.profile", Text, Host),
        ("tuned.thp", Text, Host),
        ("host.container", Boolean, Host),
        ("host.virtual", Boolean, Host),
        (HIDING, Text, Host),
        ("cgroup.hugetlb_accounting", Boolean, Host),
        ("app.version", Version, Process),
        ("process.thp_disabled", Boolean, Process),
        ("process.static", Boolean, Process),
        ("process.raises_rights", Boolean, Process),
        ("process.tunables_conf", Text, Process),
        ("process.rss.bytes", Number, Process),
        ("process.anon.bytes", Number, Process),
        ("process.heap.bytes", Number, Process),
        ("process.anon_huge.bytes", Number, Process),
        ("process.shmem.bytes", Number, Process),
        ("process.shmem_huge.bytes", Number, Process),
        ("process.hugetlb.bytes", Number, Process),
        ("process.advised.bytes", Number, Process),
        ("process.threads", Number, Process),
        ("argv", Text, Process),
        ("cgroup.memory.max.bytes", Number, Process),
        ("cgroup.memory.bytes", Number, Process),
        ("cgroup.anon_thp.bytes", Number, Process),
        ("cgroup.hugetlb.max.bytes", Number, Process),
        ("cgroup.kubernetes", Boolean, Process),
        ("cgroup.path", Text, Process),
    ]
};

/// Name prefixes that are completed by a subject, a variable, a flag or a setting.
const FAMILIES: [(&str, FactKind); 5] = [
    ("has.", FactKind::Boolean),
    ("version.", FactKind::Version),
    ("env.", FactKind::Text),
    ("flag.", FactKind::Text),
    ("conf.", FactKind::Text),
];

/// Returns the type and the owner of a fact; `None` if there is no fact with this name.
#[must_use]
pub fn describe(name: &str) -> Option<(FactKind, Owner)> {
    let named = NAMES.iter().find(|(own, ..)| *own == name);
    let named = named.map(|(_, kind, owner)| (*kind, *owner));
    named.or_else(|| {
        let family = FAMILIES
            .iter()
            .find(|(start, _)| name.len() > start.len() && name.starts_with(start));
        family.map(|(_, kind)| (*kind, Owner::Process))
    })
}
