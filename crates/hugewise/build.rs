//! Passes the commit and the target of the build to the program.

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=HUGEWISE_COMMIT");
    let commit = env::var("HUGEWISE_COMMIT")
        .ok()
        .or_else(packaged)
        .or_else(checked_out)
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=HUGEWISE_COMMIT={commit}");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=HUGEWISE_TARGET={target}");
}

/// The first twelve digits of the commit that a cargo package was made from. A package has no git repository; if it is
/// unpacked inside another repository, that repository's commit would be wrong.
fn packaged() -> Option<String> {
    let info = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\": \"")?;
    rest.get(..12).map(str::to_owned)
}

/// The first twelve digits of the checked-out commit. `None` without git or without a repository.
fn checked_out() -> Option<String> {
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    // Without the file cargo would run this script before every build.
    if fs::exists(&log).unwrap_or(false) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
