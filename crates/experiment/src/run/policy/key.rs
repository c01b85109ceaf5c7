//! A policy key: its row in the table, and how its value is set and read.

use std::fmt;

use super::Settings;
use super::keys::KEYS;
use super::parse::AS_IS;
use super::words::{Malloc, Thp, Word};
use crate::base::host::ThpSettings;
use crate::text::suggest::suggestion;

/// One key of a policy.
#[derive(Debug)]
pub struct Key {
    /// As it is offered: `thp`, or with what stands for a name, as `khugepaged.FILE`.
    pub name: &'static str,
    /// What it sets, as a clause.
    pub doc: &'static str,
    /// What it acts on.
    pub acts: Acts,
    /// The file that takes the value as it is typed; none where more has to be decided.
    pub(super) file: Option<File>,
    pub(super) value: Value,
}

/// What a key acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// Which pages the kernel may give.
    Pages,
    /// How the kernel makes huge pages, where it may give them.
    Making,
    /// How many pages a hugetlb pool holds.
    Pool,
    /// The program itself: its allocator, its runtime, its variables, its limits.
    Program,
}

/// A file of the kernel that holds the value of a key.
#[derive(Debug)]
pub(super) struct File {
    /// Relative to the folder of transparent huge pages; the name of the key stands in it.
    pub(super) path: &'static str,
    /// What it holds now; `None` where this kernel has no such file.
    pub(super) current: fn(&ThpSettings, name: &str) -> Option<String>,
}

/// How the values of a key are read and kept.
#[derive(Debug)]
pub(super) struct Value {
    /// As they are offered: `0|1`.
    pub(super) offered: fn() -> String,
    /// Whether a name may stand for the one that is offered.
    pub(super) is_name: fn(&str) -> bool,
    /// Takes a value in; the error says what was expected.
    pub(super) set: fn(&mut Settings, &Pair<'_>) -> Result<(), String>,
    /// The names, empty for a key without, and the values that are set.
    pub(super) get: fn(&Settings, word: &str) -> Vec<(String, String)>,
}

/// One `KEY=VALUE` as it was typed.
pub(super) struct Pair<'a> {
    pub(super) key: &'a str,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// One `KEY=VALUE` that is set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: &'static Key,
    /// What stands after the dot of the key.
    pub(super) name: String,
    pub(super) value: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key.of(&self.name), self.value)
    }
}

impl Key {
    /// The key of a text such as `khugepaged.max_ptes_none`, and its name.
    pub(super) fn find(text: &str) -> Option<(&'static Self, &str)> {
        let (word, name) = text.split_once('.').unwrap_or((text, ""));
        let key = KEYS.iter().find(|key| key.word() == word)?;
        ((key.value.is_name)(name) && text.contains('.') == key.name.contains('.'))
            .then_some((key, name))
    }

    /// What stands before the dot.
    pub(super) fn word(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// What stands for a name where the key takes one: `FILE`.
    fn placeholder(&self) -> &'static str {
        self.name.split('.').nth(1).unwrap_or_default()
    }

    /// The key with a name.
    fn of(&self, name: &str) -> String {
        match name {
            "" => self.name.to_owned(),
            name => format!("{}.{name}", self.word()),
        }
    }

    /// The values as they are offered: `never|madvise|always|inherit`.
    #[must_use]
    pub fn values(&self) -> String {
        (self.value.offered)()
    }

    /// What a policy sets of this key.
    pub(super) fn entries(&'static self, settings: &Settings) -> impl Iterator<Item = Entry> {
        let set = (self.value.get)(settings, self.word()).into_iter();
        set.map(move |(name, value)| Entry {
            key: self,
            name,
            value,
        })
    }
}

impl File {
    /// The path for one name of the key.
    pub(super) fn path_of(&self, key: &Key, name: &str) -> String {
        match key.placeholder() {
            "" => self.path.to_owned(),
            placeholder => self.path.replace(placeholder, name),
        }
    }
}

impl Settings {
    /// All that is set, in canonical order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        KEYS.iter().flat_map(|key| key.entries(self))
    }

    /// Sets what another policy sets.
    pub(super) fn set_entry(&mut self, entry: &Entry) -> Result<(), String> {
        self.set(&entry.key.of(&entry.name), &entry.value)
    }

    /// Sets one `KEY=VALUE`.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (row, name) = Key::find(key).ok_or_else(|| unknown_key(key))?;
        (row.value.set)(self, &Pair { key, name, value })
    }
}

impl Settings {
    /// Whether two policies differ in nothing but how the kernel backs pages. Only then may
    /// equal coverage be called "no effect"; an allocator or a variable may act otherwise.
    #[must_use]
    pub fn differs_only_in_pages(&self, other: &Self) -> bool {
        self.of_program().eq(other.of_program())
    }

    /// What is set of the program itself; its usual allocator is nothing set.
    pub(super) fn of_program(&self) -> impl Iterator<Item = String> {
        let entries = self.entries();
        let entries = entries.filter(|entry| entry.key.acts == Acts::Program);
        let pairs = entries.map(|entry| entry.to_string());
        pairs.filter(|pair| pair != "malloc=default")
    }
}

/// Every key with its values, as one sentence lists them.
#[must_use]
pub fn offered_keys() -> String {
    let keys = KEYS
        .iter()
        .map(|key| format!("{}={}", key.name, key.values()));
    keys.collect::<Vec<_>>().join(", ")
}

pub(super) fn begins_with_key(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(key, _)| Key::find(key).is_some())
}

fn unknown_key(typed: &str) -> String {
    let word = typed.split('.').next().unwrap_or(typed);
    if let Some(key) = KEYS.iter().find(|key| key.word() == word) {
        return format!("`{typed}` is no key; write {}=VALUE", key.name);
    }
    let near = suggestion(word, KEYS.iter().map(Key::word));
    let whole = KEYS.iter().fold(near, |near, key| {
        near.replace(&format!("`{}`", key.word()), &format!("`{}`", key.name))
    });
    let near = match whole.is_empty() {
        true => format!("; {WHERE_LISTED}"),
        false => whole,
    };
    format!("unknown key `{typed}`{near}")
}

/// More than two dozen keys are no part of an error.
const WHERE_LISTED: &str = "`hugewise run --help` lists the keys, such as thp and malloc";

/// A bare word is often a value whose key was forgotten.
pub(super) fn not_a_pair(typed: &str) -> String {
    // A bare key lacks its value; only a bare value is told its key.
    if let Some((key, name)) = Key::find(typed) {
        return format!(
            "`{typed}`: its value is missing; write {}={}",
            key.of(name),
            key.values()
        );
    }
    let whole = [("thp", Thp::words()), ("malloc", Malloc::words())];
    let meant = whole.iter().find(|(_, words)| words.contains(&typed));
    let near = match meant {
        Some((key, _)) => format!("; did you mean `{key}={typed}`?"),
        None => match suggestion(typed, KEYS.iter().map(|key| key.name).chain([AS_IS])) {
            near if near.is_empty() => ", such as thp=always, or as-is".to_owned(),
            near => near,
        },
    };
    format!("`{typed}`: a policy is KEY=VALUE[,KEY=VALUE…]{near}")
}
