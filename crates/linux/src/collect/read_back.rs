//! Proof that the policy was in force.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::ProcessTree;

use crate::machine::root::Root;
use crate::sys::setting::read_setting;

/// The values in force of some settings files; those that cannot be read are left out.
pub(super) fn files(root: &Root, paths: &[String]) -> BTreeMap<String, String> {
    paths
        .iter()
        .filter_map(|path| Some((path.clone(), read_setting(root, path).ok()?)))
        .collect()
}

/// The memory policy of a process, where the policy sets one: of its first mapping that has none of
/// its own, in the words of `numa_maps`.
pub(super) fn numa(root: &Root, expected: &Realisation, pid: u32) -> Option<String> {
    expected.numa.as_ref()?;
    let maps = root.read(format!("proc/{pid}/numa_maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let shown = maps.lines().next()?.split_ascii_whitespace().nth(1)?;
    Some(shown.to_owned())
}

/// The library of the policy as it was found: its path, or nothing when it was looked for and
/// not there; `None` when nobody asked or nobody could look.
pub(super) fn allocator(expected: &Realisation, tree: Option<&ProcessTree>) -> Option<String> {
    let library = expected.preload.as_ref()?;
    let found = tree?.libraries.contains(&real(library));
    Some(if found {
        library.clone()
    } else {
        String::new()
    })
}

/// Whether the largest process has mapped the library that advises memory; `None` when nobody
/// asked or nobody could look. The loader maps it before the C library: a process without either
/// is static, or was looked at too early.
pub(super) fn library(expected: &Realisation, tree: Option<&ProcessTree>) -> Option<bool> {
    let library = expected.library.as_ref()?;
    let mapped = &tree?.largest.libraries;
    (!mapped.is_empty()).then(|| mapped.contains(&real(library)))
}

/// Where a link leads, which is what the kernel shows.
fn real(library: &str) -> String {
    let path = std::fs::canonicalize(library).unwrap_or_else(|_| PathBuf::from(library));
    path.display().to_string()
}
