//! `hugewise stat`, `misses` and `simulate` as users see them.

#[expect(dead_code, reason = "other tests need the rest of it")]
#[path = "../harness/mod.rs"]
mod harness;
mod misses;
mod simulate;
mod verification;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::{Case, is_root, lab, skip};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// The lines of a recording.
fn lines(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    let parse = |line: &str| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(parse).collect()
}

/// The kernel counts all faults and only those, whatever the hardware is.
#[test]
fn stat_counts_the_faults_of_a_command_and_of_its_children() {
    let case = Case::new();
    let line = format!("{} touch --pages 23029; true", lab().display());
    let words = [
        "stat", "-I", "50ms", "--format", "json", "--", "/bin/sh", "-c", &line,
    ];
    let output = case.hugewise().args(words).assert().success();
    let lines = lines(&output.get_output().stdout);
    assert_eq!(lines[0]["format"], "hugewise-stat 1");
    assert_eq!(lines[0]["target"]["words"][0], "/bin/sh");
    let summary = lines.last().expect("a summary");
    assert_eq!(summary["line"], "summary");
    assert_eq!(summary["outcome"]["code"], 0);
    let faults = |line: &Value| line["readings"]["minor_faults_total"]["value"].as_f64();
    let all = faults(summary).expect("faults");
    assert!((23_029.0..23_029.0 + 1500.0).contains(&all), "{all}");
    let intervals = lines.iter().filter(|line| line["line"] == "interval");
    let sum: f64 = intervals.filter_map(faults).sum();
    assert!((sum - all).abs() < 0.5, "{sum} {all}");
}

/// Either the hardware counts, or the reason is there once; no share exceeds 1.
#[test]
fn stat_never_says_zero_for_what_it_cannot_count() {
    let case = Case::new();
    let words = [
        "stat", "-I", "50ms", "--format", "json", "--", "sleep", "0.2",
    ];
    let output = case.hugewise().args(words).assert().success();
    let lines = lines(&output.get_output().stdout);
    let hardware = &lines[0]["hardware"];
    let summary = lines.last().expect("a summary");
    let derived = summary["derived"].as_object().expect("ratios");
    if hardware["missing"].is_null() {
        let cycles = summary["counts"].as_array().expect("counts");
        assert!(
            cycles.iter().any(|count| count["kind"] == "cycles"),
            "{summary}"
        );
    } else {
        assert!(
            derived
                .values()
                .all(|one| one["missing"] == hardware["missing"])
        );
    }
    for (name, reading) in derived {
        let value = reading["value"].as_f64().unwrap_or(0.0);
        assert!(!name.ends_with("_ratio") || value <= 1.0, "{name} {value}");
    }
}

