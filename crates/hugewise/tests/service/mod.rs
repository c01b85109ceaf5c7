//! `run --service` from outside: a server with known results, and its failures.

mod death;
mod examples;
mod interleaved;
mod refusals;
mod stacks;
mod timeline;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::report::{answer, doubt};
use crate::harness::{Case, lab, one_at_a_time, readings, wait_until};

const PAGES: usize = 1024;
const REQUESTS: usize = 40;

/// The server's line: it keeps a file in its folder, and writes its port into a file that stays.
fn server(case: &Case, more: &str) -> String {
    format!(
        "echo {{port}} >> {}; exec {} serve --port {{port}} --folder {{dir}} --pages {PAGES} {more}",
        case.path("ports").display(),
        lab().display()
    )
}

fn asking(requests: usize) -> String {
    format!(
        "{} ask --port {{port}} --requests {requests}",
        lab().display()
    )
}

/// `run` with a server, with its folders below the test's folder.
fn run(case: &Case, server: &str, load: &str, more: &[&str]) -> Command {
    let mut command = case.hugewise();
    command
        .env("TMPDIR", case.path("scratch"))
        .args([
            "run",
            "--ready",
            "tcp:{port}",
            "--service",
            server,
            "--load",
            load,
        ])
        .args(more);
    std::fs::create_dir_all(case.path("scratch")).expect("a folder");
    command
}

/// Nothing of a server is left: no process, no folder, and its ports are free.
fn nothing_is_left(case: &Case) {
    let lab = lab();
    let folder = case.path("scratch");
    wait_until("no server and no load is left", || {
        processes(&lab, &folder) == 0
    });
    wait_until("no folder is left", || {
        std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none())
    });
    let ports = std::fs::read_to_string(case.path("ports")).unwrap_or_default();
    for port in ports.lines() {
        let port: u16 = port.parse().expect("a port");
        assert!(
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok(),
            "{port}"
        );
    }
}

/// Runs it to its end with this exit code, and returns its report. Nothing of a server is left.
fn report(case: &Case, run: &mut Command, code: i32) -> (Assert, Value) {
    let (json, file) = (case.path("report.json"), case.path("x.toml"));
    run.arg("--json").arg(&json);
    // A file of options comes after all flags, in the position of the command.
    if file.exists() {
        run.arg(file);
    }
    let done = run.assert().code(code);
    nothing_is_left(case);
    (done, case.json(&json))
}

/// Each trial has the latency of each of its requests.
fn all_requests_have_latencies(report: &Value) {
    for trial in report["trials"].as_array().expect("trials") {
        let latencies = &trial["readings"]["latency_seconds"]["histogram"];
        assert_eq!(latencies["count"], REQUESTS, "{trial:#}");
    }
}

/// Servers whose folder is in this one.
fn processes(lab: &Path, folder: &Path) -> usize {
    let named = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        line.contains(&*lab.to_string_lossy()) && line.contains(&*folder.to_string_lossy())
    };
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| named(line))
        .count()
}

#[test]
fn what_is_read_is_of_the_server_while_the_load_runs() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let warm_up = asking(7);
    let mut run = run(&case, &server(&case, "--huge"), &asking(REQUESTS), &[]);
    run.args([
        "--policy",
        "huge:as-is",
        "--policy",
        "small:thp=never",
        "--max-rounds",
        "2",
        "--interleave",
        "no",
    ])
    .args([
        "--latency",
        "csv:latency_ns",
        "--warm-up-load",
        &warm_up,
        "--output",
        "keep",
    ])
    .arg("--out")
    .arg(case.path("run.jsonl"));
    let (_, report) = report(&case, &mut run, 0);
    let service = &report["plan"]["service"];
    assert!(service["interleave"]["windows"].is_null(), "{service}");
    assert_eq!(service["load_policy"], "none", "{service}");
    assert_eq!(answer(&report)["judged"]["metric"], "latency_seconds");
    assert_eq!(report["plan"]["service"]["ready"], "tcp:127.0.0.1:{port}");
    exact_faults(&report);
    let latencies = &report["trials"][0]["readings"]["latency_seconds"]["histogram"];
    assert!(latencies.is_object(), "{latencies}");
    let log = std::fs::read_to_string(case.path("run.output/0000.service"));
    assert_eq!(log.expect("the server's log"), "listening\n");
    let table = std::fs::read_to_string(case.path("run.output/0000.stdout"));
    assert_eq!(
        table.expect("the load's table").lines().count(),
        REQUESTS + 1
    );
}

