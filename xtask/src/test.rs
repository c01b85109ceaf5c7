//! `xtask test`: all tests of the workspace. What failed is run once more, alone and one after
//! the other: many tests hold what the program says against a machine that others use too. A
//! test that passes only then is named and counted; one that fails twice is an error.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};

/// Run all tests; those that failed once more, alone
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs the tests.
///
/// # Errors
/// A test failed twice, or cargo failed for another reason.
pub fn run(_: &Arguments) -> Result<()> {
    let (status, said) = cargo(["--workspace", "--no-fail-fast"])?;
    if status.success() {
        return Ok(());
    }
    let failures = Failures::of(&said);
    ensure!(
        !failures.tests.is_empty() && !failures.targets.is_empty(),
        "cargo test ended with {status}, and names no test"
    );
    let mut passed = BTreeSet::new();
    for target in &failures.targets {
        passed.extend(again(target, &failures.tests)?);
    }
    let twice: Vec<&str> = failures.tests.difference(&passed).map(|s| &**s).collect();
    ensure!(twice.is_empty(), "failed twice: {}", twice.join(", "));
    println!("{} tests passed only alone:", passed.len());
    for test in passed {
        println!("    {test}");
    }
    Ok(())
}

/// Runs tests of one target alone; gives those that passed.
fn again(target: &str, tests: &BTreeSet<String>) -> Result<Vec<String>> {
    let words = target
        .split(' ')
        .chain(["--", "--exact", "--test-threads=1"]);
    let (_, said) = cargo(words.chain(tests.iter().map(String::as_str)))?;
    let passed = |line: &String| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... ok")?;
        tests.get(name).cloned()
    };
    Ok(said.iter().filter_map(passed).collect())
}

/// `cargo test` with these arguments; what it says is shown as it comes, and given back. Its two
/// streams are one pipe, so that the order stays.
fn cargo<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
) -> Result<(ExitStatus, Vec<String>)> {
    let (reader, writer) = io::pipe()?;
    let mut child = Command::new("cargo")
        .args(["test", "--locked"])
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

/// What cargo says has failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Failures {
    /// Names of tests.
    tests: BTreeSet<String>,
    /// Flags of cargo that choose a target, as cargo prints them.
    targets: Vec<String>,
}

impl Failures {
    fn of(said: &[String]) -> Self {
        let mut found = Self::default();
        let mut listed = Vec::new();
        for line in said {
            if line == "failures:" {
                listed.clear();
            } else if line.starts_with("test result: FAILED") {
                found.tests.extend(listed.drain(..));
            } else if let Some(entry) = line.strip_prefix("    ") {
                match entry
                    .strip_prefix('`')
                    .and_then(|rest| rest.strip_suffix('`'))
                {
                    Some(target) => found.targets.push(target.to_owned()),
                    None => listed.push(entry.to_owned()),
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(said: &str) -> Failures {
        Failures::of(&said.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn failed_tests_and_their_targets_are_found() {
        let said = "     Running tests/bench.rs (target/debug/deps/bench-1b5b01663778795d)\n\
            test one::two ... FAILED\n\n\
            failures:\n\n---- one::two stdout ----\n    a line that a test said\n\n\
            failures:\n    one::two\n\n\
            test result: FAILED. 9 passed; 1 failed\n\n\
            error: 1 target failed:\n    `-p hugewise-lab --test bench`\n";
        assert_eq!(
            failures(said),
            Failures {
                tests: BTreeSet::from(["one::two".to_owned()]),
                targets: vec!["-p hugewise-lab --test bench".to_owned()],
            }
        );
    }

    #[test]
    fn what_does_not_build_names_no_test() {
        let said = "error: could not compile `xtask`\n\nCaused by:\n    a word\n";
        assert_eq!(failures(said), Failures::default());
    }
}
