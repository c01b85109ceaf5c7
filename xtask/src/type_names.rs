//! Checks that the public types of one crate have different names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Argument types of verbs are distinguished by their module: `run::Arguments`.
const OF_A_MODULE: &str = "Arguments";

/// Files that replace another when a feature is off, and have the same types.
const SUBSTITUTES: [&str; 2] = ["parquet/disabled.rs", "cmd/export/no_arm.rs"];

/// Returns the Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    files
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .collect()
}

/// Returns the names of the public types in a text, without its tests.
fn types(text: &str) -> impl Iterator<Item = &str> {
    let built = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    built.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let kinds = ["struct ", "enum ", "trait ", "union "];
        let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
        name.split(|it: char| !it.is_alphanumeric()).next()
    })
}

/// Returns the types of a crate that are defined in more than one file, with these files.
fn twice(crate_: &Path) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources(&crate_.join("src")) {
        if SUBSTITUTES.iter().any(|it| file.ends_with(it)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source");
        for name in types(&text).filter(|name| *name != OF_A_MODULE) {
            let places = places.entry(name.to_owned()).or_default();
            places.push(file.display().to_string());
        }
    }
    places.retain(|_, places| places.len() > 1);
    let twice = places.into_iter();
    twice
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect()
}

#[test]
fn public_types_of_a_crate_have_different_names() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let folders = fs::read_dir(crates).expect("crates");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let twice: Vec<String> = folders
        .filter(|folder| folder.join("src").is_dir())
        .flat_map(|folder| twice(&folder))
        .collect();
    assert!(twice.is_empty(), "{}", twice.join("\n"));
}

#[test]
fn a_definition_is_found_and_a_use_is_not() {
    let text = "pub struct Row<'a> {\n    pub enum Kind {\nfn f(it: pub struct)\n// pub trait X\npub(crate) struct Own;\n\
                #[cfg(test)]\nmod tests {\n    pub struct InTests;\n";
    assert_eq!(types(text).collect::<Vec<_>>(), ["Row", "Kind"]);
}
