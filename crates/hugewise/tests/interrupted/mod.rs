//! Signals, kills, and other processes that change the subject of an experiment.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hugewise_base::gzip::gzip;
use hugewise_linux::machine::lock;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::{self, Case, Running, is_root, one_at_a_time, skip};

/// An experiment with one policy that changes system settings, after its first round.
fn one_round_under(case: &Case, policy: &str) -> Running {
    let system = ["run", "--system", "--policy", policy, "--baseline", policy];
    let command = ["--warmup", "0", "--", "sleep", "0.3"];
    let mut running = case.spawn(&[&system[..], &command].concat());
    running.wait_for_rounds(1);
    running
}

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
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    assert_eq!(harness::processes_with("0.1237"), 0);
}

#[test]
fn an_interrupt_of_added_rounds_reports_all_of_them() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("running.jsonl");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--policy", "thp=never"])
        .args(["--max-rounds", "1", "--wait", "60s", "--out"])
        .arg(&record)
        .args(["--", "sleep", "0.1537"])
        .assert()
        .success();
    let mut running = case.spawn_to_continue(&record);
    running.wait_for_rounds(2);
    running.signal("INT");
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    // An interrupted record can still be continued.
    let go_on = |record: &Path| {
        let mut command = case.hugewise();
        command.args(["run", "--max-rounds", "1", "--continue"]);
        command.arg(record).assert()
    };
    go_on(&record).success();
    // A packed record stays unchanged; its trials and the new ones are in a file next to it.
    let before = fs::read(&record).expect("the record");
    let packed = record.with_extension("jsonl.gz");
    fs::write(&packed, gzip(&before)).expect("a packed record");
    fs::remove_file(&record).expect("the record goes");
    go_on(&packed).success();
    let after = fs::read(&record).expect("an unpacked record");
    assert!(after.starts_with(&before) && after.len() > before.len());
    assert_eq!(fs::read(&packed).expect("the packed one"), gzip(&before));
    go_on(&packed).code(2);
    assert_eq!(fs::read(&record).expect("the unpacked one"), after);
}

#[test]
fn an_interrupt_before_the_rounds_of_a_bench_is_one() {
    let case = Case::new();
    let mut bench = case.plain();
    bench.arg("bench");
    let mut running = case.spawn_of(bench, &["memory", "--ops", "copy"]);
    std::thread::sleep(Duration::from_millis(700));
    running.signal("INT");
    let ended = running.end(Duration::from_secs(10));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("measuring for up to"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_interrupt_ends_watching() {
    let own = std::process::id().to_string();
    let case = Case::new();
    let mut command = case.plain();
    command.args(["inspect", "--watch", "1s", &own]);
    let mut child = command
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("hugewise");
    std::thread::sleep(Duration::from_millis(700));
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    assert_eq!(child.wait().expect("its end").code(), Some(130));
}

#[test]
fn an_interrupt_still_tidies_up() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let log = case.path("log");
    let say = |word: &str| format!("sleep 0.1; echo {word} >> {}", log.display());
    let (conclude, cleanup) = (say("conclude"), say("cleanup"));
    let mut running = case.spawn(&[
        "run",
        "--policy",
        "as-is",
        "--warmup",
        "0",
        "--conclude",
        &conclude,
        "--cleanup",
        &cleanup,
        "--",
        "sleep",
        "0.2",
    ]);
    running.wait_for_rounds(1);
    // Pressed twice: the second signal is no new decision.
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(20));
    running.signal("INT");
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let log = fs::read_to_string(&log).expect("the log");
    assert!(log.ends_with("conclude\ncleanup\n"), "{log}");
}

#[test]
fn an_interrupt_of_the_setup_is_an_interrupt() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run", "--policy", "as-is", "--setup", "sleep 9", "--", "true",
    ]);
    harness::wait_until("the record is there", || {
        case.path("running.jsonl").exists()
    });
    std::thread::sleep(Duration::from_millis(100));
    running.signal("TERM");
    assert_eq!(running.end(Duration::from_secs(60)).code, Some(130));
}

