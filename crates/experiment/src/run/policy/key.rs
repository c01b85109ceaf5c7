//! A policy key: its table entry, and how its value is set and read.

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
    /// The key as shown to users: `thp`, or with a placeholder for a name, as in `khugepaged.FILE`.
    pub name: &'static str,
    /// Its effect, as a clause.
    pub doc: &'static str,
    /// The object of its effect.
    pub acts: Acts,
    /// The file that takes the value as typed; `None` if the mapping is more complex.
    pub(super) file: Option<File>,
    pub(super) value: Value,
}

/// The object of a key's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// The pages that the kernel may give.
    Pages,
    /// How the kernel creates huge pages, if it may give them.
    Making,
    /// The number of pages in a hugetlb pool.
    Pool,
    /// The program: its allocator, runtime, variables and limits.
    Program,
}

/// A kernel file that holds the value of a key.
#[derive(Debug)]
pub(super) struct File {
    /// Relative to the folder of transparent huge pages; contains a placeholder for the name in the key.
    pub(super) path: &'static str,
    /// Its present content; `None` if this kernel has no such file.
    pub(super) current: fn(&ThpSettings, name: &str) -> Option<String>,
}

/// How the values of a key are parsed and stored.
#[derive(Debug)]
pub(super) struct Value {
    /// The values as shown to users: `0|1`.
    pub(super) offered: fn() -> String,
    /// Returns true if this name can replace the placeholder.
    pub(super) is_name: fn(&str) -> bool,
    /// Stores a value; the error describes the expected form.
    pub(super) set: fn(&mut Settings, &Pair<'_>) -> Result<(), String>,
    /// The names (empty for a key without) and the values set.
    pub(super) get: fn(&Settings, word: &str) -> Vec<(String, String)>,
}

/// One `KEY=VALUE` as typed.
pub(super) struct Pair<'a> {
    pub(super) key: &'a str,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// One `KEY=VALUE` of a policy.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: &'static Key,
    /// The part of the key after the dot.
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

    /// The part before the dot.
    pub(super) fn word(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// The placeholder for a name if the key takes one: `FILE`.
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

    /// The values as shown to users: `never|madvise|always|inherit`.
    #[must_use]
    pub fn values(&self) -> String {
        (self.value.offered)()
    }

    /// The values that a policy sets for this key.
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
    /// All settings, in canonical order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        KEYS.iter().flat_map(|key| key.entries(self))
    }

    /// Applies one entry of another policy.
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
    /// Returns true if two policies differ only in how the kernel backs pages. Only then may equal coverage be called
    /// "no effect"; an allocator or a variable may act in other ways.
    #[must_use]
    pub fn differs_only_in_pages(&self, other: &Self) -> bool {
        self.of_program().eq(other.of_program())
    }

    /// The settings of the program; its default allocator counts as no setting.
    pub(super) fn of_program(&self) -> impl Iterator<Item = String> {
        let entries = self.entries();
        let entries = entries.filter(|entry| entry.key.acts == Acts::Program);
        let pairs = entries.map(|entry| entry.to_string());
        pairs.filter(|pair| pair != "malloc=default")
    }
}

/// Every key with its values, as a list within a sentence.
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

/// More than two dozen keys are too long for an error.
const WHERE_LISTED: &str = "`hugewise run --help` lists the keys, such as thp and malloc";

/// A bare word is often a value without its key.
pub(super) fn not_a_pair(typed: &str) -> String {
    // A bare key lacks its value; only a bare value gets a hint about its key.
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
