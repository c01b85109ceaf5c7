//! Debian packages from a private apt root: the machine's configuration is neither used for packages nor changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use hugewise_base::glob::fits;

use crate::command::{run, said};
use crate::debian::mirror;
use crate::machine::Machine;

const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const SUITES: [&str; 4] = ["bookworm", "bookworm-backports", "sid", "experimental"];

/// An apt root for one architecture.
pub struct Apt {
    folder: PathBuf,
    machine: Machine,
}

impl Apt {
    /// Makes the root and fetches the lists of packages.
    ///
    /// # Errors
    /// There is no mirror, or it does not answer.
    pub fn new(cache: &Path, machine: Machine) -> Result<Self> {
        let folder = cache.join(format!("apt-{}", machine.debian()));
        for part in [
            "state/lists/partial",
            "cache/archives/partial",
            "etc/preferences.d",
        ] {
            fs::create_dir_all(folder.join(part))?;
        }
        let folder = folder.canonicalize()?;
        fs::write(folder.join("state/status"), "")?;
        let mirror = mirror()?;
        let sources = SUITES.map(|suite| format!("deb [signed-by={KEYS}] {mirror} {suite} main\n"));
        fs::write(folder.join("etc/sources.list"), sources.concat())?;
        let apt = Self { folder, machine };
        run(apt.command("apt-get").arg("update")).context("fetching the lists of packages")?;
        Ok(apt)
    }

    /// Fetches the newest matching package of a suite into a separate folder, and returns its file. Debug symbols and
    /// unsigned twins never match.
    ///
    /// # Errors
    /// No package matches, or it cannot be fetched.
    pub fn fetch(&self, suite: &str, pattern: &str, packages: &Path) -> Result<PathBuf> {
        let name = self.newest(pattern)?;
        let folder = packages.join(&name);
        fs::create_dir_all(&folder)?;
        let word = format!("{name}/{suite}");
        run(self
            .command("apt-get")
            .args(["download", &word])
            .current_dir(&folder))
        .with_context(|| format!("fetching {word}"))?;
        package_in(&folder)?.with_context(|| format!("{word} brought no file"))
    }

    fn newest(&self, pattern: &str) -> Result<String> {
        if !pattern.contains('*') {
            return Ok(pattern.to_owned());
        }
        let names = said(self.command("apt-cache").arg("pkgnames"))?;
        let mut fitting: Vec<&str> = names.lines().filter(|name| fits(pattern, name)).collect();
        fitting.sort_by_key(|name| numbers(name));
        match fitting.last() {
            Some(name) => Ok((*name).to_owned()),
            None => bail!(
                "Debian has no package {pattern} for {}",
                self.machine.debian()
            ),
        }
    }

    fn command(&self, program: &str) -> Command {
        let folder = self.folder.display();
        let architecture = self.machine.debian();
        let mut command = Command::new(program);
        for option in [
            format!("Dir={folder}"),
            format!("Dir::State={folder}/state"),
            format!("Dir::State::status={folder}/state/status"),
            format!("Dir::Cache={folder}/cache"),
            format!("Dir::Etc={folder}/etc"),
            "Dir::Etc::Parts=/dev/null".to_owned(),
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures={architecture}"),
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Check-Valid-Until=false".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        command
    }
}

/// Returns the newest matching package that was fetched before.
///
/// # Errors
/// A folder of the cache contains several packages.
pub fn fetched(pattern: &str, packages: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(packages) else {
        return Ok(None);
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut fitting: Vec<String> = names.filter(|name| fits(pattern, name)).collect();
    fitting.sort_by_key(|name| numbers(name));
    match fitting.last() {
        Some(name) => package_in(&packages.join(name)),
        None => Ok(None),
    }
}

/// Returns the single package in a folder; an interrupted download leaves none.
fn package_in(folder: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(None);
    };
    let is_package = |path: &PathBuf| path.extension().is_some_and(|end| end == "deb");
    let found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_package)
        .collect();
    ensure!(
        found.len() < 2,
        "{} holds several packages",
        folder.display()
    );
    Ok(found.into_iter().next())
}

/// Returns the numbers in a name, for sorting newer packages last.
fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_found_by_its_numbers() {
        assert!(numbers("linux-6.12.95+deb12") > numbers("linux-6.12.9+deb12.1"));
    }
}
