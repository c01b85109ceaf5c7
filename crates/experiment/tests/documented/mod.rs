//! Which fields of a document FORMAT.md does not name in the parts that describe it.

use std::collections::BTreeSet;

use serde_json::Value;

const FORMAT: &str = include_str!("../../../../FORMAT.md");

/// The page that is made from the types of an answer, and the part under which it goes here.
const REPORT: &str = include_str!("../../../../docs/reference/format-report.md");
pub const TYPES: &str = "docs/reference/format-report.md";

/// Fields whose value is a map from names or sizes to things: their keys are data.
const MAPS: &[&str] = &[
    "allocators",
    "environment",
    "env",
    "files",
    "hugetlb",
    "khugepaged",
    "libraries",
    "long_stalls",
    "mthp",
    "mthp_shmem",
    "readings",
    "realisations",
    "shmem_sizes",
    "sizes",
    "slow_by_cause",
    "stalls",
    "vmstat",
];

/// Fields whose value is a word for a kind.
const KINDS: &[&str] = &["line", "why", "hazard", "how", "role", "reason"];

/// Names of fields and kinds of a document that none of some parts of FORMAT.md names. A part is
/// named by a word of its heading. `data` are fields of this document that hold objects with names of
/// their own.
pub fn undocumented(parts: &[&str], data: &[&str], document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    fields(document, data, &mut names);
    assert!(names.len() > 5, "{parts:?} has few fields: {names:?}");
    let of_types = parts.contains(&TYPES);
    let text = parts.iter().filter(|part| **part != TYPES);
    let text: String = text.map(|part| described(part)).collect();
    let is_known = |name: &String| names_it(&text, name) || of_types && is_of_a_type(name);
    names.retain(|name| !is_known(name));
    names
}

/// The part of FORMAT.md under the heading that holds a word.
fn described(word: &str) -> &'static str {
    let mut parts = FORMAT.split("\n## ");
    let part = parts.find(|part| part.lines().next().is_some_and(|it| it.contains(word)));
    part.unwrap_or_else(|| panic!("FORMAT.md has no heading with {word}"))
}

/// Whether a name stands in code, alone or in a piece of JSON.
fn names_it(text: &str, name: &str) -> bool {
    let code = text.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|c| !is_of_word(c)))
        .any(|word| word == name)
}

/// Returns true for the name of a field or of a variant: the first cell of a row on the page of types.
fn is_of_a_type(name: &str) -> bool {
    let rows = REPORT.lines().filter_map(|line| line.strip_prefix("| "));
    let mut first = rows.filter_map(|row| row.split(" |").next());
    first.any(|cell| cell.replace('\\', "").split(": ").any(|it| it == name))
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_word(text: &str) -> bool {
    text.chars().all(is_of_word)
}

fn fields(value: &Value, data: &[&str], names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| fields(item, data, names)),
        Value::Object(object) => object
            .iter()
            .for_each(|(key, value)| field(key, value, data, names)),
        _ => {}
    }
}

fn field(key: &str, value: &Value, data: &[&str], names: &mut BTreeSet<String>) {
    names.insert(key.to_owned());
    match value {
        Value::Object(_) if data.contains(&key) => {}
        Value::Object(map) if MAPS.contains(&key) => {
            map.values().for_each(|value| fields(value, data, names));
        }
        Value::String(kind) if KINDS.contains(&key) && is_word(kind) => {
            names.insert(kind.clone());
        }
        _ => fields(value, data, names),
    }
}
