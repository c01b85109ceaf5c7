//! Values from text and back.

use std::collections::BTreeMap;

use crate::base::units::{GIB, KIB, MIB, parse_size};
use crate::run::policy::words::Word;
use crate::text::suggest::suggestion;
use crate::text::wrap::plain;

pub(in crate::run::policy) fn parse_word<W: Word>(key: &str, value: &str) -> Result<W, String> {
    value.parse().map_err(|_| {
        let words = W::words();
        let near = suggestion(value, words.iter().copied());
        format!("`{key}={value}`: expected {}{near}", one_of(&words))
    })
}

pub(in crate::run::policy) fn parse_number(key: &str, value: &str) -> Result<u64, String> {
    value
        .parse()
        .map_err(|_| format!("`{key}={value}`: expected a whole number from 0"))
}

/// The value after each page size, and an example.
pub(in crate::run::policy) type Form = (&'static str, &'static str);

/// A mode for each size.
pub(in crate::run::policy) const MODES: Form = ("MODE", "64K:always");
/// A number of pages of each size.
pub(in crate::run::policy) const PAGES: Form = ("PAGES", "2M:512");

/// `64k:always+2m:inherit`, by size in KiB.
pub(in crate::run::policy) fn parse_sizes<T>(
    key: &str,
    value: &str,
    (noun, example): Form,
    parse: impl Fn(&str, &str) -> Result<T, String>,
) -> Result<BTreeMap<u64, T>, String> {
    let mut sizes = BTreeMap::new();
    for part in value.split('+') {
        let (size, each) = part.split_once(':').ok_or_else(|| {
            format!("`{key}={value}`: expected SIZE:{noun}[+SIZE:{noun}…], as in {key}={example}")
        })?;
        let kib = parse_kib(size)?;
        if sizes.insert(kib, parse(size, each)?).is_some() {
            return Err(format!("`{size}` is set twice"));
        }
    }
    Ok(sizes)
}

/// A memory limit in bytes: whole MiB, of which every page size is a fraction or a multiple.
pub(in crate::run::policy) fn parse_limit(key: &str, value: &str) -> Result<u64, String> {
    let bytes = parse_size(value).ok();
    let whole = bytes.filter(|bytes| *bytes >= MIB && bytes.is_multiple_of(MIB));
    whole.ok_or_else(|| format!("`{key}={value}`: expected whole MiB, as in {key}=512M"))
}

/// Words, quoted for a shell if they contain spaces.
pub(in crate::run::policy) fn parse_words(key: &str, value: &str) -> Result<Vec<String>, String> {
    let words =
        shlex::split(value).ok_or_else(|| format!("`{key}={value}`: a quote is not closed"))?;
    // They are shown on one line, and pasted from it.
    if words.iter().any(|word| plain(word) != *word) {
        return Err(format!(
            "`{key}`: arguments may not hold control characters"
        ));
    }
    match words.is_empty() {
        true => Err(format!(
            "`{key}={value}`: expected arguments, as in {key}=-L"
        )),
        false => Ok(words),
    }
}

fn parse_kib(size: &str) -> Result<u64, String> {
    let bytes = parse_size(size)?;
    if bytes >= KIB && bytes.is_power_of_two() {
        return Ok(bytes / KIB);
    }
    Err(format!(
        "`{size}` is not a size of a page; write a power of two of KiB, as in 64K or 2M"
    ))
}

pub(in crate::run::policy) fn sizes_text<T>(
    sizes: &BTreeMap<u64, T>,
    text: impl Fn(&T) -> String,
) -> String {
    let parts: Vec<String> = sizes
        .iter()
        .map(|(&kib, each)| format!("{}:{}", kib_text(kib), text(each)))
        .collect();
    parts.join("+")
}

/// A size as typed: `64K`, `2M`, `1G`.
pub(in crate::run::policy) fn kib_text(kib: u64) -> String {
    for (unit, letter) in [(GIB / KIB, 'G'), (MIB / KIB, 'M')] {
        if kib >= unit && kib.is_multiple_of(unit) {
            return format!("{}{letter}", kib / unit);
        }
    }
    format!("{kib}K")
}

/// `a, b or c`.
pub(in crate::run::policy) fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
