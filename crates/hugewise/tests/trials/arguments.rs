//! Arguments as a policy: the words that the program gets, and when arguments are among the default policies.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use predicates::prelude::*;
use predicates::str::contains;

use crate::harness::{Case, one_at_a_time, readings, skip, thp_mode};

/// A program that prints how many arguments it has, and its first.
fn counting(path: &Path) {
    std::fs::write(path, "#!/bin/sh\necho \"count=$# first=${1#-o}\"\n").expect("a script");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, executable).expect("a script");
}

fn made(case: &Case, name: &str) -> PathBuf {
    let path = case.path(name);
    counting(&path);
    path
}

#[test]
fn a_program_gets_the_arguments_of_its_policy() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (program, json) = (made(&case, "count"), case.path("report.json"));
    case.hugewise()
        .args(["run", "--policy", "as-is", "--policy", "args=-o7 'a b'"])
        .args(["--metric", "count=count=([0-9]+)"])
        .args(["--metric", "first=first=([0-9]+)"])
        .args(["--max-rounds", "1", "--json"])
        .arg(&json)
        .arg("--")
        .arg(&program)
        .arg("5")
        .assert()
        .success();
    let report = case.json(&json);
    let seen = |policy: &str| {
        let first = |metric: &str| readings(&report, policy, metric)[0];
        (first("count"), first("first"))
    };
    assert_eq!(seen("as-is"), (1.0, 5.0));
    assert_eq!(seen("args=-o7 'a b'"), (3.0, 7.0));
}

#[test]
fn each_program_that_is_compared_gets_them() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (one, two) = (made(&case, "one"), made(&case, "two"));
    let json = case.path("report.json");
    let plain = format!("one={} 5", one.display());
    let placed = format!("two={} 6 {{args}}", two.display());
    case.hugewise()
        .args(["run", "--program", &plain, "--program", &placed])
        .args(["--policy", "as-is", "--policy", "args=-o7"])
        .args(["--metric", "count=count=([0-9]+)"])
        .args(["--metric", "first=first=([0-9]+)"])
        .args(["--max-rounds", "1", "--json"])
        .arg(&json)
        .assert()
        .success();
    let report = case.json(&json);
    let seen = |arm: &str| {
        let first = |metric: &str| readings(&report, arm, metric)[0];
        (first("count"), first("first"))
    };
    assert_eq!(seen("one: as-is"), (1.0, 5.0));
    assert_eq!(seen("one: args=-o7"), (2.0, 7.0));
    assert_eq!(seen("two: as-is"), (1.0, 6.0));
    assert_eq!(seen("two: args=-o7"), (2.0, 6.0));
}

#[test]
fn a_program_with_arguments_for_huge_pages_is_tried_with_them() {
    const NAME: &str = "a_program_with_arguments_for_huge_pages_is_tried_with_them";
    let _turn = one_at_a_time();
    if thp_mode() == "never" {
        return skip(NAME, "huge pages are off on this machine");
    }
    let case = Case::new();
    let program = made(&case, "memcached");
    let link = case.path("cache");
    std::os::unix::fs::symlink(&program, &link).expect("a link");
    let dry = |flags: &[&str], program: &Path, arguments: &[&str]| {
        let mut run = case.hugewise();
        run.args(["run", "--dry-run"]).args(flags).arg("--");
        run.arg(program).args(arguments).assert().success()
    };
    let own = || contains("-L among its arguments");
    dry(&[], &program, &["-m", "64"]).stdout(own());
    dry(&[], &link, &["-m", "64"]).stdout(own());
    dry(&[], &program, &["-L"]).stdout(own().not());
    dry(&["--policy", "thp=never"], &program, &[]).stdout(own().not());
    dry(&[], &made(&case, "other"), &["-m", "64"]).stdout(own().not());

    let line = format!("{} -p {{port}}", program.display());
    let service = [
        "run",
        "--dry-run",
        "--ready",
        "tcp:{port}",
        "--load",
        "true",
    ];
    let mut run = case.hugewise();
    let said = run.args(service).args(["--service", &line]).assert();
    said.success().stdout(own());
}
