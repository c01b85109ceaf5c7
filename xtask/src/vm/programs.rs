//! The programs for a guest, each in one static file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Error, Result};

use crate::machine::Machine;
use crate::toolchain;

/// The workspace profile for guests: small, and fast under emulation.
const PROFILE: &str = "guest";
/// The laboratory, whose line numbers are looked up in a guest, and the profile that keeps them.
const LABORATORY: &str = "hugewise-lab";
const WITH_LINES: &str = "guest-lab";

/// The programs of a guest in addition to the laboratory. They are built in one command: two would select different
/// features and build twice.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    packages: &'static [&'static str],
    /// Test programs of the crate `hugewise` for guests.
    tests: &'static [&'static str],
}

/// For the tests of the kernel matrix.
pub const TEST: Programs = Programs {
    packages: &["hugewise"],
    tests: &["guest", "confusion"],
};

/// For guests that freeze themselves.
pub const CAPTURE: Programs = Programs {
    packages: &["xtask"],
    tests: &[],
};

/// For hosts of a fleet.
pub const HOST: Programs = Programs {
    packages: &["hugewise"],
    tests: &[],
};

impl Programs {
    /// Returns their file names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let programs = self.packages.iter().chain(self.tests).copied();
        programs.chain([LABORATORY])
    }

    /// Builds for a machine and returns the folder of the programs, which also contains the test programs.
    ///
    /// # Errors
    /// They cannot be built on this machine; the error has the reason.
    fn build(self, machine: Machine, sources: &Path, cache: &Path) -> Result<PathBuf> {
        let mut words = vec!["build", "--profile", PROFILE, "--bins"];
        words.extend(self.packages.iter().flat_map(|package| ["-p", package]));
        words.extend(self.tests.iter().flat_map(|test| ["--test", test]));
        toolchain::build(machine, sources, cache, &words, &[])?;
        let words = ["build", "--profile", WITH_LINES, "--bins", "-p", LABORATORY];
        let target = toolchain::build(machine, sources, cache, &words, &[])?;
        let folder = cache.join("programs").join(machine.name());
        self.collect(&target, &folder)?;
        Ok(folder)
    }

    /// Copies the programs into one folder.
    fn collect(self, target: &Path, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let copy = |built: &Path, name: &str| {
            let copied = fs::copy(built, folder.join(name));
            copied.with_context(|| format!("{} was not built", built.display()))
        };
        let built = target.join(PROFILE);
        copy(&target.join(WITH_LINES).join(LABORATORY), LABORATORY)?;
        for name in self.packages {
            copy(&built.join(name), name)?;
        }
        for name in self.tests {
            copy(&newest_test(&built, name)?, name)?;
        }
        Ok(())
    }
}

/// Programs, built once for each machine.
pub struct Builds {
    programs: Programs,
    sources: PathBuf,
    cache: PathBuf,
    /// The folders of the programs, or the reasons why they could not be built.
    done: BTreeMap<Machine, std::result::Result<PathBuf, String>>,
}

impl Builds {
    /// Creates an empty set, for the workspace in the current folder.
    ///
    /// # Errors
    /// The current folder is unknown.
    pub fn new(programs: Programs, cache: &Path) -> Result<Self> {
        Ok(Self {
            programs,
            sources: env::current_dir()?,
            cache: cache.to_owned(),
            done: BTreeMap::new(),
        })
    }

    /// Returns the folder of the programs for a machine.
    ///
    /// # Errors
    /// They cannot be built on this machine; the error has the reason.
    pub fn of(&mut self, machine: Machine) -> Result<PathBuf> {
        let built = self.done.entry(machine).or_insert_with(|| {
            eprintln!("building for {} …", machine.name());
            let built = self.programs.build(machine, &self.sources, &self.cache);
            built.map_err(|error| format!("{error:#}"))
        });
        built.clone().map_err(Error::msg)
    }
}

/// Cargo adds a hash to the name of a test program; the newest is from this build.
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
