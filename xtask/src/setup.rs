//! Installs missing tools, and builds the programs used by checks.

use std::process::Command;

use anyhow::Result;

use crate::command::show;

/// Installs the packages of missing tools, each as `TOOL:PACKAGE`.
///
/// # Errors
/// A tool is missing and the user is not root, or its package cannot be installed.
pub fn install(tools: &[&str]) -> Result<()> {
    show(Command::new("xtask/setup").args(tools))
}

/// Installs the packages of missing tools as far as possible, each as `TOOL:PACKAGE`.
///
/// # Errors
/// A compiler is missing.
pub fn install_if_possible(tools: &[&str]) -> Result<()> {
    install(&[])?;
    show(Command::new("xtask/setup").arg("--optional").args(tools))
}

/// Builds the program and the laboratory with the release profile.
///
/// # Errors
/// They do not build.
pub fn build_release() -> Result<()> {
    build(&["--release", "-p", "hugewise", "-p", "hugewise-lab"])
}

/// Builds the program and the laboratory in the form used by tests.
///
/// # Errors
/// They do not build.
pub fn build_for_tests() -> Result<()> {
    build(&["-p", "hugewise", "-p", "hugewise-lab"])
}

/// Builds with additional arguments of `cargo build`.
///
/// # Errors
/// It does not build.
pub fn build(arguments: &[&str]) -> Result<()> {
    show(
        Command::new("cargo")
            .args(["build", "--locked"])
            .args(arguments),
    )
}
