//! Builds for aarch64 only with Debian packages: in a root of Debian testing, made once, whose rustc has the standard
//! library of the other architecture.
//!
//! The installed toolchain is not modified, and does not need the target.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{CLANG, COMMIT, Order, cargo_home};
use crate::command::run;
use crate::debian;

const SUITE: &str = "testing";
const PACKAGES: &str = "rustc cargo libstd-rust-dev:arm64 gcc-aarch64-linux-gnu \
                        libc6-dev-arm64-cross gcc libc6-dev";

/// Makes the root, unless it exists.
///
/// # Errors
/// The user is not root, debootstrap is missing, or the mirror does not answer.
pub fn prepare(cache: &Path) -> Result<PathBuf> {
    let root = cache.join("arm64-root");
    debian::make(&root, SUITE, install)?;
    Ok(root)
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

/// Builds packages of this workspace in the root, and returns the folder of the programs.
///
/// Sources and cargo's registry are mounted into the root, in a mount namespace that ends with the command. Nothing is
/// fetched there.
///
/// # Errors
/// A dependency was not fetched before, or does not compile.
pub(super) fn build(root: &Path, order: &Order<'_>) -> Result<PathBuf> {
    run(Command::new("cargo")
        .args(["fetch", "--locked"])
        .current_dir(order.sources))
    .context("fetching what is needed")?;
    for folder in ["src", "cargo", "out"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let script = "set -e; mount --bind \"$1\" \"$0/src\"; mount --bind \"$2\" \"$0/cargo\"; \
                  mount -t proc proc \"$0/proc\"; mount --bind /dev \"$0/dev\"; \
                  root=$0; shift 2; exec chroot \"$root\" \"$@\"";
    let linker = format!(
        "CARGO_TARGET_{}_LINKER=aarch64-linux-gnu-gcc",
        order.target.to_uppercase().replace('-', "_")
    );
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script])
        .arg(root)
        .arg(order.sources)
        .arg(cargo_home())
        .args([
            "env",
            "-i",
            "PATH=/usr/bin:/bin",
            "HOME=/root",
            "CARGO_HOME=/cargo",
        ])
        .args([
            "CARGO_TARGET_DIR=/out",
            &format!("RUSTFLAGS={}", order.flags.join(" ")),
            &format!("{CLANG}=none"),
            &format!("{COMMIT}={}", order.commit),
            &linker,
        ])
        .args(["sh", "-c", "cd /src && exec cargo \"$@\"", "cargo"])
        .args(order.words)
        .args(["--offline", "--locked", "--target", order.target]);
    run(&mut command).context("building for aarch64")?;
    Ok(root.join("out").join(order.target))
}
