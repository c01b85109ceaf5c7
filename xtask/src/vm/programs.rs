//! The programs that go into a guest, each in one file that needs no library.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::machine::Machine;
use crate::toolchain;

/// Of the workspace's profiles, the one for guests: small, and quick under emulation.
const PROFILE: &str = "guest";
const PROGRAMS: [&str; 3] = ["hugewise", "hugewise-lab", "xtask"];
/// Test programs of the crate `hugewise` that run in guests.
const TESTS: [&str; 2] = ["guest", "confusion"];

/// All that a guest has.
pub fn all() -> impl Iterator<Item = &'static str> {
    PROGRAMS.into_iter().chain(TESTS)
}

/// Builds for a machine and gives the folder in which the programs are, and the test programs
/// beside them.
///
/// # Errors
/// They cannot be built here; the error says why.
pub fn build(machine: Machine, sources: &Path, cache: &Path) -> Result<PathBuf> {
    // One command for all of it: of two, each would choose features for itself and build twice.
    let mut words = vec!["build", "--profile", PROFILE, "--bins"];
    words.extend(["-p", "hugewise", "-p", "hugewise-lab", "-p", "xtask"]);
    words.extend(TESTS.iter().flat_map(|test| ["--test", test]));
    let folder = toolchain::build(machine, sources, cache, &words)?;
    collect(
        &folder.join(PROFILE),
        &cache.join("programs").join(machine.name()),
    )
}

/// Puts the programs into one folder.
fn collect(built: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for name in PROGRAMS {
        fs::copy(built.join(name), folder.join(name))
            .with_context(|| format!("{} was not built", built.join(name).display()))?;
    }
    for name in TESTS {
        fs::copy(newest_test(built, name)?, folder.join(name))?;
    }
    Ok(folder.to_owned())
}

/// Cargo gives test programs a name with a hash; of several the newest is this build's.
fn newest_test(built: &Path, test: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(built.join("deps"))?.flatten();
    let programs = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let hash = name
            .strip_prefix(test)
            .and_then(|rest| rest.strip_prefix('-'));
        hash.is_some_and(|hash| !hash.contains('.'))
    });
    programs
        .max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok())
        .map(|entry| entry.path())
        .with_context(|| format!("the test program `{test}` was not built"))
}
