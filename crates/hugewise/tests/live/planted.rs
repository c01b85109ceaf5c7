//! Decisions about planted effects, and processes that make switching hard.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::harness::{self, Case, one_at_a_time, readings, skip};
use crate::{Steady, assert_unchanged, obstacle};

/// Blocks of a process with 64 MiB.
const BLOCKS: u64 = 32;

fn live(case: &Case, pid: u32, work: &str, flags: &[&str]) -> Output {
    let mut command = case.hugewise();
    command
        .args(["live", &pid.to_string(), "--work", work])
        .args(["--wait", "5m", "--format", "json"])
        .args(flags);
    command.output().expect("hugewise")
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The claim of the verdict: the call, and the ratio of huge to small pages.
fn verdict(report: &Value) -> (&Value, f64) {
    let claim = &report["answer"]["claims"][0];
    assert_eq!(claim["budget"], "verdict", "{claim}");
    let ratio = claim["effect"]["ratio"].as_f64().expect("a ratio");
    (&claim["call"], ratio)
}

#[test]
fn a_chase_gains() {
    const NAME: &str = "a_chase_gains";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::of_size(&case, 256, "chase", &[]);
    let work = steady.work();
    let output = live(&case, steady.child.id(), &work, &["--max-time", "45s"]);
    let report = report(&output);
    let (call, ratio) = verdict(&report);
    assert_eq!(call, "better", "{ratio} {}", report["answer"]);
    assert!(ratio > 1.03, "{ratio}");
    assert_eq!(steady.huge(), 0);
    assert_unchanged(steady);
}

#[test]
fn a_stream_gains_little() {
    const NAME: &str = "a_stream_gains_little";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &[]);
    let flags = ["--max-time", "30s", "--threshold", "5%"];
    let output = live(&case, steady.child.id(), &steady.work(), &flags);
    let report = report(&output);
    let (call, ratio) = verdict(&report);
    assert_ne!(call, "worse", "{}", report["answer"]);
    assert!((0.93..1.07).contains(&ratio), "{call} {ratio}");
    assert_unchanged(steady);
}

/// A process that maps and unmaps memory all the time keeps its other blocks in the experiment.
#[test]
fn mappings_may_come_and_go() {
    const NAME: &str = "mappings_may_come_and_go";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "chase", &["--with", "churn"]);
    let before = steady.huge();
    let flags = ["--period", "200ms", "--max-rounds", "2"];
    let output = live(&case, steady.child.id(), &steady.work(), &flags);
    assert!(output.status.success(), "{output:?}");
    let report = report(&output);
    // One or two blocks of the churn can be there when blocks are found.
    let blocks = report["plan"]["live"]["blocks"].as_u64().expect("blocks");
    assert!((BLOCKS..=BLOCKS + 2).contains(&blocks), "{blocks}");
    let huge = readings(&report, "huge", "huge_anon_begin_bytes");
    let all = f64::from(64 << 20);
    assert!(huge.iter().all(|it| *it >= all), "{huge:?}");
    assert!(steady.huge() >= before, "{} {before}", steady.huge());
    assert_unchanged(steady);
}

/// Pages that a child maps as well are left as they are.
#[test]
fn pages_of_a_child_are_left_out() {
    const NAME: &str = "pages_of_a_child_are_left_out";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--with", "child", "--huge"]);
    let before = steady.huge();
    let output = live(&case, steady.child.id(), &steady.work(), &[]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("{BLOCKS} pages shared")), "{said}");
    assert_eq!(steady.huge(), before);
    assert_unchanged(steady);
}

