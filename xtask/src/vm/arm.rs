//! Building for aarch64 with nothing but Debian's own packages: a root of Debian testing, made
//! once, whose rustc has the standard library of the other architecture.
//!
//! The installed toolchain is not touched, and need not have the target.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hugewise_linux::machine::identity::is_root;

use super::apt::mirror;
use super::command::{is_installed, run};

const SUITE: &str = "testing";
const PACKAGES: &str = "rustc cargo libstd-rust-dev:arm64 gcc-aarch64-linux-gnu \
                        libc6-dev-arm64-cross gcc libc6-dev";
/// There when the root is whole.
const READY: &str = "hugewise-ready";

/// Makes the root, unless it is there.
///
/// # Errors
/// This is not root, debootstrap is missing, or the mirror does not answer.
pub fn prepare(cache: &Path) -> Result<PathBuf> {
    let root = cache.join("arm64-root");
    if root.join(READY).exists() {
        return Ok(root);
    }
    ensure!(
        is_root(),
        "a root of Debian testing for cross-building is made by root only"
    );
    ensure!(
        is_installed("debootstrap"),
        "debootstrap is missing; as root: apt-get install debootstrap"
    );
    if root.exists() {
        fs::remove_dir_all(&root).context("removing a root that was not finished")?;
    }
    fs::create_dir_all(cache)?;
    bootstrap(&root)?;
    install(&root)?;
    fs::write(root.join(READY), "")?;
    Ok(root)
}

/// The script is named because debootstrap has none for the names of suites newer than itself.
fn bootstrap(root: &Path) -> Result<()> {
    let mut command = Command::new("debootstrap");
    command
        .args(["--variant=minbase", SUITE])
        .arg(root)
        .arg(mirror()?)
        .arg("/usr/share/debootstrap/scripts/sid");
    run(&mut command).context("making a root of Debian testing")
}

fn install(root: &Path) -> Result<()> {
    let settings = root.join("etc/apt/apt.conf.d/99hugewise");
    fs::write(settings, "Acquire::Check-Valid-Until \"false\";\n")?;
    let script = format!(
        "set -e; export DEBIAN_FRONTEND=noninteractive; dpkg --add-architecture arm64; \
         apt-get update -q; apt-get install -qy --no-install-recommends {PACKAGES}; \
         apt-get clean"
    );
    let mut command = Command::new("chroot");
    command.arg(root).args(["sh", "-c", &script]);
    run(&mut command).context("installing the cross compiler")
}

/// Builds packages of this workspace in the root; the programs are in the folder that is given
/// back.
///
/// Sources and the registry of cargo are mounted into the root, in a mount namespace that ends
/// with the command; nothing is fetched there.
///
/// # Errors
/// What is needed was not fetched before, or does not compile.
pub fn build(root: &Path, sources: &Path, target: &str, words: &[&str]) -> Result<PathBuf> {
    run(Command::new("cargo")
        .args(["fetch", "--locked"])
        .current_dir(sources))
    .context("fetching what is needed")?;
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    for folder in ["src", "cargo", "out"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let script = "set -e; mount --bind \"$1\" \"$0/src\"; mount --bind \"$2\" \"$0/cargo\"; \
                  mount -t proc proc \"$0/proc\"; mount --bind /dev \"$0/dev\"; \
                  root=$0; shift 2; exec chroot \"$root\" \"$@\"";
    let linker = format!(
        "CARGO_TARGET_{}_LINKER=aarch64-linux-gnu-gcc",
        target.to_uppercase().replace('-', "_")
    );
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script])
        .arg(root)
        .arg(sources)
        .arg(cargo_home)
        .args([
            "env",
            "-i",
            "PATH=/usr/bin:/bin",
            "HOME=/root",
            "CARGO_HOME=/cargo",
        ])
        .args([
            "CARGO_TARGET_DIR=/out",
            "RUSTFLAGS=-Ctarget-feature=+crt-static",
            &linker,
        ])
        .args(["sh", "-c", "cd /src && exec cargo \"$@\"", "cargo"])
        .args(words)
        .args(["--offline", "--locked", "--target", target]);
    run(&mut command).context("building for aarch64")?;
    Ok(root.join("out").join(target))
}
