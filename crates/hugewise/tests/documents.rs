//! The user documents: each command in a `console` block prints the lines below it, each link has a target, and each
//! message of the troubleshooting page is real.
//!
//! `TRYCMD=overwrite cargo test -p hugewise --test documents` rewrites all blocks.

use std::path::{Path, PathBuf};

/// Documents whose `console` blocks are run, as patterns below the root.
const EXECUTED: [&str; 5] = [
    "README.md",
    "docs/apps/*.md",
    "docs/glossary.md",
    "docs/guide/*.md",
    "examples/*/README.md",
];

/// The record of the session in `docs/session.txt`.
const SESSION: &str = "docs/records/redis-quiet-2.jsonl.gz";

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
const SHORT: [(&str, u64); 2] = [("ARCHITECTURE.md", 10_000), ("docs/format.md", 8_000)];

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

/// The README shows an answer on the first screen, and can be read in one sitting.
#[test]
fn the_readme_answers_first() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let lines: Vec<&str> = readme.lines().collect();
    let answer = lines.iter().position(|line| *line == "```console");
    assert!(answer.is_some_and(|line| line < 24), "{answer:?}");
    let command = answer.and_then(|line| lines.get(line + 1)).unwrap();
    assert!(command.starts_with("$ hugewise "), "{command}");
    assert!(lines.len() <= 120, "{} lines", lines.len());
}

/// The session of the README's picture is the report of a kept record.
#[test]
fn the_session_is_a_report() {
    let session = std::fs::read_to_string(root().join("docs/session.txt")).unwrap();
    let (command, shown) = session.split_once('\n').unwrap();
    assert!(command.starts_with("$ sudo hugewise live "), "{command}");
    let report = std::process::Command::new(trycmd::cargo::cargo_bin!("hugewise"))
        .args(["report", "--color", "always", SESSION])
        .current_dir(root())
        .envs([("COLUMNS", "80"), ("LC_ALL", "C")])
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert_eq!(shown, String::from_utf8(report.stdout).unwrap());
}

/// Each message of the troubleshooting page is one that the program can print.
#[test]
fn messages_are_real() {
    let source = sources(&root().join("crates"));
    let page = std::fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let messages: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(message, _)| message)
        .collect();
    let unknown: Vec<&str> = messages
        .iter()
        .flat_map(|message| message.split('…'))
        .map(str::trim)
        .filter(|part| !source.contains(part))
        .collect();
    assert!(messages.len() >= 20, "{messages:?}");
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The code of all crates, without the line breaks inside its strings.
fn sources(crates: &Path) -> String {
    let code: String = files(crates)
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"))
        .map(|path| std::fs::read_to_string(path).expect("code"))
        .collect();
    code.split("\\\n").map(str::trim_start).collect()
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
