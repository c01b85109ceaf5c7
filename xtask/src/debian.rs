//! Debian roots: folders to chroot into for another release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_linux::machine::identity::is_root;

use crate::command::{is_installed, run, said};

/// The environment variable for another package mirror than the machine's.
const MIRROR: &str = "HUGEWISE_DEBIAN_MIRROR";
/// This file exists once a root is complete.
const READY: &str = "hugewise-ready";

/// Make a root of a release of Debian, unless it is there, and print its folder
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The release, such as `bookworm`
    suite: String,
    /// Where roots are kept
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
}

/// Makes the root and prints its folder.
///
/// # Errors
/// The user is not root, debootstrap is missing, or the mirror does not answer.
pub fn run_root(arguments: &Arguments) -> Result<()> {
    let folder = make_root(&arguments.cache, &arguments.suite)?;
    println!("{}", folder.display());
    Ok(())
}

/// Makes the root of a release in a cache, and returns its folder.
///
/// # Errors
/// As [`run_root`].
pub fn make_root(cache: &Path, suite: &str) -> Result<PathBuf> {
    let folder = cache.join(format!("{suite}-root"));
    make(&folder, suite, |_| Ok(()))?;
    Ok(folder.canonicalize()?)
}

/// Returns the Debian mirror of this machine.
///
/// # Errors
/// The machine has none, or does not run Debian.
pub fn mirror() -> Result<String> {
    if let Ok(mirror) = std::env::var(MIRROR) {
        return Ok(mirror);
    }
    let format = ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)"];
    let targets = said(Command::new("apt-get").args(format))?;
    let debian = targets.lines().find_map(|line| {
        let uri = line.strip_prefix("Debian ")?.trim_end_matches('/');
        uri.ends_with("/debian").then(|| uri.to_owned())
    });
    debian.with_context(|| {
        format!("this machine's apt names no mirror of Debian; set {MIRROR} to one")
    })
}

/// Makes a root of a release, unless it exists; `install` adds its contents.
///
/// # Errors
/// The user is not root, debootstrap is missing, the mirror does not answer, or `install` failed.
pub fn make(root: &Path, suite: &str, install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if root.join(READY).exists() {
        return Ok(());
    }
    ensure!(is_root(), "a root of Debian {suite} is made by root only");
    ensure!(
        is_installed("debootstrap"),
        "debootstrap is missing; as root: apt-get install debootstrap"
    );
    if root.exists() {
        fs::remove_dir_all(root).context("removing an unfinished root")?;
    }
    fs::create_dir_all(root.parent().unwrap_or(root))?;
    bootstrap(root, suite)?;
    install(root)?;
    Ok(fs::write(root.join(READY), "")?)
}

/// The script is given explicitly because debootstrap has none for suites newer than itself.
fn bootstrap(root: &Path, suite: &str) -> Result<()> {
    let mut command = Command::new("debootstrap");
    command
        .args(["--variant=minbase", suite])
        .arg(root)
        .arg(mirror()?)
        .arg("/usr/share/debootstrap/scripts/sid");
    run(&mut command).with_context(|| format!("making a root of Debian {suite}"))
}
