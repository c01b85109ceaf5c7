//! Code outside `run::answer::words` never compares or cuts printed text.
//!
//! A decision based on words breaks when the words change. So every call that searches a text is listed here, with the
//! reason why that text is a name and not a sentence.

use std::path::{Path, PathBuf};

use super::records::root;

/// The folders that decide and lay out.
const FOLDERS: [&str; 4] = ["answer", "report", "cause", "compare"];
/// Words are created there, and may be cut there.
const WORDS: &str = "answer/words";

/// Calls that search a text for a fixed one.
const CALLS: [&str; 10] = [
    ".split(\"",
    ".split_once(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".contains(\"",
    ".find(\"",
    ".matches(\"",
    ".replacen(",
];

const METRIC: &str = "a part of the name of a metric";
const FLAG: &str = "a flag of a command line";

/// Each file with its permitted call, and the reason why the text is not a sentence.
const ALLOWED: [(&str, &str, &str); 9] = [
    (
        "answer/build/commands.rs",
        ".strip_prefix(\"--stdin\")",
        FLAG,
    ),
    (
        "answer/build/commands.rs",
        ".starts_with(\"--stdin\")",
        FLAG,
    ),
    (
        "answer/build/pages.rs",
        ".starts_with(\"huge_anon_\")",
        METRIC,
    ),
    ("compare/columns.rs", ".strip_prefix(\"mthp_\")", METRIC),
    ("compare/columns.rs", ".split_once(\"kib_\")", METRIC),
    ("compare/coverage.rs", ".starts_with(\"huge", METRIC),
    ("compare/coverage.rs", ".starts_with(\"hugetlb_\")", METRIC),
    ("compare/coverage.rs", ".starts_with(\"mthp_\")", METRIC),
    ("compare/coverage.rs", ".ends_with(\"_", METRIC),
];

/// Returns the source files below a folder, without those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_test = |path: &PathBuf| path.file_stem().is_some_and(|it| it == "tests");
    let paths = paths.filter(|path| !is_test(path));
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .collect()
}

/// Returns each line that searches a text, with its file.
fn found() -> Vec<(String, String)> {
    let run = root().join("crates/experiment/src/run");
    let files = FOLDERS.iter().flat_map(|folder| sources(&run.join(folder)));
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(&run).unwrap().display().to_string();
        if name.starts_with(WORDS) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let built = text.split("#[cfg(test)]\nmod ").next().unwrap();
        let lines = built
            .lines()
            .filter(|line| CALLS.iter().any(|call| line.contains(call)));
        found.extend(lines.map(|line| (name.clone(), line.trim().to_owned())));
    }
    found
}

#[test]
fn nobody_reads_a_decision_from_words() {
    let is_allowed = |(file, line): &&(String, String)| {
        let mut known = ALLOWED.iter();
        known.any(|(place, text, _)| file == place && line.contains(text))
    };
    let found = found();
    let (known, unknown): (Vec<_>, Vec<_>) = found.iter().partition(is_allowed);
    assert_eq!(unknown, Vec::<&(String, String)>::new());
    for (place, text, why) in ALLOWED {
        let mut known = known.iter();
        let is_used = known.any(|(file, line)| file == place && line.contains(text));
        assert!(is_used, "{place} no longer has {text}: {why}");
    }
}
