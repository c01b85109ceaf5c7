//! The user documents: each command in a `console` block prints the lines below it, and each link has a target.
//!
//! `TRYCMD=overwrite cargo test -p hugewise --test documents` rewrites all blocks.

use std::path::{Path, PathBuf};

/// Documents whose `console` blocks are run, as patterns below the root.
const EXECUTED: [&str; 4] = [
    "README.md",
    "docs/glossary.md",
    "docs/guide/*.md",
    "examples/*/README.md",
];

/// Folders with documents of other projects.
const FOREIGN: [&str; 3] = ["target", ".cache", ".git"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the root")
}

/// Commands name committed files relative to the root, where readers would type them.
#[test]
fn printed_outputs_are_true() {
    std::env::set_current_dir(root()).unwrap();
    let cases = trycmd::TestCases::new();
    cases.register_bin("hugewise", trycmd::cargo::cargo_bin!("hugewise"));
    for (name, value) in [("COLUMNS", "80"), ("NO_COLOR", "1"), ("LC_ALL", "C")] {
        cases.env(name, value);
    }
    for document in EXECUTED {
        cases.case(document);
    }
}

#[test]
fn links_lead_somewhere() {
    let dead: Vec<String> = documents(&root())
        .iter()
        .flat_map(|document| dead_links(document))
        .collect();
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// Documents for reading in one sitting, with the maximum size of each in bytes.
const SHORT: [(&str, u64); 3] = [
    ("README.md", 8 * 1024),
    ("ARCHITECTURE.md", 10_000),
    ("docs/format.md", 8_000),
];

#[test]
fn short_documents_are_short() {
    for (document, most) in SHORT {
        let length = std::fs::metadata(root().join(document)).unwrap().len();
        assert!(
            length <= most,
            "{document} has {length} bytes, more than {most}"
        );
    }
}

/// Maximum size of a file under examples/, in bytes; longer records belong into evidence/.
const LARGEST_EXAMPLE: u64 = 100_000;

#[test]
fn examples_are_small() {
    let large: Vec<PathBuf> = files(&root().join("examples"))
        .into_iter()
        .filter(|path| std::fs::metadata(path).unwrap().len() > LARGEST_EXAMPLE)
        .collect();
    assert!(large.is_empty(), "{large:?}");
}

fn files(place: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(place) {
        Err(_) => vec![place.to_owned()],
        Ok(entries) => entries
            .flat_map(|entry| files(&entry.expect("an entry").path()))
            .collect(),
    }
}

fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let foreign = FOREIGN.iter().any(|name| path.ends_with(name));
        if path.is_dir() && !path.is_symlink() && !foreign {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// Links of a document to files that do not exist; skips web addresses and anchors within the page.
fn dead_links(document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(document).expect("a document");
    let folder = document.parent().expect("a folder");
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split_once('#').map_or(target, |(file, _)| file))
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .filter(|target| !folder.join(target).exists())
        .map(|target| format!("{}: {target}", document.display()))
        .collect()
}
