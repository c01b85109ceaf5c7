//! Runs other programs to completion.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs a command quietly; if it fails, the error is the end of its output.
pub fn run(command: &mut Command) -> Result<()> {
    said(command).map(drop)
}

/// Runs a command and returns its stdout.
pub fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {name}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = error.lines().rev().take(12).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    ensure!(
        output.status.success(),
        "{name} ended with {}:\n{}",
        output.status,
        last.join("\n")
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command whose output goes to the terminal.
pub fn show(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("starting {name}"))?;
    ensure!(status.success(), "{name} ended with {status}");
    Ok(())
}

/// Returns true if a program is on the `PATH`, or in a folder that only root's `PATH` has.
pub fn is_installed(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let root_only = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&folders)
        .chain(root_only)
        .any(|folder| Path::new(&folder).join(name).is_file())
}
