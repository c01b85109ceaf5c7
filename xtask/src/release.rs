//! `xtask dist`, and checks of a release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use hugewise_linux::machine::identity::is_root;

use crate::checks::{TOOLS, install_tool, tools, with_tools};
use crate::command::{said, show};
use crate::machine::Machine;
use crate::setup::install;
use crate::{debian, toolchain};

/// The tools that pack a release.
const DIST_TOOLS: [&str; 4] = [
    "/usr/sbin/debootstrap:debootstrap",
    "dpkg-deb:dpkg",
    "rpmbuild:rpm",
    "podman:podman",
];
/// The version of the tool that lists the parts of the programs.
const CYCLONEDX: &str = "0.5.9";
/// The size limit of a program of a release, in bytes.
const MOST_BYTES: u64 = 12 << 20;

/// Makes a release in `dist/`: static programs, packages, image, list of parts and `SHA256SUMS`
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder of the root for cross-building
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
}

/// Makes a release of the last commit.
///
/// # Errors
/// There are uncommitted changes, a tool is missing, or a program does not build or is too large.
pub fn dist(arguments: &Arguments) -> Result<()> {
    install(&DIST_TOOLS)?;
    let clean = Command::new("git")
        .args(["diff", "--quiet", "HEAD"])
        .status()?;
    ensure!(clean.success(), "there are uncommitted changes");
    remove_old(&arguments.cache)?;
    let machines = [Machine::x86_64, Machine::aarch64];
    toolchain::build_static(&machines, &arguments.cache, Path::new("target/static"))?;
    install_tool("cargo-cyclonedx", CYCLONEDX)?;
    with_tools(Command::new("contrib/packaging/list-parts").arg("dist"))?;
    show(Command::new("contrib/packaging/pack").args(["target/static", "dist"]))?;
    print!("{}", fs::read_to_string("dist/SHA256SUMS")?);
    check_sizes(Path::new("target/static"))
}

/// Removes the folders of an earlier release.
fn remove_old(cache: &Path) -> Result<()> {
    let mut old = vec![PathBuf::from("dist"), PathBuf::from("target/static")];
    for parent in [PathBuf::from("target"), cache.join("arm64-root/out")] {
        let entries = fs::read_dir(parent).into_iter().flatten();
        old.extend(entries.flatten().map(|it| it.path().join("dist")));
    }
    for folder in old.iter().filter(|it| it.exists()) {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}

/// Refuses programs above the limit of a release.
fn check_sizes(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            check_sizes(&entry.path())?;
            continue;
        }
        let bytes = entry.metadata()?.len();
        if bytes > MOST_BYTES {
            let path = entry.path();
            bail!("{} takes {bytes} bytes, more than 12 MiB", path.display());
        }
    }
    Ok(())
}

/// Makes the release in two folders and compares the bytes.
///
/// # Errors
/// A release cannot be made, or the two differ.
pub fn dist_twice(arguments: &Arguments) -> Result<()> {
    dist(arguments)?;
    let again = Path::new("target/again");
    if again.exists() {
        fs::remove_dir_all(again)?;
    }
    show(Command::new("git").args(["clone", "--quiet", ".", "target/again"]))?;
    let cache = fs::canonicalize(&arguments.cache)?;
    let xtask = "run --locked --quiet --package xtask -- dist --cache";
    show(
        Command::new("cargo")
            .args(xtask.split(' '))
            .arg(cache)
            .env(TOOLS, tools()?)
            .current_dir(again),
    )?;
    show(Command::new("diff").args(["dist/SHA256SUMS", "target/again/dist/SHA256SUMS"]))?;
    println!("the same bytes from two folders");
    Ok(())
}

/// Asks the crates index, with the oldest Rust that Cargo.toml allows; nothing is uploaded.
///
/// # Errors
/// A crate could not be published.
pub fn publish_check() -> Result<()> {
    install(&[])?;
    let publish = "publish --dry-run --locked --workspace";
    // Only rustup uses the variable.
    show(
        Command::new("cargo")
            .args(publish.split(' '))
            .env("RUSTUP_TOOLCHAIN", oldest_rust()?),
    )
}

/// Returns the oldest Rust that Cargo.toml allows.
fn oldest_rust() -> Result<String> {
    let manifest: toml::Table = toml::from_str(&fs::read_to_string("Cargo.toml")?)?;
    let package = &manifest["workspace"]["package"];
    let version = package.get("rust-version").and_then(toml::Value::as_str);
    let version = version.context("Cargo.toml names no rust-version")?;
    Ok(format!("{version}.0"))
}

/// Installs `.deb`, `.rpm` and image, and runs them
#[derive(Debug, clap::Args)]
pub struct Packages {
    /// The packages; without them those of the programs that `test-kernels` built
    packages: Option<PathBuf>,
    /// Folder of roots and programs
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
}

/// Installs `.deb`, `.rpm` and image, and runs them.
///
/// # Errors
/// A package cannot be made, installed or run.
pub fn test_packages(arguments: &Packages) -> Result<()> {
    install(&DIST_TOOLS)?;
    let cache = &arguments.cache;
    let packages = match &arguments.packages {
        Some(packages) => packages.clone(),
        None => packed(cache)?,
    };
    if !is_root() {
        println!("SKIP packages: roots of Debian are made by root only");
        return Ok(());
    }
    let root = debian::make_root(cache, "bookworm")?;
    // One of the roots is the one for building aarch64 programs.
    show(
        Command::new("contrib/packaging/try")
            .arg(packages)
            .arg(root)
            .arg(cache.join("arm64-root")),
    )
}

/// Packs the programs of the kernel matrix.
fn packed(cache: &Path) -> Result<PathBuf> {
    let programs = cache.join("programs");
    let machine = said(Command::new("uname").arg("-m"))?;
    let program = programs.join(machine.trim()).join("hugewise");
    ensure!(
        program.is_file(),
        "cargo xtask test-kernels comes first: it builds the programs"
    );
    let packages = PathBuf::from("target/packages");
    if packages.exists() {
        fs::remove_dir_all(&packages)?;
    }
    show(
        Command::new("contrib/packaging/pack")
            .arg(programs)
            .arg(&packages),
    )?;
    Ok(packages)
}
