//! Policies from text and back: `[NAME:]KEY=VALUE[,KEY=VALUE…]`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::str::FromStr;

use super::runtime::{Runtime, key};
use super::words::Word;
use super::{Policy, Settings};
use keys::{begins_with_key, is_file_name, is_variable, not_a_pair, unknown_key};
use values::{mthp_text, parse_mthp, parse_number, parse_word};

mod keys;
#[cfg(test)]
pub(super) mod tests;
mod values;

pub(super) use values::{kib_text, one_of};

/// The name and the text of the policy that sets nothing.
const AS_IS: &str = "as-is";

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {problem}")]
pub struct ParseError {
    /// What was typed.
    pub text: String,
    /// What is wrong with it and what was expected.
    pub problem: String,
}

impl ParseError {
    /// What is wrong with a text. A problem of its only part names that part, which is the
    /// text again: that is said once.
    pub(super) fn new(text: &str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let named = format!("`{}`: ", text.trim());
        Self {
            text: text.to_owned(),
            problem: match problem.strip_prefix(&named) {
                Some(rest) => rest.to_owned(),
                None => problem,
            },
        }
    }
}

impl FromStr for Policy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fault = |problem: String| ParseError::new(text, problem);
        let (name, rest) = split_name(text.trim_start());
        let settings: Settings = parse_settings(rest).map_err(fault)?;
        let name = match name {
            Some(name) => check_name(name, &settings).map_err(fault)?,
            None => settings.to_string(),
        };
        Ok(Self { name, settings })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let canonical = self.settings.to_string();
        if self.name != canonical {
            write!(f, "{}:", self.name)?;
        }
        f.write_str(&canonical)
    }
}

impl FromStr for Settings {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_settings(text.trim_start()).map_err(|problem| ParseError::new(text, problem))
    }
}

impl fmt::Display for Settings {
    /// The canonical text: keys in the order of the fields, `as-is` when there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.pairs();
        if pairs.is_empty() {
            return f.write_str(AS_IS);
        }
        f.write_str(&pairs.join(","))
    }
}

impl Settings {
    /// `KEY=VALUE` for each thing set, in canonical order.
    fn pairs(&self) -> Vec<String> {
        let mut pairs = Vec::new();
        pairs.extend(self.thp.map(|it| format!("thp={}", it.word())));
        pairs.extend(self.defrag.map(|it| format!("defrag={}", it.word())));
        if !self.mthp.is_empty() {
            pairs.push(format!("mthp={}", mthp_text(&self.mthp)));
        }
        pairs.extend(self.zero_page.map(|it| format!("zero_page={}", it.word())));
        pairs.extend(
            self.khugepaged
                .iter()
                .map(|(file, number)| format!("khugepaged.{file}={number}")),
        );
        pairs.extend(self.malloc.map(|it| format!("malloc={}", it.word())));
        pairs.extend(
            self.runtime_settings()
                .map(|(runtime, name, value)| format!("{}={value}", key(runtime, name))),
        );
        pairs.extend(
            self.env
                .iter()
                .map(|(name, value)| format!("env.{name}={value}")),
        );
        pairs
    }
}

/// The part before the first `:` is a name if it holds no `=`.
fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((name, rest)) if !name.contains('=') => (Some(name), rest),
        _ => (None, text),
    }
}

fn check_name(name: &str, settings: &Settings) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("the name before `:` is empty; write NAME:KEY=VALUE".to_owned());
    }
    if name.chars().any(char::is_control) {
        return Err("a name is printed, so it may not hold control characters".to_owned());
    }
    if name == AS_IS && *settings != Settings::default() {
        return Err("`as-is` is the name of the policy that sets nothing".to_owned());
    }
    Ok(name.to_owned())
}

fn parse_settings(text: &str) -> Result<Settings, String> {
    let mut settings = Settings::default();
    if text == AS_IS {
        return Ok(settings);
    }
    let mut rest = Some(text);
    while let Some(pairs) = rest {
        let (pair, after) = split_pair(pairs);
        set_pair(&mut settings, pair)?;
        rest = after;
    }
    Ok(settings)
}

/// The first `KEY=VALUE` and what follows its comma. In the value of a variable a comma
/// separates only where another key follows, so that values may hold commas.
fn split_pair(text: &str) -> (&str, Option<&str>) {
    let lenient = text.starts_with("env.");
    let comma = text
        .match_indices(',')
        .map(|(at, _)| at)
        .find(|&at| !lenient || begins_with_key(&text[at + 1..]));
    match comma {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn set_pair(settings: &mut Settings, pair: &str) -> Result<(), String> {
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| not_a_pair(pair.trim()))?;
    match key {
        "thp" => set_once(&mut settings.thp, key, parse_word(key, value)?),
        "defrag" => set_once(&mut settings.defrag, key, parse_word(key, value)?),
        "zero_page" => set_once(&mut settings.zero_page, key, parse_word(key, value)?),
        "malloc" => set_once(&mut settings.malloc, key, parse_word(key, value)?),
        "mthp" if settings.mthp.is_empty() => {
            settings.mthp = parse_mthp(value)?;
            Ok(())
        }
        "mthp" => Err(twice(key)),
        _ => set_named(settings, key, value),
    }
}

/// The keys that carry a name: `khugepaged.FILE`, `env.NAME` and those of runtimes.
fn set_named(settings: &mut Settings, key: &str, value: &str) -> Result<(), String> {
    if let Some((runtime, name)) = Runtime::of_key(key) {
        let value = runtime.check(key, value)?;
        let named = settings.runtimes.entry(runtime).or_default();
        return insert_once(named, key, name.to_owned(), value);
    }
    match key.split_once('.') {
        Some(("khugepaged", file)) if is_file_name(file) => {
            let number = parse_number(key, value)?;
            insert_once(&mut settings.khugepaged, key, file.to_owned(), number)
        }
        Some(("env", name)) if is_variable(name) => {
            if value.contains('\0') {
                return Err(format!("`{key}`: a value may not hold a NUL"));
            }
            insert_once(&mut settings.env, key, name.to_owned(), value.to_owned())
        }
        Some(("env", _)) => Err(format!(
            "`{key}` does not name a variable; write env.NAME=VALUE"
        )),
        _ => Err(unknown_key(key)),
    }
}

fn set_once<T>(place: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice(key)),
    }
}

fn insert_once<K: Ord, V>(
    map: &mut BTreeMap<K, V>,
    what: &str,
    key: K,
    value: V,
) -> Result<(), String> {
    match map.entry(key) {
        Entry::Vacant(place) => {
            place.insert(value);
            Ok(())
        }
        Entry::Occupied(_) => Err(twice(what)),
    }
}

fn twice(key: &str) -> String {
    format!("`{key}` is set twice")
}
