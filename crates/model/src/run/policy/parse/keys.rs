//! The keys: which there are, how their names are made, and what a word that is none was meant
//! to be.

use super::AS_IS;
use crate::run::policy::nearest::suggestion;
use crate::run::policy::runtime::Runtime;
use crate::run::policy::words::Word;
use crate::run::policy::{Malloc, Thp};

/// The keys, as they are offered; those with a dot take a name.
const KEYS: [&str; 15] = [
    "thp",
    "defrag",
    "mthp",
    "zero_page",
    "khugepaged.FILE",
    "malloc",
    "java.NAME",
    "go.NAME",
    "jemalloc.NAME",
    "mimalloc.NAME",
    "tcmalloc.NAME",
    "glibc.NAME",
    "postgres.NAME",
    "redis.NAME",
    "env.NAME",
];

pub(super) fn begins_with_key(text: &str) -> bool {
    text.split_once('=').is_some_and(|(key, _)| is_key(key))
}

fn is_key(key: &str) -> bool {
    match key.split_once('.') {
        Some(("env", name)) => is_variable(name),
        Some(("khugepaged", file)) => is_file_name(file),
        Some(_) => Runtime::of_key(key).is_some(),
        None => KEYS.contains(&key),
    }
}

pub(super) fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit()) && is_identifier(name)
}

pub(super) fn is_file_name(name: &str) -> bool {
    is_identifier(name) && !name.contains(|c: char| c.is_ascii_uppercase())
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn unknown_key(key: &str) -> String {
    let typed = key.split_once('.').map_or(key, |(before, _)| before);
    let known = KEYS.map(|each| (each.split('.').next().unwrap_or(each), each));
    let near = suggestion(typed, known.iter().map(|&(word, _)| word));
    let whole = known
        .iter()
        .filter(|(word, each)| word != each)
        .fold(near, |near, (word, each)| {
            near.replace(&format!("`{word}`"), &format!("`{each}`"))
        });
    format!(
        "unknown key `{key}`; the keys are {}{whole}",
        KEYS.join(", ")
    )
}

/// A bare word is often a value whose key was forgotten.
pub(super) fn not_a_pair(typed: &str) -> String {
    let whole: Vec<String> = [AS_IS.to_owned()]
        .into_iter()
        .chain(Thp::words().iter().map(|word| format!("thp={word}")))
        .chain(Malloc::words().iter().map(|word| format!("malloc={word}")))
        .collect();
    let near = whole
        .iter()
        .find(|each| each.split('=').next_back() == Some(typed))
        .map_or_else(
            || suggestion(typed, KEYS.into_iter().chain([AS_IS])),
            |each| format!("; did you mean `{each}`?"),
        );
    format!("`{typed}`: expected KEY=VALUE[,KEY=VALUE…] or as-is{near}")
}
