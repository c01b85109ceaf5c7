//! A program that is started again whenever it ends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::harness::{Case, lab, one_at_a_time, readings, skip};
use super::obstacle;

/// Runs the laboratory's steady work in `live`, or in `run`.
fn measured(case: &Case, flags: &[&str], order: &str, mib: &str, seconds: &str) -> Value {
    let output = case
        .hugewise()
        .args(flags)
        .args(["--format", "json", "--wait", "5m", "--seed", "7", "--"])
        .arg(lab())
        .args(["steady", "--order", order, "--mib", mib])
        .args(["--seconds", seconds, "--out"])
        .arg(case.path("count"))
        .output()
        .expect("hugewise");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The starts of the periods of each round.
fn starts(report: &Value) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut starts: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for trial in report["trials"].as_array().expect("trials") {
        let round = trial["round"].as_u64().expect("a round");
        let start = trial["start"].as_u64().expect("a start");
        starts.entry(round).or_default().insert(start);
    }
    starts
}

#[test]
fn a_round_has_one_start_and_what_the_end_cuts_is_measured_again() {
    const NAME: &str = "a_round_has_one_start_and_what_the_end_cuts_is_measured_again";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    // A stream gains too little for an early decision, and the threshold is too low for "no difference".
    let flags = ["live", "--period", "200ms", "--max-rounds", "12"];
    let flags = [&flags[..], &["--threshold", "0.1%"]].concat();
    // Of little memory, some rounds fit into a run even on a busy machine, and never twelve.
    let report = measured(&case, &flags, "stream", "16", "8");
    let starts = starts(&report);
    let rounds: Vec<u64> = starts.keys().copied().collect();
    assert_eq!(rounds, (0..rounds.len() as u64).collect::<Vec<_>>());
    assert!(starts.values().all(|it| it.len() == 1), "{starts:?}");
    let all: BTreeSet<u64> = starts.values().flatten().copied().collect();
    assert!(all.len() >= 2, "{starts:?}");
    let cut: f64 = ["small", "huge"]
        .iter()
        .flat_map(|policy| readings(&report, policy, "cut_periods_total"))
        .sum();
    assert!((1.0..=6.0 * all.len() as f64).contains(&cut), "{cut}");
    for (policy, bytes) in [("huge", 16 << 20), ("small", 0)] {
        let read = readings(&report, policy, "huge_anon_end_bytes");
        assert!(read.len() >= 2 * rounds.len(), "{read:?}");
        assert!(
            read.iter().all(|it| *it == f64::from(bytes)),
            "{policy} {read:?}"
        );
    }
    assert_eq!(report["plan"]["live"]["pids"], Value::Array(Vec::new()));
    assert_eq!(report["plan"]["live"]["work"]["source"], "io");
}

#[test]
fn a_long_program_is_measured_inside_its_runs_and_a_planted_gain_is_found() {
    const NAME: &str = "a_long_program_is_measured_inside_its_runs_and_a_planted_gain_is_found";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let report = measured(&case, &["run", "--max-time", "60s"], "chase", "64", "11");
    assert!(report["plan"]["live"].is_object(), "{}", report["plan"]);
    assert_eq!(report["answer"]["word"], "help", "{}", report["answer"]);
    let first = &report["answer"]["choice"]["commands"][0]["line"];
    let line = first.as_str().expect("a command");
    assert!(line.starts_with("hugewise run --whole-runs -- "), "{line}");
}

#[test]
fn a_program_that_fails_ends_the_experiment() {
    const NAME: &str = "a_program_that_fails_ends_the_experiment";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let case = Case::new();
    let failed = case
        .hugewise()
        .args([
            "live",
            "--wait",
            "5m",
            "--",
            "sh",
            "-c",
            "echo trouble >&2; exit 3",
        ])
        .output()
        .expect("hugewise");
    assert_eq!(failed.status.code(), Some(3), "{failed:?}");
    let told = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(
        told.contains("(start 1)") && told.contains("\n    trouble"),
        "{told}"
    );
}

#[test]
fn runs_that_are_too_short_are_refused() {
    const NAME: &str = "runs_that_are_too_short_are_refused";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let case = Case::new();
    let refused = case
        .hugewise()
        .args(["live", "--wait", "5m", "--", "true"])
        .output()
        .expect("hugewise");
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("--whole-runs"), "{told}");
}
