//! The file in which checks list what they skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The environment variable that passes the file to the tests.
const VARIABLE: &str = "HUGEWISE_SKIPPED";
/// The file below the repository's root.
const FILE: &str = "target/skipped.txt";

/// The skipped checks of one run.
#[derive(Debug)]
pub struct Skips(PathBuf);

impl Skips {
    /// Starts an empty list: removes the file of an earlier run.
    ///
    /// # Errors
    /// The current folder no longer exists.
    pub fn begin() -> Result<Self> {
        let file = std::env::current_dir()
            .context("the current folder")?
            .join(FILE);
        // It can be missing.
        let _ = fs::remove_file(&file);
        Ok(Self(file))
    }

    /// Passes the file to a command.
    pub fn name_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(VARIABLE, &self.0)
    }

    /// Prints the skipped checks.
    pub fn print(&self) {
        println!("{}", told(&self.0));
    }
}

/// Returns the lines of a file, and their number.
fn told(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    match text.lines().count() {
        0 => "no check was skipped".to_owned(),
        count => format!("{}\n{count} checks were skipped", text.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_checks_are_listed_and_counted() {
        let file = std::env::temp_dir().join(format!("skips-{}", std::process::id()));
        assert_eq!(told(&file), "no check was skipped");
        fs::write(&file, "SKIP a: no go\nSKIP b: no java\n").unwrap();
        let said = told(&file);
        fs::remove_file(&file).unwrap();
        assert_eq!(
            said,
            "SKIP a: no go\nSKIP b: no java\n2 checks were skipped"
        );
    }
}
