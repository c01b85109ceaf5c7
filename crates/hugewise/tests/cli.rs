//! The program as its users meet it: flags, exit codes, oracles, signals and kills.

mod harness;

use std::time::Duration;

use harness::{Case, is_root, lab, one_at_a_time, skip};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// Readings of one policy, in the order of the trials.
fn readings(report: &Value, policy: &str, metric: &str) -> Vec<f64> {
    let trials = report["trials"].as_array().expect("trials");
    trials
        .iter()
        .filter(|trial| trial["policy"] == policy)
        .map(|trial| {
            trial["readings"][metric]["value"]
                .as_f64()
                .unwrap_or(f64::NAN)
        })
        .collect()
}

// ---- what the user typed ----------------------------------------------------------------------

#[test]
fn without_arguments_the_verbs_are_shown() {
    Case::new()
        .hugewise()
        .assert()
        .code(2)
        .stderr(contains("run").and(contains("doctor")));
}

#[test]
fn short_help_fits_a_screen() {
    let help = Case::new().hugewise().arg("-h").assert().success();
    let text = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    assert!(text.lines().count() <= 40, "{text}");
}

#[test]
fn wrong_flags_and_policies_name_the_fix() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "--polcy", "thp=never", "--", "true"], "--policy"),
        (&["run", "--policy", "thp=alway", "--", "true"], "always"),
        (&["run", "--policy", "tph=always", "--", "true"], "thp"),
        (&["run"], "hugewise run -- COMMAND"),
        (
            &["run", "--", "no-such-program-anywhere"],
            "no-such-program-anywhere",
        ),
        (&["run", "--max-rounds", "0", "--", "true"], "at least 1"),
        (
            &["run", "--baseline", "x", "--policy", "as-is", "--", "true"],
            "as-is",
        ),
        (
            &["run", "--fail-if", "wall_second > 2%", "--", "true"],
            "wall_seconds",
        ),
        (&["run", "--metric", "x=abc", "--", "true"], "parentheses"),
        (&["run", "no-such-file.toml"], "no-such-file.toml"),
        (&["report", "no-such-record.jsonl"], "no-such-record.jsonl"),
        (&["run", "--shell", "--", "echo", "a"], "quotes"),
        (&["exec", "--policy", "thp=sometimes", "--", "true"], "thp"),
    ];
    for (arguments, fix) in cases {
        Case::new()
            .hugewise()
            .args(*arguments)
            .assert()
            .code(2)
            .stderr(contains(*fix));
    }
}

#[test]
fn contradictions_are_refused_before_anything_runs() {
    let case = Case::new();
    let marker = case.path("ran");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "thp=never,mthp=64k:always",
            "--shell",
            "--",
        ])
        .arg(format!("touch {}", marker.display()))
        .assert()
        .code(4)
        .stderr(contains("nothing was run"));
    assert!(!marker.exists(), "the workload ran");
}

#[test]
fn a_setting_of_the_machine_needs_system() {
    let case = Case::new();
    case.hugewise()
        .args([
            "run",
            "--policy",
            "khugepaged.scan_sleep_millisecs=123",
            "--",
            "true",
        ])
        .assert()
        .code(4)
        .stderr(contains("--system"));
}

// ---- what the workload does -------------------------------------------------------------------

#[test]
fn the_oracle_is_exact() {
    let _turn = one_at_a_time();
    let case = Case::new();
    case.oracle(case.hugewise());
}

#[test]
fn the_oracle_is_exact_for_an_ordinary_user() {
    if !is_root() {
        return skip(
            "the_oracle_is_exact_for_an_ordinary_user",
            "needs root to become somebody else",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    case.oracle(case.hugewise_as_nobody());
}

#[test]
fn a_failing_workload_is_a_row_and_exit_3() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "thp=never",
            "--max-rounds",
            "2",
        ])
        .arg("--json")
        .arg(&json)
        .args(["--shell", "--", "echo the reason >&2; exit 7"])
        .assert()
        .code(3)
        .stdout(contains("exit status 7"))
        .stdout(contains("the reason"));
    let report = case.json(&json);
    let trial = &report["trials"][0];
    assert_eq!(trial["outcome"]["code"], 7, "{trial}");
}

