//! Kernels and busybox, fetched once into a folder ignored by git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::apt::{self, Apt};
use super::kernels::Kernel;
use crate::command::run;
use crate::machine::Machine;

/// The suite whose busybox is used: the oldest in the matrix, so that it runs on every kernel.
const BUSYBOX_SUITE: &str = "bookworm";

/// The cache, and the apt roots used so far.
pub struct Store {
    cache: PathBuf,
    roots: Vec<(Machine, Apt)>,
    when: When,
}

/// When to fetch packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Only missing packages are fetched.
    Lacking,
    /// The newest packages are looked up.
    Always,
}

impl Store {
    /// Creates a store in a folder.
    pub fn new(cache: &Path, when: When) -> Self {
        Self {
            cache: cache.to_owned(),
            roots: Vec::new(),
            when,
        }
    }

    /// Returns the image of a kernel.
    ///
    /// # Errors
    /// Its package cannot be fetched, or contains no image.
    pub fn image(&mut self, kernel: &Kernel) -> Result<PathBuf> {
        let package = self.package(kernel.machine, &kernel.suite, &kernel.package)?;
        let paths = ["./boot/vmlinuz-*", "./usr/lib/modules/*/vmlinuz"];
        self.extract(&package, &paths, "vmlinuz")
    }

    /// Returns a folder with those modules of a kernel that are not built in.
    ///
    /// # Errors
    /// Their package cannot be fetched, or contains none of them.
    pub fn modules(&mut self, kernel: &Kernel, names: &[&str]) -> Result<PathBuf> {
        let package = self.package(kernel.machine, &kernel.suite, &kernel.modules_package())?;
        let folder = package.with_file_name("modules");
        if !folder.exists() {
            let part = package.with_file_name("modules.part");
            unpack_modules(&package, names, &part)?;
            fs::rename(&part, &folder)?;
        }
        Ok(folder)
    }

    /// Returns a static busybox.
    ///
    /// # Errors
    /// Its package cannot be fetched.
    pub fn busybox(&mut self, machine: Machine) -> Result<PathBuf> {
        let package = self.package(machine, BUSYBOX_SUITE, "busybox-static")?;
        self.extract(&package, &["./bin/busybox", "./usr/bin/busybox"], "busybox")
    }

    fn package(&mut self, machine: Machine, suite: &str, pattern: &str) -> Result<PathBuf> {
        let packages = self.cache.join("packages").join(machine.debian());
        if self.when == When::Lacking
            && let Some(found) = apt::fetched(pattern, &packages)?
        {
            return Ok(found);
        }
        self.root(machine)?.fetch(suite, pattern, &packages)
    }

    fn root(&mut self, machine: Machine) -> Result<&Apt> {
        let place = match self.roots.iter().position(|(known, _)| *known == machine) {
            Some(place) => place,
            None => {
                self.roots.push((machine, Apt::new(&self.cache, machine)?));
                self.roots.len() - 1
            }
        };
        Ok(&self.roots[place].1)
    }

    /// Extracts one file from a package and stores it next to the package.
    fn extract(&self, package: &Path, patterns: &[&str], name: &str) -> Result<PathBuf> {
        let folder = package.parent().unwrap_or(&self.cache);
        let target = folder.join(name);
        if target.exists() {
            return Ok(target);
        }
        let tar = unpack(package, patterns)?;
        let part = folder.join(format!("{name}.part"));
        fs::write(&part, tar)?;
        fs::rename(&part, &target)?;
        Ok(target)
    }
}

/// Copies modules into one folder, without the compression that some versions of insmod do not support. If most modules
/// are built in, most patterns match nothing, and tar fails.
fn unpack_modules(package: &Path, names: &[&str], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let script = "dpkg-deb --fsys-tarfile \"$0\" | tar -x --wildcards --transform 's,.*/,,' \"$@\"; \
                  xz -d -f *.xz; true";
    let patterns = names.iter().map(|name| format!("*/{name}.ko*"));
    run(Command::new("sh")
        .args(["-c", script])
        .arg(package)
        .args(patterns)
        .current_dir(folder))?;
    let shown = package.display();
    let any = fs::read_dir(folder)?.next().is_some();
    ensure!(any, "{shown} holds none of {names:?}");
    Ok(())
}

/// Returns the bytes of the one file in a package that matches a pattern.
fn unpack(package: &Path, patterns: &[&str]) -> Result<Vec<u8>> {
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("starting dpkg-deb")?;
    let stream = archive.stdout.take().context("dpkg-deb has no stdout")?;
    // Patterns without a match make tar fail, and one of them never matches.
    let output = Command::new("tar")
        .args(["-x", "--to-stdout", "--wildcards"])
        .args(patterns)
        .stdin(stream)
        .output()
        .context("starting tar")?;
    archive.wait()?;
    let shown = package.display();
    ensure!(
        !output.stdout.is_empty(),
        "{shown} holds none of {patterns:?}"
    );
    Ok(output.stdout)
}