/// The process ends after it is known to be observed: a busy machine may take long to start.
#[test]
fn stat_follows_a_process_until_it_ends() {
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = sleeper.id().to_string();
    let began = Instant::now();
    let case = Case::new();
    let mut command = case.plain();
    command.args(["stat", "-p", &pid, "-I", "100ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("hugewise");
    let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut lines = stdout.lines().map_while(Result::ok);
    let head = lines.next().expect("a first line");
    assert!(head.contains(&format!("Process {pid} (sleep)")), "{head}");
    sleeper.kill().expect("our own child");
    // Reaped, as a shell would.
    sleeper.wait().expect("our own child");
    assert!(lines.any(|line| line.contains("page faults")));
    lines.for_each(drop);
    assert!(child.wait().expect("its end").success());
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// The last interval of a process is complete except for its last moments.
#[test]
fn stat_counts_the_faults_of_the_interval_in_which_a_process_ended() {
    let line = format!(
        "read word; exec {} touch --pages 23029 --hold 2000",
        lab().display()
    );
    let mut shell = Command::new("/bin/sh")
        .args(["-c", &line])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let pid = shell.id().to_string();
    let case = Case::new();
    let mut command = case.plain();
    command.args(["stat", "-p", &pid, "-I", "1h", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("hugewise");
    let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut said = stdout.lines().map_while(Result::ok);
    let header = said.next().expect("a header");
    assert!(header.contains(&pid), "{header}");
    let mut stdin = shell.stdin.take().expect("its stdin");
    stdin.write_all(b"\n").expect("a word");
    shell.wait().expect("our own child");
    let last = said.last().expect("a summary");
    let summary: Value = serde_json::from_str(&last).expect("a line of JSON");
    let faults = summary["readings"]["minor_faults_total"]["value"].as_f64();
    let faults = faults.expect("faults");
    assert!((23_029.0..23_029.0 + 1500.0).contains(&faults), "{faults}");
    assert!(child.wait().expect("its end").success());
}

#[test]
fn stat_as_an_ordinary_user_still_counts_faults() {
    if !is_root() {
        return skip(
            "stat_as_an_ordinary_user",
            "needs root to become another user",
        );
    }
    let case = Case::new();
    case.hugewise_as_nobody()
        .args(["stat", "-I", "100ms", "--duration", "200ms"])
        .assert()
        .success()
        .stdout(contains("in 2 intervals").and(contains("page faults")));
}

/// A shell finds nothing in its current folder, and neither does the program.
#[test]
fn a_program_of_this_folder_is_named_with_its_path() {
    let case = Case::new();
    std::fs::write(case.path("walk"), "").unwrap();
    let refused = case.hugewise().args(["stat", "--", "walk"]).assert();
    refused
        .code(2)
        .stderr(contains("`walk` on the PATH; the file here is ./walk"));
}

#[test]
fn stat_names_what_was_typed_wrong() {
    for (words, said) in [
        (&["-p", "4294967294"][..], "there is no process"),
        (&["--cgroup", "no/such/group"], "there is no such cgroup"),
        (
            &["-e", "no_such_event"],
            "no_such_event: this processor has no such event",
        ),
        (&["-I", "1ms"], "shortest interval"),
        (&["-p", "1", "-a"], "cannot be used with"),
        (&["--replay", "/dev/null"], "it is a device"),
        (&["--replay", "/proc/self/maps"], "not a recording of stat"),
        (
            &["--", "no-such-program"],
            "`no-such-program` on the PATH; a shell line needs -- sh -c 'LINE'",
        ),
    ] {
        let assert = Case::new().hugewise().arg("stat").args(words).assert();
        assert.code(2).stderr(contains(said));
    }
}

#[test]
fn stat_draws_a_recording_as_it_drew_it_live() {
    let case = Case::new();
    let file = case.path("recording.jsonl");
    let json = file.to_str().expect("a path");
    let words = ["stat", "-I", "50ms", "--json", json, "--", "sleep", "0.2"];
    let live = case.hugewise().args(words).assert().success();
    let again = ["stat", "--replay", json];
    let replayed = case.hugewise().args(again).assert().success();
    let text = |assert: &assert_cmd::assert::Assert| {
        String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
    };
    assert_eq!(text(&live), text(&replayed));
    let bytes = std::fs::read(&file).expect("the recording");
    let piped = ["stat", "--replay", "/dev/stdin"];
    let replayed = case.hugewise().args(piped).write_stdin(bytes).assert();
    assert_eq!(text(&live), text(&replayed));
    let lost = [&again[..], &["--json", json]].concat();
    case.hugewise().args(lost).assert().code(2);
}

#[test]
fn stat_fits_eighty_columns() {
    let case = Case::new();
    for words in [
        &["stat", "--list"][..],
        &["stat", "-v", "-I", "50ms", "--", "sleep", "0.1"],
        &["stat", "-I", "50ms", "--duration", "100ms"],
    ] {
        let output = case.hugewise().args(words).assert().success();
        let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{words:?}");
    }
}

#[test]
fn stat_ends_a_command_with_the_signal_that_ends_it() {
    let case = Case::new();
    let mut command = case.plain();
    command.args(["stat", "--", "sleep", "33.5"]);
    let mut child = command.stdout(Stdio::null()).spawn().expect("hugewise");
    harness::wait_until("the command", || harness::processes_with("33.5") == 1);
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("kill").success());
    let status = child.wait().expect("an end");
    assert_eq!(status.code(), Some(130));
    harness::wait_until("no command", || harness::processes_with("33.5") == 0);
}
