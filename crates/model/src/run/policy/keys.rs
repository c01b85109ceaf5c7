//! The keys of a policy: a row says all that is known of a key.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::fmt;

use super::parse::{AS_IS, mthp_text, parse_mthp, parse_number, parse_word};
use super::runtime::Runtime;
use super::words::Word;
use super::{Defrag, Malloc, Settings, SizeMode, Thp, Toggle};
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
    value: Value,
}

/// What a key acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// Which pages the kernel may give.
    Pages,
    /// How the kernel makes huge pages, where it may give them.
    Making,
    /// The program itself: its allocator, its runtime, its variables.
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
struct Value {
    /// As they are offered: `0|1`.
    offered: fn() -> String,
    /// Whether a name may stand for the one that is offered.
    is_name: fn(&str) -> bool,
    /// Takes a value in; the error says what was expected.
    set: fn(&mut Settings, &Pair<'_>) -> Result<(), String>,
    /// The names, empty for a key without, and the values that are set.
    get: fn(&Settings, word: &str) -> Vec<(String, String)>,
}

/// One `KEY=VALUE` as it was typed.
pub(super) struct Pair<'a> {
    key: &'a str,
    name: &'a str,
    value: &'a str,
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

/// A key whose values are words, in a field of its own name.
macro_rules! words {
    ($field:ident: $type:ty) => {
        Value {
            offered: || <$type>::words().join("|"),
            is_name: str::is_empty,
            set: |settings, pair| {
                let value = parse_word(pair.key, pair.value)?;
                match settings.$field.replace(value) {
                    None => Ok(()),
                    Some(_) => Err(twice(pair.key)),
                }
            },
            get: |settings, _| {
                let set = settings.$field.iter();
                set.map(|value| (String::new(), value.word().to_owned()))
                    .collect()
            },
        }
    };
}

/// The keys of one runtime.
const fn runtime(name: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        acts: Acts::Program,
        file: None,
        value: RUNTIME,
    }
}

/// All keys, in the order in which a policy is written.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    Key { name: "thp", acts: Acts::Pages, file: None, value: words!(thp: Thp),
        doc: "anonymous transparent huge pages of the PMD size" },
    Key { name: "defrag", acts: Acts::Making, value: words!(defrag: Defrag),
        file: Some(File { path: "defrag", current: |thp, _| Some(thp.defrag.clone()) }),
        doc: "how hard a fault tries for a huge page" },
    Key { name: "mthp", acts: Acts::Pages, file: None, value: SIZES,
        doc: "the mode of each folio size" },
    Key { name: "zero_page", acts: Acts::Making, value: words!(zero_page: Toggle),
        file: Some(File { path: "use_zero_page", current: |thp, _| Some(u8::from(thp.zero_page).to_string()) }),
        doc: "whether a read fault maps the shared huge zero page" },
    Key { name: "khugepaged.FILE", acts: Acts::Making, value: KHUGEPAGED,
        file: Some(File { path: "khugepaged/FILE", current: |thp, name| thp.khugepaged.get(name).map(u64::to_string) }),
        doc: "a file of khugepaged" },
    Key { name: "malloc", acts: Acts::Program, file: None, value: words!(malloc: Malloc),
        doc: "the allocator, or what glibc's allocator is told" },
    runtime("java.NAME", "a flag of HotSpot, by JAVA_TOOL_OPTIONS"),
    runtime("go.NAME", "GOGC and its kind, or an entry of GODEBUG"),
    runtime("jemalloc.NAME", "an entry of MALLOC_CONF"),
    runtime("mimalloc.NAME", "the variable MIMALLOC_NAME"),
    runtime("tcmalloc.NAME", "the variable TCMALLOC_NAME (gperftools)"),
    runtime("glibc.NAME", "an entry of GLIBC_TUNABLES"),
    runtime("postgres.NAME", "what fills {postgres.NAME} in the command"),
    runtime("redis.NAME", "what fills {redis.NAME} in the command"),
    Key { name: "env.NAME", acts: Acts::Program, file: None, value: VARIABLE,
        doc: "a variable of the environment" },
];