/// The output without line breaks.
fn unfolded(done: &Assert) -> String {
    let text = String::from_utf8_lossy(&done.get_output().stdout);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each request of the load causes this many faults of the server; those of the warm-up are excluded.
fn exact_faults(report: &Value) {
    let small = (PAGES * REQUESTS) as f64;
    let page = report["host"]["page_bytes"].as_f64().expect("a page size");
    let huge = report["host"]["thp"]["pmd_bytes"]
        .as_f64()
        .map(|huge| huge / page);
    let per_request = |huge: f64| (PAGES as f64 / huge).floor() + PAGES as f64 % huge;
    let advised = huge.map_or(small, |huge| REQUESTS as f64 * per_request(huge));
    for (policy, faults) in [("small", small), ("huge", advised)] {
        for read in readings(report, policy, "minor_faults_total") {
            // The first request may find the server's own pages untouched.
            assert!((faults..faults + 60.0).contains(&read), "{policy}: {read}");
        }
    }
}

/// The log is deleted with the trial's folder; each trial's log is read before that.
#[test]
fn latencies_are_read_from_the_folder_of_the_trial() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let load = format!("{} > {{dir}}/took.{{port}}", asking(REQUESTS));
    let report = |file: &str, exit: i32| {
        let latency = format!("latency = 'csv:latency_ns:{{dir}}/{file}'\n");
        std::fs::write(case.path("x.toml"), latency).expect("a file");
        let words = ["--policy", "as-is", "--warmup", "0", "--max-rounds", "1"];
        let mut run = run(&case, &server(&case, ""), &load, &words);
        report(&case, &mut run, exit).1
    };
    for file in ["took*", "took.{port}"] {
        all_requests_have_latencies(&report(file, 0));
    }
    // If no trial gave latencies, that is no success.
    let report = report("log", 3);
    let missing = report["trials"][0]["readings"]["latency_seconds"].to_string();
    assert!(
        missing.contains("{dir}/log: the trial wrote no such file"),
        "{missing}"
    );
}

#[test]
fn a_failing_service_is_a_row_with_its_last_words() {
    let _turn = one_at_a_time();
    // The last load connects to a port that nobody listens on.
    let nobody = format!("{} ask --port 1 --requests 1", lab().display());
    for (failing, load, party, why, said) in [
        (
            "--fail start",
            &asking(3),
            "service",
            "ended before it was ready: exit status 3",
            "no configuration",
        ),
        (
            "--fail load",
            &asking(3),
            "service",
            "ended under load: killed by signal 6",
            "listening",
        ),
        (
            "",
            &nobody,
            "load",
            "the load failed: exit status 1",
            "hugewise-lab: asking",
        ),
    ] {
        let case = Case::new();
        let words = ["--policy", "as-is", "--warmup", "0", "--max-rounds", "2"];
        let mut run = run(&case, &server(&case, failing), load, &words);
        let (_, report) = report(&case, &mut run, 3);
        let outcome = &report["trials"][0]["outcome"];
        let error = outcome["error"].as_str().unwrap_or_default();
        assert!(error.contains(why), "{outcome}");
        let failed = doubt(&report, "failed_trials");
        let wrote = failed["said"].as_str().unwrap_or_default();
        assert!(wrote.contains(said), "{failed}");
        assert_eq!(outcome["party"], party, "{outcome}");
        assert_eq!(answer(&report)["word"], "failed");
    }
}

#[test]
fn a_server_that_stays_is_killed_and_that_is_said_once() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let done = run(
        &case,
        &server(&case, "--fail end"),
        &asking(2),
        &["--policy", "as-is"],
    )
    .args(["--grace", "100ms", "--max-rounds", "2"])
    .assert()
    .success()
    .stderr(contains(
        "was still running 0.1 s after SIGTERM and was killed",
    ));
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert_eq!(said.matches("was killed").count(), 1, "{said}");
    nothing_is_left(&case);
}
