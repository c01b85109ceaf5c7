//! Unique names of loads: two benchmarks are never merged, and no name replaces another.

use std::collections::{BTreeMap, BTreeSet};

use super::Load;
use crate::base::fnv::fnv1a;

/// Returns names, with a detail appended to each name that several details share.
pub(super) fn told_apart(named: &[(String, String)]) -> Vec<String> {
    let mut details: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, detail) in named {
        details.entry(name).or_default().insert(detail);
    }
    let is_alone = |name: &str| details.get(name).is_none_or(|it| it.len() < 2);
    let told = named.iter().map(|(name, detail)| match is_alone(name) {
        true => name.clone(),
        false => format!("{name} {detail}").trim_end().to_owned(),
    });
    told.collect()
}

/// Returns the prefix of each load's metrics: `set_` for `SET`.
///
/// If names differ only in punctuation, all of their marks become words. So no name can be mistaken for another in a
/// trial that lacks the other.
///
/// # Errors
///
/// Two loads of one name.
pub(super) fn prefixes(loads: &[Load]) -> Result<Vec<String>, String> {
    let names: Vec<&str> = loads
        .iter()
        .map(|it| it.name.as_deref().unwrap_or(""))
        .collect();
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(**name)) {
        return Err(format!(
            "`{name}` is there twice; let the load print one run, and give each test its own name"
        ));
    }
    let mut spellings = vec![Spelling::Plain; names.len()];
    loop {
        let spelled = names.iter().zip(&spellings);
        let prefixes: Vec<String> = spelled.map(|(name, spelling)| spelling.of(name)).collect();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for prefix in &prefixes {
            *counts.entry(prefix).or_default() += 1;
        }
        let next = spellings.iter().zip(&prefixes).map(|(spelling, prefix)| {
            match counts.get(prefix.as_str()) {
                Some(1) | None => *spelling,
                Some(_) => spelling.next(),
            }
        });
        let next: Vec<Spelling> = next.collect();
        if next == spellings {
            return Ok(prefixes);
        }
        spellings = next;
    }
}

/// The conversion of a name to a part of a metric's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Each mark is `_`.
    Plain,
    /// Each mark is a word.
    Marks,
    /// The same, with a checksum of the name: upper and lower case also differ.
    Hash,
}

impl Spelling {
    fn next(self) -> Self {
        match self {
            Self::Plain => Self::Marks,
            Self::Marks | Self::Hash => Self::Hash,
        }
    }

    fn of(self, name: &str) -> String {
        match self {
            _ if name.is_empty() => String::new(),
            Self::Plain => joined(name.split(|c: char| !c.is_ascii_alphanumeric())),
            Self::Marks => joined(in_words(name).split(' ')),
            Self::Hash => {
                let hash = format!("{:08x}", fnv1a(name.bytes()));
                joined(in_words(name).split(' ').chain([hash.as_str()]))
            }
        }
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    format!("{}_", parts.join("_"))
}

/// Returns a name with a word for each mark.
fn in_words(name: &str) -> String {
    const WORDS: [(char, &str); 10] = [
        ('-', "dash"),
        ('_', "underscore"),
        ('/', "slash"),
        ('.', "dot"),
        (':', "colon"),
        (',', "comma"),
        ('=', "equals"),
        ('+', "plus"),
        ('#', "number"),
        (' ', "space"),
    ];
    let mut text = String::new();
    for letter in name.chars() {
        match WORDS.iter().find(|(mark, _)| *mark == letter) {
            Some((_, word)) => text.push_str(&format!(" {word} ")),
            None if letter.is_ascii_alphanumeric() => text.push(letter),
            None => text.push_str(&format!(" u{:x} ", u32::from(letter))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Vec<String>, String> {
        let named = |name: &&str| Load {
            name: Some((*name).to_owned()),
            ..Load::default()
        };
        prefixes(&names.iter().map(named).collect::<Vec<_>>())
    }

    #[test]
    fn names_that_differ_are_metrics_that_differ() {
        let cases: [(&[&str], &[&str]); 3] = [
            (&["SET", "GET (x2)"], &["set_", "get_x2_"]),
            (
                &["Fib/a_b", "Fib/a-b", "A"],
                &["fib_slash_a_underscore_b_", "fib_slash_a_dash_b_", "a_"],
            ),
            (&["时间", "メモリ"], &["u65f6_u95f4_", "u30e1_u30e2_u30ea_"]),
        ];
        for (names, prefixes) in cases {
            let expected = prefixes.iter().map(ToString::to_string).collect();
            assert_eq!(of(names), Ok(expected), "{names:?}");
        }
        for names in [
            ["aB", "Ab", "c"],
            ["a.b", "a dot b", "a.b."],
            ["!", "?", ""],
        ] {
            let found = of(&names).expect("no two are alike");
            let distinct: BTreeSet<&String> = found.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{found:?}");
        }
        assert!(
            of(&["SET", "GET", "SET"])
                .expect_err("two")
                .contains("`SET` is there twice")
        );
        assert_eq!(prefixes(&[Load::default()]), Ok(vec![String::new()]));
    }
}