#[test]
fn a_quit_puts_the_machine_back() {
    if !is_root() {
        return skip("a_quit…", "needs root to write the machine's settings");
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let mut running = one_round_under(&case, "thp=always");
    running.signal("QUIT");
    assert_eq!(running.end(Duration::from_secs(60)).code, Some(130));
    assert_eq!(harness::settings(), before);
}

#[test]
fn a_lost_keeper_costs_one_trial_and_no_result() {
    if !is_root() {
        return skip(
            "a_lost_keeper…",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let mut running = one_round_under(&case, "thp=always");
    std::thread::sleep(Duration::from_millis(100));
    running.kill_children();
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("the keeper of the workload was killed"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    assert_eq!(harness::settings(), before);
}

#[test]
fn what_somebody_else_changes_meanwhile_stays_and_ends_the_experiment() {
    const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
    if !is_root() {
        return skip(
            "what_somebody_else_changes…",
            "needs root to change a setting",
        );
    }
    let _turn = one_at_a_time();
    let restored = harness::Restored::of(DEFRAG);
    let case = Case::new();
    let mut running = one_round_under(&case, "defrag=defer");
    fs::write(DEFRAG, "never").expect("a setting");
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("another program"), "{}", ended.stderr);
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    let now = fs::read_to_string(DEFRAG).expect("a setting");
    assert!(now.contains("[never]"), "{now}");
    drop(restored);
}

#[test]
fn a_second_experiment_is_refused_or_waits() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let first = ["run", "--policy", "as-is", "--max-rounds", "9"];
    let mut first = case.spawn(&[&first[..], &["--", "sleep", "0.1"]].concat());
    first.wait_for_rounds(1);
    let second = ["run", "--policy", "as-is", "--max-rounds", "1"];
    case.hugewise()
        .args(second)
        .args(["--", "true"])
        .assert()
        .code(6)
        .stderr(contains(first.id().to_string()).and(contains("--wait 10m")));
    case.hugewise()
        .args(second)
        .args(["--wait", "60s", "--", "true"])
        .assert()
        .success()
        .stderr(contains("waiting for process"));
    assert!(first.is_over());
}

#[test]
fn an_ordinary_user_does_not_stop_root() {
    if !is_root() {
        return skip(
            "an_ordinary_user_does_not_stop_root",
            "needs root and another user",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    // The first experiment creates the lock.
    case.quick_run(&case.path("first.jsonl"));
    let marker = case.path("marker");
    let line = format!(
        "exec 9<{}; flock 9; touch {}; exec sleep 53.21",
        lock::default_dir().join(lock::LOCK_FILE).display(),
        marker.display()
    );
    let mut user = std::process::Command::new("sh");
    user.args(["-c", &line]).uid(harness::NOBODY);
    let mut user = user.spawn().expect("sh");
    harness::wait_until("the user holds the lock", || marker.exists());
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1"])
        .args(["--wait", "no", "--", "true"])
        .assert()
        .success()
        .stderr(contains("does not stop root"));
    user.kill().expect("its end");
    user.wait().expect("its end");
}

#[test]
fn one_may_measure_under_settings_that_exec_keeps() {
    if !is_root() {
        return skip(
            "one_may_measure…",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let marker = case.path("marker");
    let line = format!("touch {}; exec sleep 54.321", marker.display());
    let mut server = case
        .plain()
        .args([
            "exec",
            "--system",
            "--policy",
            "defrag=defer",
            "--",
            "sh",
            "-c",
            &line,
        ])
        .spawn()
        .expect("exec");
    harness::wait_until("the command runs", || marker.exists());
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1", "--json"])
        .arg(&json)
        .args(["--", "true"])
        .assert()
        .success();
    let report = case.json(&json);
    let holder = &harness::report::answer(&report)["circumstances"][0]["settings_held_by"];
    let id = server.id().to_string();
    assert!(holder.to_string().contains(&id), "{holder}");
    case.hugewise()
        .args(["run", "--system", "--policy", "thp=always", "--", "true"])
        .assert()
        .code(6)
        .stderr(contains(server.id().to_string()));
    let ended = std::process::Command::new("kill")
        .arg(server.id().to_string())
        .status();
    assert!(ended.expect("kill").success());
    server.wait().expect("exec");
    harness::wait_until("no sleep is left", || {
        harness::processes_with("54.321") == 0
    });
}

#[test]
fn a_killed_experiment_leaves_no_process_and_no_setting() {
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
        running.end(Duration::from_secs(60));
        harness::wait_until("no sleep is left", || {
            harness::processes_with("0.02765") == 0
        });
        let killed = Instant::now();
        harness::wait_until("the settings are back", || harness::settings() == before);
        assert!(
            killed.elapsed() < Duration::from_secs(1),
            "{:?}",
            killed.elapsed()
        );
        // The guardian keeps its turn until its journal is removed from the disk.
        harness::wait_until("nothing is left to undo", || {
            let undone = case.hugewise().args(["doctor", "--undo"]).output();
            undone.expect("doctor").status.success()
        });
        assert_eq!(harness::settings(), before, "after a kill at {delay_ms} ms");
    }
}

#[test]
fn settings_that_nobody_put_back_are_not_taken_for_the_machines_own() {
    if !is_root() {
        return skip(
            "settings_that_nobody_put_back…",
            "it changes settings as root",
        );
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let own = harness::thp_mode();
    let other = if own == "always" { "never" } else { "always" };
    let policy = format!("thp={other}");
    let mut exec = case.plain();
    exec.args(["exec", "--system", "--policy", &policy, "--", "sleep", "60"]);
    let mut exec = exec.spawn().expect("exec");
    harness::wait_until("the policy", || harness::thp_mode() == other);
    harness::kill_with_children(&mut exec);
    assert_eq!(harness::thp_mode(), other, "nobody has put it back");
    let record = case.path("record.jsonl");
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
        .args(["--wait", "60s", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .success()
        .stderr(contains("after a killed experiment, /sys"));
    assert_eq!(harness::settings(), before);
    let text = fs::read_to_string(&record).expect("the record");
    let header: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(header["host"]["thp"]["enabled"], own);
}
