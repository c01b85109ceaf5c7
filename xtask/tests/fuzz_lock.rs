//! `fuzz/` is outside the workspace, because only cargo-fuzz can link it. Its lock must be current: with a stale lock,
//! nothing checks that the targets still compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    #[serde(default)]
    dependencies: Vec<String>,
}

fn read_lock(path: &str) -> Vec<Package> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&path).expect("the lock is committed");
    toml::from_str::<Lock>(&text)
        .expect("cargo wrote it")
        .package
}

/// Versions by name; a few crates have two.
fn versions(packages: &[Package]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found = BTreeMap::<&str, BTreeSet<&str>>::new();
    for package in packages {
        found
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
    }
    found
}

#[test]
fn the_fuzz_targets_are_locked_to_the_versions_of_the_program() {
    let (ours, theirs) = (read_lock("Cargo.lock"), read_lock("fuzz/Cargo.lock"));
    let ours = versions(&ours);
    for (name, locked) in versions(&theirs) {
        let Some(known) = ours.get(name) else {
            continue;
        };
        for version in locked {
            // Another major version is another crate: a tool used only by tests can need it.
            let mut alike = known.iter().filter(|it| major(it) == major(version));
            assert!(
                alike.clone().next().is_none() || alike.any(|it| *it == version),
                "{name}: {version} in fuzz/Cargo.lock, {known:?} in Cargo.lock"
            );
        }
    }
}

/// The part of a version that changes with breaking changes.
fn major(version: &str) -> &str {
    let mut dots = version.match_indices('.').map(|(index, _)| index);
    let (first, second) = (dots.next(), dots.next());
    let end = match version.starts_with("0.") {
        true => second,
        false => first,
    };
    &version[..end.unwrap_or(version.len())]
}

#[test]
fn the_fuzz_lock_knows_what_our_crates_depend_on() {
    let locked = read_lock("fuzz/Cargo.lock");
    for name in ["base", "bench", "experiment", "linux", "observe", "tlb"] {
        let package = format!("hugewise-{name}");
        let known = locked.iter().find(|known| known.name == package).unwrap();
        assert_eq!(
            bare(&known.dependencies),
            read_dependencies(name),
            "{package}: mend it with `cargo check --manifest-path fuzz/Cargo.toml`"
        );
    }
}

/// The dependencies of a crate, without those of its tests.
fn read_dependencies(name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../crates/{name}/Cargo.toml"));
    let text = std::fs::read_to_string(path).expect("a crate has a manifest");
    let manifest: toml::Table = text.parse().expect("cargo reads it");
    ["dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|kind| manifest.get(kind)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// Only names: if the lock has two versions, the name is followed by one.
fn bare(dependencies: &[String]) -> BTreeSet<String> {
    let names = dependencies.iter();
    names
        .filter_map(|dependency| dependency.split(' ').next().map(str::to_owned))
        .collect()
}