/// `64k:always+2m:inherit`.
const SIZES: Value = Value {
    offered: || format!("SIZE:{}[+…]", SizeMode::words().join("|")),
    is_name: str::is_empty,
    set: |settings, pair| {
        if !settings.mthp.is_empty() {
            return Err(twice(pair.key));
        }
        settings.mthp = parse_mthp(pair.value)?;
        Ok(())
    },
    get: |settings, _| match settings.mthp.is_empty() {
        true => Vec::new(),
        false => vec![(String::new(), mthp_text(&settings.mthp))],
    },
};

const KHUGEPAGED: Value = Value {
    offered: || "N".to_owned(),
    is_name: |name| is_identifier(name) && !name.contains(|c: char| c.is_ascii_uppercase()),
    set: |settings, pair| {
        let number = parse_number(pair.key, pair.value)?;
        insert_once(
            &mut settings.khugepaged,
            pair.key,
            pair.name.to_owned(),
            number,
        )
    },
    get: |settings, _| {
        let set = settings.khugepaged.iter();
        set.map(|(file, number)| (file.clone(), number.to_string()))
            .collect()
    },
};

const RUNTIME: Value = Value {
    offered: || "VALUE".to_owned(),
    is_name: |name| {
        let legal = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !name.is_empty() && name.chars().all(legal)
    },
    set: |settings, pair| {
        let (runtime, name) = Runtime::of_key(pair.key).ok_or_else(|| unknown_key(pair.key))?;
        let value = runtime.check(pair.key, pair.value)?;
        let named = settings.runtimes.entry(runtime).or_default();
        insert_once(named, pair.key, name.to_owned(), value)
    },
    get: |settings, word| {
        let named = |runtime: Runtime| settings.runtimes.get(&runtime);
        let set = word.parse().ok().and_then(named).into_iter().flatten();
        set.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    },
};

const VARIABLE: Value = Value {
    offered: || "VALUE".to_owned(),
    is_name: |name| !name.starts_with(|c: char| c.is_ascii_digit()) && is_identifier(name),
    set: |settings, pair| {
        if pair.value.contains('\0') {
            return Err(format!("`{}`: a value may not hold a NUL", pair.key));
        }
        insert_once(
            &mut settings.env,
            pair.key,
            pair.name.to_owned(),
            pair.value.to_owned(),
        )
    },
    get: |settings, _| {
        let set = settings.env.iter();
        set.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    },
};

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

/// Every key with its values, as one sentence lists them.
#[must_use]
pub fn offered() -> String {
    let keys = KEYS
        .iter()
        .map(|key| format!("{}={}", key.name, key.values()));
    keys.collect::<Vec<_>>().join(", ")
}

pub(super) fn begins_with_key(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(key, _)| Key::find(key).is_some())
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn insert_once<K: Ord, V>(
    map: &mut BTreeMap<K, V>,
    what: &str,
    key: K,
    value: V,
) -> Result<(), String> {
    match map.entry(key) {
        Place::Vacant(place) => {
            place.insert(value);
            Ok(())
        }
        Place::Occupied(_) => Err(twice(what)),
    }
}

fn twice(key: &str) -> String {
    format!("`{key}` is set twice")
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
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    format!(
        "unknown key `{typed}`; the keys are {}{whole}",
        names.join(", ")
    )
}

/// A bare word is often a value whose key was forgotten.
pub(super) fn not_a_pair(typed: &str) -> String {
    let whole = [("thp", Thp::words()), ("malloc", Malloc::words())];
    let meant = whole.iter().find(|(_, words)| words.contains(&typed));
    let near = match meant {
        Some((key, _)) => format!("; did you mean `{key}={typed}`?"),
        None => suggestion(typed, KEYS.iter().map(|key| key.name).chain([AS_IS])),
    };
    format!("`{typed}`: expected KEY=VALUE[,KEY=VALUE…] or as-is{near}")
}
