//! `xtask test`: all tests of the workspace. Failed tests are repeated, separately and one after the other: many tests
//! compare the program's output with a machine that others use too. Tests that pass only then are listed and counted; a
//! test that fails twice is an error.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};

use crate::flaky;
use crate::skips::Skips;

/// Run all tests, and repeat failed ones separately
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs the tests.
///
/// # Errors
/// A test failed twice, or cargo failed for another reason.
pub fn run(_: &Arguments) -> Result<()> {
    let skips = Skips::begin()?;
    run_tests(&skips)?;
    skips.print();
    Ok(())
}

fn run_tests(skips: &Skips) -> Result<()> {
    let (status, said) = cargo(skips, ["--all-targets", "--no-fail-fast"])?;
    if status.success() {
        return Ok(());
    }
    let failures = failures(&said);
    ensure!(
        !failures.is_empty(),
        "cargo test ended with {status}, and names no target"
    );
    let mut twice = Vec::new();
    for failure in &failures {
        if !again(skips, failure)? {
            twice.push(failure.to_string());
        }
    }
    ensure!(twice.is_empty(), "failed twice: {}", twice.join("; "));
    println!(
        "passed only in a separate run, after a failure among others; counted in {}:",
        flaky::FILE
    );
    for failure in &failures {
        println!("    {failure}");
    }
    flaky::count(failures.iter().flat_map(Failure::each))
}

/// Repeats the failed tests separately; returns true if they passed.
fn again(skips: &Skips, failure: &Failure) -> Result<bool> {
    let mut words = failure.flags();
    // A target with a custom harness lists no tests: the whole target is repeated.
    if !failure.tests.is_empty() {
        words.extend(["--", "--exact", "--test-threads=1"]);
        words.extend(failure.tests.iter().map(String::as_str));
    }
    let (status, _) = cargo(skips, words)?;
    Ok(status.success())
}

/// Runs `cargo test` with these arguments, and shows and returns its output. Both streams share one pipe, to keep the
/// order. It always tests the workspace: for a single package cargo selects other features, and rebuilds half of all
/// crates.
fn cargo<S: AsRef<OsStr>>(
    skips: &Skips,
    arguments: impl IntoIterator<Item = S>,
) -> Result<(ExitStatus, Vec<String>)> {
    let (reader, writer) = io::pipe()?;
    let mut child = skips
        .name_to(&mut Command::new("cargo"))
        .args(["test", "--workspace", "--locked"])
        .args(arguments)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .context("starting cargo")?;
    let mut lines = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(io::stdout(), "{line}")?;
        lines.push(line);
    }
    Ok((child.wait()?, lines))
}

/// A target that failed.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    /// Cargo's flags that select the target, as cargo prints them.
    target: String,
    /// Names of the failed tests; empty if the target has a custom harness, which does not list them.
    tests: BTreeSet<String>,
}

impl Failure {
    /// Returns the flags that select the target in the workspace: all names are unique.
    fn flags(&self) -> Vec<&str> {
        let mut words = self.target.split(' ');
        let mut flags = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "-p" => drop(words.next()),
                _ => flags.push(word),
            }
        }
        flags
    }
}

impl Failure {
    /// Returns the target with each test that failed in it; a harness without names counts as one.
    fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        let unnamed = self.tests.is_empty().then_some("all");
        let tests = self.tests.iter().map(String::as_str).chain(unnamed);
        tests.map(|test| (self.target.as_str(), test))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tests: Vec<&str> = self.tests.iter().map(String::as_str).collect();
        write!(out, "{}: {}", self.target, tests.join(", "))
    }
}

/// Parses the failures in cargo's output. The names are in the last list below `failures:`. Other output of tests, such
/// as backtraces, also appears there, but contains blanks.
fn failures(said: &[String]) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut tests = None;
    for line in said {
        let rerun = line.strip_prefix("error: test failed, to rerun pass `");
        if line == "failures:" {
            tests = Some(BTreeSet::new());
        } else if line.trim_start().starts_with("Running ") {
            tests = None;
        } else if let Some(target) = rerun.and_then(|rest| rest.strip_suffix('`')) {
            found.push(Failure {
                target: target.to_owned(),
                tests: tests.take().unwrap_or_default(),
            });
        } else if let Some(name) = line.strip_prefix("    ").filter(|name| !name.contains(' '))
            && let Some(tests) = &mut tests
        {
            tests.insert(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(said: &str) -> Vec<Failure> {
        failures(&said.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    fn failure(target: &str, tests: &[&str]) -> Failure {
        Failure {
            target: target.to_owned(),
            tests: tests.iter().map(|&test| test.to_owned()).collect(),
        }
    }

    #[test]
    fn failed_tests_and_their_targets_are_found() {
        let said = "     Running tests/bench.rs (target/debug/deps/bench-1b5b01663778795d)\n\
            test one::two ... FAILED\n\n\
            failures:\n\n---- one::two stdout ----\n    a line that a test said\n    word\n   \
            0: core::panicking::panic_fmt\n             at ./tests/bench.rs:134:20\n\n\
            failures:\n    one::two\n\n\
            test result: FAILED. 9 passed; 1 failed\n\n\
            error: test failed, to rerun pass `-p hugewise-lab --test bench`\n     \
            Running tests/trial.rs (target/debug/deps/trial-1b5b01663778795d)\n\
            test three ... FAILED (2.36 s)\n    word\n\
            error: test failed, to rerun pass `-p hugewise-linux --test trial`\n\
            error: 2 targets failed:\n    `-p hugewise-lab --test bench`\n";
        assert_eq!(
            of(said),
            [
                failure("-p hugewise-lab --test bench", &["one::two"]),
                failure("-p hugewise-linux --test trial", &[]),
            ]
        );
        assert_eq!(of(said)[0].flags(), ["--test", "bench"]);
    }

    #[test]
    fn what_does_not_build_names_no_target() {
        let said = "error: could not compile `xtask`\n\nCaused by:\n    a word\n";
        assert_eq!(of(said), []);
    }
}
