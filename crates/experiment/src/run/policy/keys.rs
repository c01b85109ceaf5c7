//! All policy keys: a field and a table entry for each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

use serde::{Deserialize, Serialize};

use super::collapse::{self, Collapse};
use super::file_pages::{self, FilePages};
use super::key::{Acts, File, Key, Value};
use super::numa::Numa;
use super::parse::{
    MODES, PAGES, kib_text, parse_limit, parse_number, parse_sizes, parse_word, parse_words,
    sizes_text,
};
use super::runtime::{Runtime, RuntimeSettings};
use super::sites;
use super::tmpfs::{self, Tmpfs};
use super::words::{
    Defrag, Malloc, Means, Preload, Shmem, ShmemMode, SizeMode, Text, Thp, Toggle, Tracer, Word,
};
use crate::base::units::KIB;
use crate::run::site::SiteChoice;
use crate::text::wrap::quoted_words;

/// The settings of a policy; absent ones keep the machine's values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `thp=`: anonymous transparent huge pages of the PMD size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thp: Option<Thp>,
    /// `means=`: how `thp=always` is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub means: Option<Means>,
    /// `defrag=`: how hard a fault tries to get a huge page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defrag: Option<Defrag>,
    /// `mthp=`: per-size modes, by size in KiB.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        with = "crate::base::missing::number_keys"
    )]
    pub mthp: BTreeMap<u64, SizeMode>,
    /// `zero_page=`: should a read fault map the shared huge zero page?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_page: Option<Toggle>,
    /// `khugepaged.FILE=`: by file name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub khugepaged: BTreeMap<String, u64>,
    /// `shmem=`: huge pages of shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shmem: Option<Shmem>,
    /// `mthp_shmem=`: per-size modes of shared memory, by size in KiB.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        with = "crate::base::missing::number_keys"
    )]
    pub mthp_shmem: BTreeMap<u64, ShmemMode>,
    /// `tmpfs=`: a separate tmpfs over a mounted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<Tmpfs>,
    /// `file=`: pages of files in the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePages>,
    /// `hugetlb=`: pages in each hugetlb pool, by page size in KiB.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        with = "crate::base::missing::number_keys"
    )]
    pub hugetlb: BTreeMap<u64, u64>,
    /// `memory-max=`: the hard limit of the trial's cgroup, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<u64>,
    /// `memory-high=`: the soft limit of the trial's cgroup, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_high: Option<u64>,
    /// `numa=`: the memory nodes of the program's pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa: Option<Numa>,
    /// `malloc=`: the allocator, or the tunable for glibc's allocator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malloc: Option<Malloc>,
    /// `tracer=`: the tracer of `thp=always` without its advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracer: Option<Tracer>,
    /// `preload=`: the library of `thp=always` without its advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload: Option<Preload>,
    /// `collapse=`: memory in use by the program is made huge, by tracing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapse: Option<Collapse>,
    /// `text=`: code of the program is put into huge pages: copied by a tracer, or in the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// `sites=`: the mapping sites with huge pages, by tracing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<SiteChoice>,
    /// `java.NAME=` and similar: by runtime, then by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runtimes: RuntimeSettings,
    /// `args=`: additional arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// `env.NAME=`: environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// A key whose values are words, in a field with the same name.
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

/// A key with a value for each page size, in a field with the same name: `64k:always+2m:inherit`.
macro_rules! sizes {
    ($field:ident: $form:ident, $offered:expr, $parse:expr, $text:expr) => {
        Value {
            offered: || format!("SIZE:{}[+…]", $offered),
            is_name: str::is_empty,
            set: |settings, pair| {
                if !settings.$field.is_empty() {
                    return Err(twice(pair.key));
                }
                settings.$field = parse_sizes(pair.key, pair.value, $form, $parse)?;
                Ok(())
            },
            get: |settings, _| match settings.$field.is_empty() {
                true => Vec::new(),
                false => vec![(String::new(), sizes_text(&settings.$field, $text))],
            },
        }
    };
    ($field:ident: $type:ty) => {
        sizes!($field: MODES, <$type>::words().join("|"), parse_word, |mode| mode.word().to_owned())
    };
}

