//! The pages of periods, and the pages at the end.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Case, one_at_a_time, readings, skip, wait_until};
use crate::{Steady, assert_unchanged, obstacle};

#[test]
fn periods_have_their_pages_and_the_found_ones_come_back() {
    const NAME: &str = "periods_have_their_pages_and_the_found_ones_come_back";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::huge_without_advice(&case, "chase");
    let before = steady.huge();
    assert!(before >= 64 << 20, "{before}");
    let pid = steady.child.id().to_string();
    let work = steady.work();
    let out = case.path("record.jsonl");
    let out = out.to_str().expect("text");
    let output = case
        .hugewise()
        .args([
            "live",
            &pid,
            "--work",
            &work,
            "--period",
            "100ms",
            "--max-rounds",
            "2",
        ])
        .args([
            "--format", "json", "--out", out, "--wait", "5m", "--seed", "7",
        ])
        .output()
        .expect("hugewise");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(steady.huge(), before);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let live = &report["plan"]["live"];
    assert_eq!(live["blocks"].as_u64(), Some(32));
    assert_eq!(live["found_huge"].as_u64(), Some(32));
    for (policy, bytes) in [("huge", 64 << 20), ("small", 0)] {
        for end in ["huge_anon_begin_bytes", "huge_anon_end_bytes"] {
            let read = readings(&report, policy, end);
            assert!(read.len() >= 5, "{read:?}");
            assert!(
                read.iter().all(|it| *it == f64::from(bytes)),
                "{policy} {end} {read:?}"
            );
        }
    }
    let work = readings(&report, "huge", "cpu_work_per_second");
    assert!(work.iter().all(|it| *it > 0.0), "{work:?}");
    let again = case
        .hugewise()
        .args(["report", out, "--format", "json"])
        .output()
        .expect("report");
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["answer"]["claims"], report["answer"]["claims"]);
    assert_eq!(
        again["answer"]["switchback"]["pids"][0].as_u64(),
        pid.parse().ok()
    );
    assert_unchanged(steady);
}

#[test]
fn a_killed_experiment_leaves_the_pages_as_they_were_found() {
    const NAME: &str = "a_killed_experiment_leaves_the_pages_as_they_were_found";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let pid = steady.child.id().to_string();
    assert_eq!(steady.huge(), 0);
    let out = case.path("record.jsonl");
    let mut live = case.plain();
    live.args([
        "live",
        &pid,
        "--work",
        &steady.work(),
        "--period",
        "300ms",
        "--wait",
        "5m",
    ]);
    let live = live
        .arg("--out")
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut live = live.expect("hugewise");
    wait_until("memory is huge", || steady.huge() > 0);
    live.kill().expect("a kill");
    live.wait().expect("an end");
    wait_until("memory is small again", || steady.huge() == 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}

#[test]
fn a_user_without_the_right_is_told_which() {
    const NAME: &str = "a_user_without_the_right_is_told_which";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let pid = steady.child.id().to_string();
    let refused = case
        .hugewise_as_nobody()
        .args(["live", &pid])
        .output()
        .expect("hugewise");
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("CAP_SYS_NICE") && said.contains("CAP_SYS_PTRACE"),
        "{said}"
    );
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}

#[test]
fn a_preview_changes_nothing() {
    const NAME: &str = "a_preview_changes_nothing";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--huge"]);
    let before = steady.huge();
    let pid = steady.child.id().to_string();
    let arguments = ["live", &pid, "--dry-run", "--format", "json"];
    let output = case.hugewise().args(arguments).output().expect("hugewise");
    let preview: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(preview["switched_bytes"].as_u64(), Some(64 << 20));
    assert_eq!(preview["huge_bytes"].as_u64(), Some(64 << 20));
    assert!(
        preview["to_huge_seconds"]
            .as_f64()
            .is_some_and(|it| it > 0.0)
    );
    assert_eq!(steady.huge(), before);
    assert_unchanged(steady);
}

/// A split gives back pages of zeros (Linux 6.12). Blocks with a few of them stay in the experiment.
#[test]
fn blocks_with_some_zeros_are_switched() {
    const NAME: &str = "blocks_with_some_zeros_are_switched";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--with", "zeros"]);
    let mut command = case.hugewise();
    command
        .args(["live", &steady.child.id().to_string(), "--work"])
        .arg(steady.work())
        .args(["--period", "200ms", "--max-rounds", "2", "--wait", "5m"])
        .args(["--format", "json"]);
    let output = command.output().expect("hugewise");
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let all = 80_u32 << 20;
    let blocks = report["plan"]["live"]["blocks"].as_u64();
    assert_eq!(blocks, Some(u64::from(all >> 21)), "{}", report["plan"]);
    for (policy, bytes) in [("huge", all), ("small", 0)] {
        let huge = readings(&report, policy, "huge_anon_end_bytes");
        assert!(huge.iter().all(|it| *it == f64::from(bytes)), "{huge:?}");
    }
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}
