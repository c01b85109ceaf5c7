//! What is fetched once: kernels and busybox, in a folder that git ignores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::apt::{self, Apt};
use super::kernels::Kernel;
use crate::command::run;
use crate::machine::Machine;

/// The suite whose busybox is used: the oldest here, so that it runs on every kernel.
const BUSYBOX_SUITE: &str = "bookworm";

/// The cache, and the roots of apt that were needed so far.
pub struct Store {
    cache: PathBuf,
    roots: Vec<(Machine, Apt)>,
    when: When,
}

/// Whether what was fetched before is good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Only what is lacking is fetched.
    Lacking,
    /// The newest packages are looked up.
    Always,
}

impl Store {
    /// A store in a folder.
    pub fn new(cache: &Path, when: When) -> Self {
        Self {
            cache: cache.to_owned(),
            roots: Vec::new(),
            when,
        }
    }

    /// The image of a kernel.
    ///
    /// # Errors
    /// Its package cannot be had, or holds no image.
    pub fn image(&mut self, kernel: &Kernel) -> Result<PathBuf> {
        let package = self.package(kernel.machine, &kernel.suite, &kernel.package)?;
        let paths = ["./boot/vmlinuz-*", "./usr/lib/modules/*/vmlinuz"];
        self.extract(&package, &paths, "vmlinuz")
    }

    /// A folder with those modules of a kernel that are not built into it.
    ///
    /// # Errors
    /// Their package cannot be had, or none of them is in it.
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

    /// A busybox that needs no library.
    ///
    /// # Errors
    /// Its package cannot be had.
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

    /// Takes one file out of a package and puts it beside.
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

/// Puts modules into one folder, without the compression that not every insmod undoes. Most
/// patterns fit nothing where most modules are built in, and that makes tar fail.
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

/// The bytes of the one file in a package that fits a pattern.
fn unpack(package: &Path, patterns: &[&str]) -> Result<Vec<u8>> {
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("starting dpkg-deb")?;
    let stream = archive.stdout.take().context("dpkg-deb has no stdout")?;
    // Patterns that nothing fits make tar fail, and one of them always does.
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
