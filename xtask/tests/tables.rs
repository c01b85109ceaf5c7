//! What is a row of a table is spelled there and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::policy::Acts;
use hugewise_experiment::run::policy::keys::KEYS;

/// The sources of the spine, of what measures for it and of the program, each with its text
/// before its own tests.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rooms = [
        "experiment/src/run",
        "attribute/src",
        "linux/src",
        "hugewise/src",
    ];
    let mut folders: Vec<PathBuf> = rooms.map(|room| root.join("crates").join(room)).into();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the checkout") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                sources.push((path, code.to_owned()));
            }
        }
    }
    sources.retain(|(path, _)| {
        let is_test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
        !path.iter().any(is_test)
    });
    assert!(sources.len() > 300, "{} files", sources.len());
    sources
}

/// The files that hold one of the texts.
fn holders<'a>(sources: &'a [(PathBuf, String)], texts: &[String]) -> Vec<&'a Path> {
    let holds = |code: &str| texts.iter().any(|text| code.contains(text));
    let holders = sources.iter().filter(|(_, code)| holds(code));
    holders.map(|(path, _)| path.as_path()).collect()
}

#[test]
fn a_metric_is_spelled_in_its_table_alone() {
    let sources = sources();
    for id in MetricId::ALL {
        let mut files = holders(&sources, &[format!("\"{id}\"")]);
        files.retain(|path| !path.ends_with("run/metric/cells.rs"));
        assert_eq!(files.len(), 1, "{id} is spelled in {files:?}");
        assert!(files[0].ends_with("run/metric/table.rs"), "{id}: {files:?}");
    }
}

/// A metric that nothing but its collection needs is a row and an arm.
#[test]
fn a_metric_is_added_in_two_files() {
    let sources = sources();
    let id = MetricId::ThpZeroPageAllocTotal;
    let texts = [format!("\"{id}\""), format!("::{id:?}")];
    assert_eq!(holders(&sources, &texts).len(), 2);
}

/// A key whose value is written to a file: its row, the fact of the host, and its reader.
#[test]
fn a_policy_key_is_added_in_three_files() {
    let sources = sources();
    let plain = |name: &str| !name.contains('.');
    let keys = KEYS.iter().filter(|key| key.acts == Acts::Making);
    for key in keys.filter(|key| plain(key.name)) {
        let name = key.name;
        let texts = [
            format!("\"{name}\""),
            format!("settings.{name}"),
            format!("`{name}=`"),
        ];
        let files = holders(&sources, &texts);
        assert!(files.len() <= 3, "{name} is spelled in {files:?}");
    }
}
