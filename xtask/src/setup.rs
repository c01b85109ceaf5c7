//! Installs missing tools, and builds the programs used by checks.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::command::{said, show};

/// The folder into which `xtask/setup` installs programs from crates.io.
const TOOLS: &str = "target/tools/bin";

/// A program of crates.io in one version.
#[derive(Debug)]
pub struct Program {
    /// Its name, and that of its crate.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its features; the default ones are left out.
    pub features: &'static str,
}

impl Program {
    /// Finds the program, or installs it if possible.
    ///
    /// # Errors
    /// A compiler is missing.
    pub fn installed(&self) -> Result<Option<PathBuf>> {
        if let Some(found) = self.found() {
            return Ok(Some(found));
        }
        let tool = format!("{}={}:{}", self.name, self.version, self.features);
        install_if_possible(&[&tool])?;
        Ok(self.found())
    }

    /// The program on the `PATH` or among our tools, if it has the version.
    fn found(&self) -> Option<PathBuf> {
        let ours = PathBuf::from(TOOLS).join(self.name);
        let right = |program: &PathBuf| {
            let words = said(Command::new(program).arg("--version")).unwrap_or_default();
            words.trim_end().ends_with(self.version)
        };
        [PathBuf::from(self.name), ours].into_iter().find(right)
    }
}

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