/// Children that come and go make blocks shared at times. Whatever is switched is put back.
#[test]
fn children_may_come_and_go() {
    const NAME: &str = "children_may_come_and_go";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--with", "forks", "--huge"]);
    let before = steady.huge();
    let flags = ["--period", "200ms", "--max-rounds", "2"];
    let output = live(&case, steady.child.id(), &steady.work(), &flags);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3 | 4)), "{output:?}");
    if code == Some(0) {
        let report = report(&output);
        let left = report["end"]["left_behind"].as_array().map_or(0, Vec::len);
        assert!(
            steady.huge() == before || left > 0,
            "{} {before}",
            steady.huge()
        );
    }
    assert_unchanged(steady);
}

#[test]
fn shared_memory_is_left_out() {
    const NAME: &str = "shared_memory_is_left_out";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let steady = Steady::begin(&case, "stream", &["--kind", "shared"]);
    let output = live(&case, steady.child.id(), &steady.work(), &[]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("file or shared memory"), "{said}");
    assert_unchanged(steady);
}

/// khugepaged at full speed makes small blocks huge again within a period. Such periods are marked, and `live`
/// claims nothing.
#[test]
fn khugepaged_is_noticed() {
    const NAME: &str = "khugepaged_is_noticed";
    if let Some(why) = obstacle() {
        return skip(NAME, why);
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let before = harness::settings();
    // A policy of the machine that lasts as long as its program: `sleep`, until it is ended.
    let mut quick = case.plain();
    quick
        .args(["exec", "--system", "--policy"])
        .arg("khugepaged.scan_sleep_millisecs=1,khugepaged.pages_to_scan=65536")
        .args(["--wait", "5m", "--", "sleep", "600"])
        .stdin(Stdio::null());
    let mut quick = quick.spawn().expect("hugewise");
    harness::wait_until("khugepaged is quick", || harness::settings() != before);
    let first = khugepaged().map(|pid| Niceness::set(pid, "-10"));
    let steady = Steady::begin(&case, "stream", &["--huge"]);
    let flags = ["--period", "2s", "--max-rounds", "2"];
    let output = live(&case, steady.child.id(), &steady.work(), &flags);
    drop(first);
    end(quick.id());
    quick.wait().expect("its end");
    harness::wait_until("the settings are back", || harness::settings() == before);
    let report = report(&output);
    let trials = report["trials"].as_array().expect("trials");
    let mut lapsed = 0;
    for trial in trials.iter().filter(|it| it["policy"] == "small") {
        let end = trial["readings"]["huge_anon_end_bytes"]["value"].as_f64();
        let lost = end.expect("bytes") > 0.1 * f64::from(64 << 20);
        let marks = trial["marks"].as_array().map_or(0, Vec::len);
        assert_eq!(lost, marks > 0, "{trial}");
        lapsed += usize::from(lost);
    }
    assert!(lapsed > 0, "{trials:?}");
    let (call, _) = verdict(&report);
    assert!(call != "better" && call != "worse", "{call}");
    assert_unchanged(steady);
}

/// The kernel's thread, if it is visible here. Its niceness is 19, so busy processors leave it no time.
fn khugepaged() -> Option<u32> {
    let found = Command::new("pgrep").args(["-x", "khugepaged"]).output();
    String::from_utf8(found.ok()?.stdout)
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// Another niceness of a task, until this is dropped.
struct Niceness {
    pid: u32,
    before: String,
}

impl Niceness {
    fn set(pid: u32, niceness: &str) -> Self {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its state");
        // proc_pid_stat(5): field 19; this name has no blanks.
        let before = stat.split(' ').nth(18).expect("its niceness").to_owned();
        renice(pid, niceness);
        Self { pid, before }
    }
}

impl Drop for Niceness {
    fn drop(&mut self) {
        renice(self.pid, &self.before);
    }
}

fn renice(pid: u32, niceness: &str) {
    let mut renice = Command::new("renice");
    renice.args(["-n", niceness, "-p", &pid.to_string()]);
    let status = renice.stdout(Stdio::null()).status();
    assert!(status.expect("renice").success());
}

fn end(pid: u32) {
    let status = Command::new("kill").arg(pid.to_string()).status();
    assert!(status.expect("kill").success());
}
