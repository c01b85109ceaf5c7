//! The programs that go into a guest, each in one file that needs no library.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::machine::Machine;
use crate::toolchain;

/// Of the workspace's profiles, the one for guests: small, and quick under emulation.
const PROFILE: &str = "guest";
const PROGRAMS: [&str; 2] = ["hugewise", "xtask"];
/// The laboratory, whose lines are looked up in a guest, and the profile that keeps them.
const LABORATORY: &str = "hugewise-lab";
const WITH_LINES: &str = "guest-lab";
/// Test programs of the crate `hugewise` that run in guests.
const TESTS: [&str; 2] = ["guest", "confusion"];

/// All that a guest has.
pub fn all() -> impl Iterator<Item = &'static str> {
    PROGRAMS.into_iter().chain([LABORATORY]).chain(TESTS)
}

/// Builds for a machine and gives the folder in which the programs are, and the test programs
/// beside them.
///
/// # Errors
/// They cannot be built here; the error says why.
pub fn build(machine: Machine, sources: &Path, cache: &Path) -> Result<PathBuf> {
    // One command for all of a profile: of two, each would choose features for itself and build twice.
    let mut words = vec!["build", "--profile", PROFILE, "--bins"];
    words.extend(PROGRAMS.iter().flat_map(|name| ["-p", name]));
    words.extend(TESTS.iter().flat_map(|test| ["--test", test]));
    toolchain::build(machine, sources, cache, &words)?;
    let words = ["build", "--profile", WITH_LINES, "--bins", "-p", LABORATORY];
    let target = toolchain::build(machine, sources, cache, &words)?;
    collect(&target, &cache.join("programs").join(machine.name()))
}

/// Puts the programs into one folder.
fn collect(target: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let of = |profile: &str| target.join(profile);
    let programs = PROGRAMS.map(|name| (of(PROFILE).join(name), name));
    for (built, name) in programs
        .into_iter()
        .chain([(of(WITH_LINES).join(LABORATORY), LABORATORY)])
    {
        fs::copy(&built, folder.join(name))
            .with_context(|| format!("{} was not built", built.display()))?;
    }
    for name in TESTS {
        fs::copy(newest_test(&of(PROFILE), name)?, folder.join(name))?;
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
