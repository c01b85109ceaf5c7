//! Fields of a document that no page on formats contains.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// The handwritten page, which covers all documents.
const GENERAL: &str = "format.md";

/// Fields whose value is a map from names or sizes to objects: their keys are data.
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

/// Returns the names of fields and kinds of a document that are missing both in `docs/format.md` and in the given pages
/// of `docs/reference`. `data` are fields of this document with objects whose keys are names.
pub fn undocumented(pages: &[&str], data: &[&str], document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    fields(document, data, &mut names);
    assert!(names.len() > 5, "{pages:?} has few fields: {names:?}");
    let pages = pages.iter().map(|page| format!("reference/{page}.md"));
    let pages = pages.chain([GENERAL.to_owned()]).map(|page| text_of(&page));
    let text: String = pages.collect();
    names.retain(|name| !names_it(&text, name) && !is_of_a_type(&text, name));
    names
}

#[expect(clippy::disallowed_methods, reason = "a test reads what is kept")]
fn text_of(page: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Returns true if a name occurs in code, on its own or in a piece of JSON.
fn names_it(text: &str, name: &str) -> bool {
    let code = text.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|c| !is_of_word(c)))
        .any(|word| word == name)
}

/// Returns true for the name of a field or of a variant on a page of types: the first cell of a row, or the field that
/// contains the variant.
fn is_of_a_type(text: &str, name: &str) -> bool {
    if text.contains(&format!(
        " field {} is the name of the value",
        name.replace('_', "\\_")
    )) {
        return true;
    }
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
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
