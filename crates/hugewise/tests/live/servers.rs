//! Periods inside the servers of `run --service`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::harness::{Case, lab, one_at_a_time, skip};
use super::obstacle;

const BYTES: u64 = 128 << 20;

/// Runs a server of the laboratory under load: its report, and what it said.
fn measured(case: &Case, [order, requests]: [&str; 2], flags: &[&str]) -> (Value, String) {
    let lab = lab();
    let lab = lab.display();
    let server = format!("{lab} serve --port {{port}} --pages 1 --order {order} --mib 128");
    let output = case
        .hugewise()
        .env("TMPDIR", case.path(""))
        .args(["run", "--service", &server, "--ready", "tcp:{port}"])
        .args([
            "--load",
            &format!("{lab} ask --port {{port}} --requests {requests}"),
        ])
        .args(["--policy", "as-is", "--policy", "thp=always", "--seed", "7"])
        .args(["--format", "json", "--wait", "5m"])
        .args(flags)
        .output()
        .expect("hugewise");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).expect("JSON"), said)
}

/// The starts of the periods of each round.
fn starts(periods: &[Value]) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut starts: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for period in periods {
        let number = |field: &str| period[field].as_u64().expect("a number");
        let round = starts.entry(number("round")).or_default();
        round.insert(number("start"));
    }
    starts
}

fn assert_pages_are_as_asked(periods: &[Value]) {
    for period in periods {
        let huge = &period["readings"]["huge_anon_end_bytes"]["value"];
        let expected = if period["policy"] == "huge" { BYTES } else { 0 };
        assert_eq!(huge.as_f64(), Some(expected as f64), "{period:#}");
    }
}

/// The lasting gain is found inside the starts, and whole starts are compared as before.
#[test]
fn a_planted_gain_is_found_inside_the_starts_of_a_server() {
    const NAME: &str = "a_planted_gain_is_found_inside_the_starts_of_a_server";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let flags = ["--min-rounds", "90", "--max-time", "100s"];
    let (report, said) = measured(&case, ["chase", "1500"], &flags);
    let inside = &report["answer"]["inside"];
    assert_eq!(inside["word"], "help", "{said} {inside:#}");
    let claim = &inside["claims"][0];
    let ratio = claim["effect"]["ratio"].as_f64().expect("a ratio");
    assert!(claim["call"] == "better" && ratio > 1.03, "{claim:#}");
    let periods = report["inside"]["trials"].as_array().expect("periods");
    let starts = starts(periods);
    assert!(starts.values().all(|it| it.len() == 1), "{starts:?}");
    let all: BTreeSet<u64> = starts.values().flatten().copied().collect();
    assert_eq!(inside["switchback"]["starts"], all.len(), "{inside:#}");
    assert!(all.len() >= 2, "{starts:?}");
    assert_pages_are_as_asked(periods);
    // The settings to choose are those of whole starts.
    assert_eq!(inside["choice"], Value::Null);
    assert_eq!(report["answer"]["judged"]["metric"], "wall_seconds");
    assert!(!report["trials"].as_array().expect("trials").is_empty());
}

#[test]
fn no_gain_is_claimed_inside_a_server_without_one() {
    const NAME: &str = "no_gain_is_claimed_inside_a_server_without_one";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let flags = [
        "--interleave",
        "no",
        "--min-rounds",
        "90",
        "--max-time",
        "45s",
    ];
    let flags = [&flags[..], &["--threshold", "5%"]].concat();
    let (report, said) = measured(&case, ["stream", "7000"], &flags);
    let claim = &report["answer"]["inside"]["claims"][0];
    assert_eq!(claim["budget"], "verdict", "{said} {claim:#}");
    assert!(
        claim["call"] != "better" && claim["call"] != "worse",
        "{said} {claim:#}"
    );
    let periods = report["inside"]["trials"].as_array().expect("periods");
    assert_pages_are_as_asked(periods);
}

#[test]
fn whole_runs_leave_the_periods_out() {
    const NAME: &str = "whole_runs_leave_the_periods_out";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let flags = ["--whole-runs", "--max-rounds", "1", "--max-time", "60s"];
    let (report, said) = measured(&case, ["chase", "1000"], &flags);
    assert_eq!(report["inside"], Value::Null, "{said}");
    assert!(!said.contains("inside the servers"), "{said}");
}
