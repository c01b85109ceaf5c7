//! `hugewise trace` as users see it.

mod progress;

use std::io::{BufRead, BufReader};
use std::process::{Command as Plain, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::{Case, can_grant, is_root, lab, skip};

/// Returns true if this process can trace page faults here; otherwise prints the reason.
fn can_trace(test: &str) -> bool {
    let output = Case::new()
        .hugewise()
        .args(["trace", "fault", "--duration", "10ms", "--format", "json"])
        .output()
        .expect("the program runs");
    let trace: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let traced = trace["points"].as_array().expect("a list");
    if traced.iter().any(|point| point["name"] == "fault") {
        return true;
    }
    skip(test, &trace["missing"][0]["why"].to_string());
    false
}

#[test]
fn what_is_no_function_is_a_typing_error_with_a_hint() {
    Case::new()
        .hugewise()
        .args(["trace", "handle_mm_faul"])
        .assert()
        .code(2)
        .stderr(contains("neither a preset nor a function").and(contains("handle_mm_fault")));
}

#[test]
fn times_and_processes_that_cannot_be_are_typing_errors() {
    for (arguments, said) in [
        (["--duration", "1ms"], "--duration is too short"),
        (["-I", "0"], "--interval is too short"),
        (["--duration", "soon"], "is not a duration"),
        (["-p", "4194304"], "there is no process 4194304"),
    ] {
        Case::new()
            .hugewise()
            .arg("trace")
            .args(arguments)
            .assert()
            .code(2)
            .stderr(contains(said));
    }
}

#[test]
fn an_ordinary_user_is_told_what_to_grant() {
    let test = "an_ordinary_user_is_told_what_to_grant";
    if !is_root() {
        return skip(test, "only root can become somebody else");
    }
    Case::new()
        .hugewise_as_nobody()
        .args(["trace", "lock", "--duration", "10ms"])
        .assert()
        .code(4)
        .stdout(contains("not permitted; needs CAP_BPF and CAP_PERFMON"));
}

#[test]
fn two_capabilities_are_enough_and_one_is_not() {
    let test = "two_capabilities_are_enough_and_one_is_not";
    if !can_grant(test) || !can_trace(test) {
        return;
    }
    let case = Case::new();
    let with = |grants: &str| {
        let mut command = case.hugewise_with(grants);
        command.args(["trace", "fault", "lock", "--duration", "10ms"]);
        command.output().expect("it runs")
    };
    let both = with("+bpf,+perfmon");
    let said = String::from_utf8_lossy(&both.stdout).into_owned();
    assert_eq!(both.status.code(), Some(0), "{said}");
    assert!(said.contains("page faults"), "{said}");
    for (one, lacking) in [("+bpf", "needs CAP_PERFMON"), ("+perfmon", "needs CAP_BPF")] {
        let output = with(one);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(lacking), "{said}");
    }
}

#[test]
fn faults_of_a_process_are_in_the_document_and_its_end_ends_the_tracing() {
    let test = "faults_of_a_process_are_in_the_document_and_its_end_ends_the_tracing";
    if !can_trace(test) {
        return;
    }
    // Many small regions in a row, so that faults never stop.
    let mut workload = Plain::new(lab())
        .args(["touch", "--pages", "512", "--small", "--repeat", "9000000"])
        .stdout(Stdio::null())
        .spawn()
        .expect("the laboratory runs");
    let case = Case::new();
    let json = case.path("trace.json");
    let mut tracing = case
        .plain()
        .args(["trace", "fault", "-I", "100ms", "--json"])
        .arg(&json)
        .args(["-p", &workload.id().to_string(), "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let said = BufReader::new(tracing.stderr.take().expect("its stderr")).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|line| line.contains(": tracing ")));
    std::thread::sleep(Duration::from_secs(1));
    workload.kill().expect("our own child");
    workload.wait().expect("our own child");
    assert!(said.any(|line| line.contains("the process has ended")));
    let output = tracing.wait_with_output().expect("its output");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&json).expect("a document");
    let trace: Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(trace["pid"], workload.id());
    let total = &trace["total"]["points"][0]["all"];
    let count = total["count"].as_u64().expect("a count");
    assert!(count > 1000, "{total}");
    let intervals = trace["intervals"].as_array().expect("a list");
    let sum: u64 = intervals
        .iter()
        .map(|window| {
            window["points"][0]["all"]["count"]
                .as_u64()
                .expect("a count")
        })
        .sum();
    assert_eq!(sum, count, "the intervals are the whole");
    let rows = total["log2_us"].as_array().expect("rows");
    let in_rows: u64 = rows.iter().filter_map(|row| row["count"].as_u64()).sum();
    assert_eq!(in_rows, count);
    let csv = String::from_utf8_lossy(&output.stdout).into_owned();
    let fields = csv.lines().next().map(|head| head.split(',').count());
    assert!(
        csv.lines()
            .all(|line| Some(line.split(',').count()) == fields)
    );
    assert!(
        csv.lines()
            .filter(|line| line.starts_with("total,"))
            .count()
            >= 1
    );
}

#[test]
fn ctrl_c_ends_with_the_report() {
    let test = "ctrl_c_ends_with_the_report";
    if !can_trace(test) {
        return;
    }
    let mut child = Case::new()
        .plain()
        .args(["trace", "fault", "-v"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let said = BufReader::new(child.stderr.take().expect("its stderr")).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|line| line.contains(": tracing ")));
    let pid = child.id().to_string();
    let sent = Plain::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("there is kill").success());
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it ends");
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("Measured by"), "{said}");
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
}
