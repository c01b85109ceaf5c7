//! Evidence that the policy was applied.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::ProcessTree;

use crate::machine::root::Root;
use crate::spawn::seen_by;
use crate::sys::setting::read_setting;

/// Returns the current values of some settings files; those that cannot be read are left out.
pub(super) fn files(root: &Root, paths: &[String]) -> BTreeMap<String, String> {
    paths
        .iter()
        .filter_map(|path| Some((path.clone(), read_setting(root, path).ok()?)))
        .collect()
}

/// Returns the memory policy of a process, if the policy sets one: that of its first mapping without a separate one, in
/// the format of `numa_maps`.
pub(super) fn numa(root: &Root, expected: &Realisation, pid: u32) -> Option<String> {
    expected.numa.as_ref()?;
    let maps = root.read(format!("proc/{pid}/numa_maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let shown = maps.lines().next()?.split_ascii_whitespace().nth(1)?;
    Some(shown.to_owned())
}

/// Returns the option `huge=` of the tmpfs that a process sees at the path of the policy, if the policy mounts one.
pub(super) fn tmpfs(root: &Root, expected: &Realisation, pid: u32) -> Option<String> {
    seen_by(root, expected.tmpfs.as_ref()?, pid)
}

/// Returns the path of the policy's library as found in the process; an empty path if it was not there, and `None` if
/// it was not searched for or could not be.
pub(super) fn allocator(expected: &Realisation, tree: Option<&ProcessTree>) -> Option<String> {
    let library = expected.preload.as_ref()?;
    let found = tree?.libraries.contains(&real(library));
    Some(if found {
        library.clone()
    } else {
        String::new()
    })
}

/// Returns true if the largest process has mapped the library that advises memory; `None` if this was not checked or
/// could not be. The loader maps it before the C library: a process without either is static, or was read too early.
pub(super) fn library(expected: &Realisation, tree: Option<&ProcessTree>) -> Option<bool> {
    let library = expected.library.as_ref()?;
    let mapped = &tree?.largest.libraries;
    (!mapped.is_empty()).then(|| mapped.contains(&real(library)))
}

/// Resolves symbolic links, because the kernel shows the target.
fn real(library: &str) -> String {
    let path = std::fs::canonicalize(library).unwrap_or_else(|_| PathBuf::from(library));
    path.display().to_string()
}
