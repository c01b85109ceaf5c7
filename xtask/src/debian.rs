//! Roots of Debian: folders into which one can change to find another release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_linux::machine::identity::is_root;

use crate::command::{is_installed, run, said};

/// Whence packages come, if not from where the machine's own come.
const MIRROR: &str = "HUGEWISE_DEBIAN_MIRROR";
/// There when a root is whole.
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
/// This is not root, debootstrap is missing, or the mirror does not answer.
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

/// The mirror of Debian that this machine uses.
///
/// # Errors
/// The machine has none, or is no Debian.
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

/// Makes a root of a release, unless it is there; `install` puts into it what it is for.
///
/// # Errors
/// This is not root, debootstrap is missing, the mirror does not answer, or `install` failed.
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
        fs::remove_dir_all(root).context("removing a root that was not finished")?;
    }
    fs::create_dir_all(root.parent().unwrap_or(root))?;
    bootstrap(root, suite)?;
    install(root)?;
    Ok(fs::write(root.join(READY), "")?)
}

/// The script is named because debootstrap has none for the names of suites newer than itself.
fn bootstrap(root: &Path, suite: &str) -> Result<()> {
    let mut command = Command::new("debootstrap");
    command
        .args(["--variant=minbase", suite])
        .arg(root)
        .arg(mirror()?)
        .arg("/usr/share/debootstrap/scripts/sid");
    run(&mut command).with_context(|| format!("making a root of Debian {suite}"))
}
