//! `--host-memory` as its users meet it.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::{Case, one_at_a_time};

/// The lines of the record of two rounds of `true` in this state.
fn record(case: &Case, state: &[&str]) -> Vec<Value> {
    let out = case.path("record.jsonl");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "2",
            "--warmup",
            "0",
        ])
        .args(state)
        .arg("--out")
        .arg(&out)
        .args(["--", "true"])
        .assert()
        .success();
    let text = std::fs::read_to_string(&out).expect("a record");
    let line = |line| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(line).collect()
}

fn touches(lines: &[Value]) -> Vec<&Value> {
    let trials = lines.iter().filter(|line| line["line"] == "trial");
    trials.map(|trial| &trial["first_touch"]).collect()
}

#[test]
fn memory_is_warmed_before_each_trial_and_the_record_says_how_much() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let lines = record(&case, &["--host-memory", "warm"]);
    assert_eq!(lines[0]["plan"]["host_memory"], "warm");
    let touches = touches(&lines);
    assert_eq!(touches.len(), 2);
    for touch in touches {
        let whole = touch["bytes"].as_u64() >= Some(64 << 20);
        assert!(whole || touch["wanted_bytes"].is_u64(), "{touch}");
        assert!(touch["warm_touch_seconds"].is_f64(), "{touch}");
    }
}

#[test]
fn after_a_rest_memory_is_looked_at_and_as_is_it_is_left_alone() {
    let _turn = one_at_a_time();
    let rested = record(&Case::new(), &["--host-memory", "rest:100ms"]);
    assert_eq!(rested[0]["plan"]["host_memory"], "rest:0.1s");
    for touch in touches(&rested) {
        assert!(touch["bytes"].is_u64(), "{touch}");
    }
    let left_alone = record(&Case::new(), &["--host-memory", "as-is"]);
    assert!(touches(&left_alone).into_iter().all(Value::is_null));
}

#[test]
fn warm_is_usual_where_free_memory_is_taken_back() {
    let _turn = one_at_a_time();
    let lines = record(&Case::new(), &[]);
    let host = &lines[0]["host"];
    let taken_back = host["balloon"]["reported_block_bytes"].is_u64();
    let state = &lines[0]["plan"]["host_memory"];
    match taken_back {
        true => assert_eq!(state, "warm"),
        false => assert!(state.is_null()),
    }
}

#[test]
fn a_state_that_cannot_be_is_refused_with_what_could() {
    let cases: [(&[&str], &str); 2] = [
        (&["--host-memory", "hot"], "write warm, rest:3s or as-is"),
        (
            &["--system", "--fragment", "5%", "--host-memory", "warm"],
            "undoes --fragment",
        ),
    ];
    for (flags, fix) in cases {
        let case = Case::new();
        let run = case
            .hugewise()
            .arg("run")
            .args(flags)
            .args(["--", "true"])
            .assert();
        run.code(2)
            .stderr(contains(fix).and(contains("--host-memory")));
    }
}