#[test]
fn a_timeout_kills_the_tree() {
    let _turn = one_at_a_time();
    let case = Case::new();
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "1",
            "--warmup",
            "0",
        ])
        .args([
            "--timeout",
            "300ms",
            "--shell",
            "--",
            "sleep 4321 & sleep 4321; wait",
        ])
        .assert()
        .code(3)
        .stdout(contains("timed out"));
    assert_eq!(harness::processes_with("4321"), 0, "a sleep is left");
}

#[test]
fn what_trials_print_can_be_kept() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "2",
            "--output",
            "keep",
            "--out",
        ])
        .arg(&record)
        .args(["--shell", "--", "echo out; echo err >&2"])
        .assert()
        .success();
    for trial in ["0000", "0001"] {
        let read = |end: &str| {
            std::fs::read_to_string(case.path("run.output").join(format!("{trial}.{end}")))
        };
        assert_eq!(read("stdout").expect("kept"), "out\n");
        assert_eq!(read("stderr").expect("kept"), "err\n");
    }
}

#[test]
fn hooks_run_in_their_order() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let log = case.path("log");
    let say = |word: &str| format!("echo {word} >> {}", log.display());
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "2",
            "--warmup",
            "0",
            "--shell",
        ])
        .args(["--setup", &say("setup"), "--prepare", &say("prepare")])
        .args([
            "--conclude",
            &say("conclude"),
            "--cleanup",
            &say("cleanup"),
            "--",
        ])
        .arg(say("trial"))
        .assert()
        .success();
    let order = std::fs::read_to_string(&log).expect("the log");
    let trial = "prepare\ntrial\nconclude\n";
    assert_eq!(order, format!("setup\n{trial}{trial}cleanup\n"));
}

#[test]
fn printed_metrics_are_read_and_judged() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "fast:env.SPEED=200",
            "--max-rounds",
            "8",
        ])
        .args([
            "--metric",
            "speed:1/s:higher=speed ([0-9.]+)",
            "--verdict-metric",
            "speed",
        ])
        .arg("--json")
        .arg(&json)
        .args(["--shell", "--", "echo speed ${SPEED:-100}"])
        .assert()
        .success();
    let report = case.json(&json);
    assert_eq!(
        report["verdict"]["policies"]["fast"], "better",
        "{}",
        report["verdict"]
    );
    assert_eq!(report["verdict"]["best"], "fast");
}

#[test]
fn a_gate_closes_with_5_and_stays_open_otherwise() {
    let _turn = one_at_a_time();
    for (slow, code) in [("1", 0), ("2", 5)] {
        Case::new()
            .hugewise()
            .args(["run", "--policy", "as-is", "--policy"])
            .arg(format!("other:env.COST={slow}"))
            .args([
                "--max-rounds",
                "8",
                "--metric",
                "cost::lower=cost ([0-9.]+)",
            ])
            .args([
                "--fail-if",
                "cost > +2%",
                "--shell",
                "--",
                "echo cost ${COST:-1}",
            ])
            .assert()
            .code(code);
    }
}

#[test]
fn pages_that_cannot_be_huge_get_no_effect() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "thp=never",
            "--max-rounds",
            "8",
            "--json",
        ])
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(["small", "--mappings", "20"])
        .assert()
        .success()
        .stdout(contains("no effect"));
    let report = case.json(&json);
    assert_eq!(
        report["verdict"]["policies"]["thp=never"], "no_effect",
        "{}",
        report["verdict"]
    );
}

// ---- the record -------------------------------------------------------------------------------

#[test]
fn a_record_cut_in_half_is_still_a_record() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.quick_run(&record);
    let bytes = std::fs::read(&record).expect("the record");
    let cut = case.path("cut.jsonl");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).expect("a shorter record");
    case.hugewise()
        .arg("report")
        .arg(&cut)
        .assert()
        .success()
        .stdout(contains("ends in the middle"));
}

