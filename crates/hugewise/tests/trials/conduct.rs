//! How `run` handles commands that fail, read or leave something behind, and too short times.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::json;

use crate::harness::report::doubt;
use crate::harness::{self, Case, one_at_a_time, readings};

#[test]
fn a_failing_command_costs_one_round() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let line = ["--shell", "--", "echo the reason >&2; exit 7"];
    let policies = ["run", "--policy", "as-is", "--policy", "thp=never"];
    case.hugewise()
        .args(policies)
        .args(line)
        .assert()
        .code(3)
        .stdout(contains(
            "fails in every trial: exit status 7; --ignore-failure",
        ))
        .stdout(contains("the reason").and(contains("wall time").not()));
    case.hugewise()
        .args(policies)
        .args(["--ignore-failure", "--max-rounds", "2"])
        .args(line)
        .assert()
        .success()
        .stdout(contains("wall time"));
}

#[test]
fn a_policy_under_which_the_command_fails_is_dropped() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "good:env.X=1",
            "--policy",
            "bad:env.X=2",
        ])
        .args(["--max-rounds", "3", "--json"])
        .arg(&json)
        .args(["--shell", "--", "[ \"$X\" != 2 ]"])
        .assert()
        .code(3);
    let report = case.json(&json);
    let dropped = doubt(&report, "dropped");
    assert_eq!(dropped["arm"], "bad", "{dropped}");
    assert_eq!(dropped["rounds"], 1, "{dropped}");
    assert!(report["dropped"][0]["why"]["fails"].is_string());
    let failed = doubt(&report, "failed_trials");
    assert_eq!(failed["by_arm"], json!([["bad", 1]]), "{failed}");
    // Four of three policies, then two of each in both rounds.
    assert_eq!(failed["of"], 12, "{failed}");
}

#[test]
fn every_trial_reads_all_of_a_pipe() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "2"])
        .args(["--metric", "lines=([0-9]+)", "--json"])
        .arg(&json)
        .args(["--", "wc", "-l"])
        .write_stdin("a\nb\nc\n")
        .assert()
        .success();
    let report = case.json(&json);
    assert_eq!(readings(&report, "as-is", "lines"), [3.0, 3.0]);
}

#[test]
fn processes_that_outlive_the_command_are_said() {
    let _turn = one_at_a_time();
    let case = Case::new();
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1"])
        .args(["--shell", "--", "sleep 4322 & sleep 4322 &"])
        .assert()
        .success()
        .stderr(contains("2 processes outlived the command and were ended"));
    assert_eq!(harness::processes_with("4322"), 0, "a sleep is left");
}

#[test]
fn a_time_in_which_no_round_fits_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let run = |time: &str| {
        let mut run = case.hugewise();
        run.args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "thp=never",
            "--max-time",
            time,
        ]);
        run.args(["--", "sleep", "0.3"]).assert()
    };
    run("0s")
        .code(2)
        .stderr(contains("no trial can run in no time"));
    run("700ms")
        .code(2)
        .stderr(contains("allow no round").and(contains("--max-time")));
    run("9s").success().stderr(contains("can decide"));
    let records = case.path("state/hugewise").read_dir().expect("records");
    assert_eq!(records.count(), 1, "what holds no trial is no record");
}
