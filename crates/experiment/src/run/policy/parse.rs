//! Policies from text and back: `[NAME:]KEY=VALUE[,KEY=VALUE…]`.

use std::fmt;
use std::str::FromStr;

use super::key::{begins_with_key, not_a_pair};
use super::{Policy, Settings};

#[cfg(test)]
pub(super) mod tests;
mod values;

pub(super) use values::{
    MODES, PAGES, kib_text, one_of, parse_limit, parse_number, parse_sizes, parse_word,
    parse_words, sizes_text,
};

/// The name and the text of the policy that sets nothing.
pub(super) const AS_IS: &str = "as-is";

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {problem}")]
pub struct ParseError {
    /// The typed text.
    pub text: String,
    /// The error and the expected form.
    pub problem: String,
}

impl ParseError {
    /// Describes the error in a text. If the text has a single part, a problem that repeats this part is shown once.
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
    /// The canonical text: keys in the order of the table, `as-is` if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.entries().map(|entry| entry.to_string()).collect();
        if pairs.is_empty() {
            return f.write_str(AS_IS);
        }
        f.write_str(&pairs.join(","))
    }
}

/// The part before the first `:` is a name if it contains no `=`.
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

/// The first `KEY=VALUE` and the rest after its comma. In the value of a variable and in arguments, a comma separates
/// only if another key follows, so these values can contain commas.
fn split_pair(text: &str) -> (&str, Option<&str>) {
    let lenient = ["env.", "args="].iter().any(|key| text.starts_with(key));
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
    match pair.split_once('=') {
        Some((key, value)) => settings.set(key, value),
        None => Err(not_a_pair(pair.trim())),
    }
}