/// A key that limits memory, in a field of bytes.
macro_rules! limit {
    ($field:ident) => {
        Value {
            offered: || "SIZE".to_owned(),
            is_name: str::is_empty,
            set: |settings, pair| {
                let bytes = parse_limit(pair.key, pair.value)?;
                match settings.$field.replace(bytes) {
                    None => Ok(()),
                    Some(_) => Err(twice(pair.key)),
                }
            },
            get: |settings, _| {
                let set = settings.$field.iter();
                set.map(|bytes| (String::new(), kib_text(bytes / KIB)))
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
    Key { name: "means", acts: Acts::Pages, file: None, value: words!(means: Means),
        doc: "how thp=always is reached; the default is the first available way" },
    Key { name: "defrag", acts: Acts::Making, value: words!(defrag: Defrag),
        file: Some(File { path: "defrag", current: |thp, _| Some(thp.defrag.clone()) }),
        doc: "how hard a fault tries for a huge page" },
    Key { name: "mthp", acts: Acts::Pages, file: None, value: sizes!(mthp: SizeMode),
        doc: "the mode of each folio size" },
    Key { name: "zero_page", acts: Acts::Making, value: words!(zero_page: Toggle),
        file: Some(File { path: "use_zero_page", current: |thp, _| Some(u8::from(thp.zero_page).to_string()) }),
        doc: "whether a read fault maps the shared huge zero page" },
    Key { name: "khugepaged.FILE", acts: Acts::Making, value: KHUGEPAGED,
        file: Some(File { path: "khugepaged/FILE", current: |thp, name| thp.khugepaged.get(name).map(u64::to_string) }),
        doc: "a file of khugepaged" },
    Key { name: "shmem", acts: Acts::Pages, value: words!(shmem: Shmem),
        file: Some(File { path: "shmem_enabled", current: |thp, _| thp.shmem_enabled.clone() }),
        doc: "huge pages of shared memory: memfd, System V, MAP_SHARED without a file" },
    Key { name: "mthp_shmem", acts: Acts::Pages, file: None, value: sizes!(mthp_shmem: ShmemMode),
        doc: "the mode of each folio size in shared memory" },
    Key { name: "tmpfs", acts: Acts::Pages, file: None, value: TMPFS,
        doc: "a separate, empty tmpfs over the one mounted at PATH, with huge=MODE" },
    Key { name: "file", acts: Acts::Pages, file: None, value: FILE,
        doc: "files that are evicted from the page cache before each trial, and read again into huge or small pages" },
    Key { name: "hugetlb", acts: Acts::Pool, file: None,
        value: sizes!(hugetlb: PAGES, "PAGES", parse_number, u64::to_string),
        doc: "pages in a hugetlb pool during the trial, for a program that asks for them (MAP_HUGETLB, malloc=hugetlb)" },
    Key { name: "memory-max", acts: Acts::Program, file: None, value: limit!(memory_max),
        doc: "the hard limit of the trial's cgroup: memory.max, on version 1 memory.limit_in_bytes" },
    Key { name: "memory-high", acts: Acts::Program, file: None, value: limit!(memory_high),
        doc: "the limit beyond which the trial is slowed down: memory.high, on version 2 only" },
    Key { name: "numa", acts: Acts::Program, file: None, value: NUMA,
        doc: "the memory nodes of the program's pages, by set_mempolicy(2)" },
    Key { name: "malloc", acts: Acts::Program, file: None, value: words!(malloc: Malloc),
        doc: "the allocator, or a tunable of glibc's allocator" },
    Key { name: "tracer", acts: Acts::Program, file: None, value: words!(tracer: Tracer),
        doc: "the stops of thp=always by tracing, without its advice: the cost of tracing" },
    Key { name: "preload", acts: Acts::Program, file: None, value: words!(preload: Preload),
        doc: "the library of thp=always by preloading, without its advice: the cost of preloading" },
    Key { name: "collapse", acts: Acts::Pages, file: None, value: COLLAPSE,
        doc: "memory in use is made huge by MADV_COLLAPSE: once or periodically" },
    Key { name: "text", acts: Acts::Pages, file: None, value: words!(text: Text),
        doc: "code in huge pages: copied, at the same addresses, or of the page cache" },
    Key { name: "sites", acts: Acts::Pages, file: None, value: sites::VALUE,
        doc: "which individual mappings are huge, as tried by `attribute`" },
    runtime("java.NAME", "a flag of HotSpot, by JAVA_TOOL_OPTIONS"),
    runtime("go.NAME", "GOGC and similar, or an entry of GODEBUG"),
    runtime("jemalloc.NAME", "an entry of MALLOC_CONF"),
    runtime("mimalloc.NAME", "the variable MIMALLOC_NAME"),
    runtime("tcmalloc.NAME", "the variable TCMALLOC_NAME (gperftools)"),
    runtime("glibc.NAME", "an entry of GLIBC_TUNABLES"),
    runtime("postgres.NAME", "the value of {postgres.NAME} in the command"),
    runtime("redis.NAME", "the value of {redis.NAME} in the command"),
    Key { name: "args", acts: Acts::Program, file: None, value: ARGUMENTS,
        doc: "arguments of the program, right after its name or at {args}" },
    Key { name: "env.NAME", acts: Acts::Program, file: None, value: VARIABLE,
        doc: "an environment variable" },
];

const NUMA: Value = Value {
    offered: || "local|prefer:NODE|bind:NODES|interleave[:NODES]".to_owned(),
    is_name: str::is_empty,
    set: |settings, pair| {
        let numa = Numa::parse(pair.key, pair.value)?;
        match settings.numa.replace(numa) {
            None => Ok(()),
            Some(_) => Err(twice(pair.key)),
        }
    },
    get: |settings, _| {
        let set = settings.numa.iter();
        set.map(|numa| (String::new(), numa.to_string())).collect()
    },
};

const COLLAPSE: Value = Value {
    offered: || collapse::OFFERED.to_owned(),
    is_name: str::is_empty,
    set: |settings, pair| match settings.collapse.replace(pair.value.parse()?) {
        None => Ok(()),
        Some(_) => Err(twice(pair.key)),
    },
    get: |settings, _| {
        let set = settings.collapse.iter();
        set.map(|value| (String::new(), value.to_string()))
            .collect()
    },
};

const TMPFS: Value = Value {
    offered: tmpfs::offered,
    is_name: str::is_empty,
    set: |settings, pair| match settings.tmpfs.replace(pair.value.parse()?) {
        None => Ok(()),
        Some(_) => Err(twice(pair.key)),
    },
    get: |settings, _| {
        let set = settings.tmpfs.iter();
        set.map(|value| (String::new(), value.to_string()))
            .collect()
    },
};

const FILE: Value = Value {
    offered: file_pages::offered,
    is_name: str::is_empty,
    set: |settings, pair| match settings.file.replace(pair.value.parse()?) {
        None => Ok(()),
        Some(_) => Err(twice(pair.key)),
    },
    get: |settings, _| {
        let set = settings.file.iter();
        set.map(|value| (String::new(), value.to_string()))
            .collect()
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
        let (runtime, name) = Runtime::of_key(pair.key).ok_or("no such runtime")?;
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

const ARGUMENTS: Value = Value {
    offered: || "WORDS".to_owned(),
    is_name: str::is_empty,
    set: |settings, pair| {
        let words = parse_words(pair.key, pair.value)?;
        match std::mem::replace(&mut settings.args, words).is_empty() {
            true => Ok(()),
            false => Err(twice(pair.key)),
        }
    },
    get: |settings, _| match settings.args.is_empty() {
        true => Vec::new(),
        false => vec![(String::new(), quoted_words(&settings.args))],
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