#[test]
fn a_record_is_reported_in_every_form() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.quick_run(&record);
    for (form, sign) in [
        ("text", "minor faults"),
        ("json", "\"comparisons\""),
        ("csv", "wall_seconds"),
        ("markdown", "| "),
    ] {
        case.hugewise()
            .arg("report")
            .arg(&record)
            .args(["--format", form])
            .assert()
            .success()
            .stdout(contains(sign));
    }
}

#[test]
fn records_are_never_overwritten() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    std::fs::write(&record, "precious").expect("a file");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains("--out"));
    assert_eq!(
        std::fs::read_to_string(&record).expect("the file"),
        "precious"
    );
}

#[test]
fn a_full_disk_loses_nothing_that_was_measured() {
    if !is_root() {
        return skip(
            "a_full_disk_loses_nothing_that_was_measured",
            "needs root to mount a small tmpfs",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(disk) = harness::SmallDisk::mount(&case.path("disk"), "16k") else {
        return skip(
            "a_full_disk_loses_nothing_that_was_measured",
            "tmpfs cannot be mounted here",
        );
    };
    let record = disk.path().join("run.jsonl");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "8", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .code(1)
        .stdout(contains("wall time"))
        .stderr(contains("space"));
    let report = case
        .hugewise()
        .arg("report")
        .arg(&record)
        .assert()
        .success();
    drop(report);
}

// ---- signals, kills, and other experiments ------------------------------------------------------

#[test]
fn an_interrupt_reports_what_was_measured() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run",
        "--policy",
        "as-is",
        "--policy",
        "thp=never",
        "--",
        "sleep",
        "0.1237",
    ]);
    running.wait_for_rounds(2);
    running.signal("INT");
    let ended = running.end(Duration::from_secs(10));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    assert_eq!(harness::processes_with("0.1237"), 0);
}

#[test]
fn a_second_experiment_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut first = case.spawn(&["run", "--policy", "as-is", "--", "sleep", "0.1"]);
    first.wait_for_rounds(1);
    case.hugewise()
        .args(["run", "--policy", "as-is", "--", "true"])
        .assert()
        .code(4)
        .stderr(contains(first.id().to_string()));
    first.signal("TERM");
    first.end(Duration::from_secs(10));
}

#[test]
fn a_killed_experiment_leaves_no_process_and_undo_restores_the_machine() {
    if !is_root() {
        return skip(
            "a_killed_experiment…",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    for delay_ms in [5, 20, 40, 60, 80, 100, 130, 170, 220, 300] {
        let case = Case::new();
        let mut running = case.spawn(&[
            "run",
            "--system",
            "--policy",
            "thp=never",
            "--policy",
            "thp=always,defrag=defer",
            "--policy",
            "khugepaged.scan_sleep_millisecs=12345",
            "--warmup",
            "0",
            "--",
            "sleep",
            "0.02765",
        ]);
        std::thread::sleep(Duration::from_millis(delay_ms));
        running.signal("KILL");
        running.end(Duration::from_secs(10));
        harness::wait_until("no sleep is left", || {
            harness::processes_with("0.02765") == 0
        });
        case.hugewise()
            .args(["doctor", "--undo"])
            .assert()
            .success();
        assert_eq!(harness::settings(), before, "after a kill at {delay_ms} ms");
    }
}

// ---- exec ---------------------------------------------------------------------------------------

#[test]
fn exec_becomes_the_command() {
    Case::new()
        .hugewise()
        .args([
            "exec",
            "--policy",
            "thp=never,env.GREETING=hello",
            "--",
            "sh",
            "-c",
        ])
        .arg("echo $GREETING; grep THP_enabled /proc/self/status; exit 9")
        .assert()
        .code(9)
        .stdout(contains("hello").and(contains(THP_DISABLED)));
}

/// How /proc/PID/status shows `PR_SET_THP_DISABLE`.
const THP_DISABLED: &str = "THP_enabled:\t0";
