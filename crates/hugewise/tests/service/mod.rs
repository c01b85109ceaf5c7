//! `run --service` from outside: a server whose right answer is known, and its failures.

mod death;
mod examples;
mod interleaved;
mod stacks;
mod timeline;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::{Case, lab, one_at_a_time, readings, wait_until};

const PAGES: usize = 1024;
const REQUESTS: usize = 40;

/// The server's line: it keeps a file in its folder, and tells its port in one that stays.
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

/// `run` with a server, its folders below the case's own.
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

/// Servers whose folder lies in this one.
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
    let (json, record) = (case.path("report.json"), case.path("run.jsonl"));
    let warm_up = asking(7);
    let done = run(&case, &server(&case, "--huge"), &asking(REQUESTS), &[])
        .args([
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
            "--verbose",
        ])
        .arg("--json")
        .arg(&json)
        .arg("--out")
        .arg(&record)
        .assert()
        .success()
        .stdout(contains("latency, p99.9"));
    let text = unfolded(&done);
    assert!(text.contains("Service: each trial starts it"), "{text}");
    assert!(text.contains("ran under no policy."), "{text}");
    nothing_is_left(&case);
    let report = case.json(&json);
    assert_eq!(report["verdict"]["metric"], "latency_seconds");
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

/// What was printed, without the breaks of its lines.
fn unfolded(done: &Assert) -> String {
    let text = String::from_utf8_lossy(&done.get_output().stdout);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each request of the load is so many faults of the server; those of the warm-up are not in it.
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

/// The log goes with the trial's folder; it is read before, of each trial its own.
#[test]
fn latencies_are_read_from_the_folder_of_the_trial() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let load = format!("{} > {{dir}}/took.{{port}}", asking(REQUESTS));
    let report = |file: &str, load: &str| {
        let json = case.path("report.json");
        let latency = format!("latency = 'csv:latency_ns:{{dir}}/{file}'\n");
        std::fs::write(case.path("x.toml"), latency).expect("a file");
        let words = ["--policy", "as-is", "--warmup", "0", "--max-rounds", "1"];
        run(&case, &server(&case, ""), load, &words)
            .arg("--json")
            .arg(&json)
            .arg(case.path("x.toml"))
            .assert()
            .success();
        nothing_is_left(&case);
        case.json(&json)
    };
    for file in ["took*", "took.{port}"] {
        for trial in report(file, &load)["trials"].as_array().expect("trials") {
            let latencies = &trial["readings"]["latency_seconds"]["histogram"];
            assert_eq!(latencies["count"], REQUESTS, "{file}: {trial:#}");
        }
    }
    let report = report("log", &load);
    let missing = report["trials"][0]["readings"]["latency_seconds"].to_string();
    assert!(
        missing.contains("{dir}/log: the trial wrote no such file"),
        "{missing}"
    );
}

#[test]
fn a_failing_service_is_a_row_with_its_last_words() {
    let _turn = one_at_a_time();
    // The last load knocks at a door behind which nobody is.
    let nobody = format!("{} ask --port 1 --requests 1", lab().display());
    for (failing, load, party, said) in [
        (
            "--fail start",
            &asking(3),
            "service",
            "ended before it was ready: exit status 3. The service wrote: no configuration",
        ),
        (
            "--fail load",
            &asking(3),
            "service",
            "ended under load: killed by signal 6. The service wrote: listening",
        ),
        (
            "",
            &nobody,
            "load",
            "the load failed: exit status 1. The load wrote: hugewise-lab: asking",
        ),
    ] {
        let case = Case::new();
        let json = case.path("report.json");
        let words = ["--policy", "as-is", "--warmup", "0", "--max-rounds", "2"];
        let done = run(&case, &server(&case, failing), load, &words)
            .arg("--json")
            .arg(&json)
            .assert()
            .code(3);
        let text = unfolded(&done);
        assert!(text.contains(said), "{text}");
        let report = case.json(&json);
        assert_eq!(report["trials"][0]["outcome"]["party"], party, "{report:#}");
        nothing_is_left(&case);
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

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    for (words, error) in [
        (&["--service", "sleep 1"][..], "needs --ready"),
        (
            &["--service", "sleep 1", "--ready", "tcp:{port}"],
            "needs --load",
        ),
        (
            &["--service", "sleep 1", "--ready", "soon", "--load", "true"],
            "tcp:PORT",
        ),
        (&["--load", "true", "--", "true"], "--load needs --service"),
        (&["--grace", "1s", "--", "true"], "--grace needs --service"),
        (
            &["--service", "sleep 1", "--", "true"],
            "--service is the command",
        ),
        (
            &[
                "--service",
                "no-such-server -p 1",
                "--ready",
                "tcp:1",
                "--load",
                "true",
            ],
            "`no-such-server`",
        ),
        (
            &["--service", "sleep 1", "--ready", "tcp:1", "--load", " "],
            "--load",
        ),
        (
            &[
                "--service",
                "sleep 1",
                "--ready",
                "tcp:1",
                "--load",
                "true",
                "--load-cpus",
                "9999",
            ],
            "CPU 9999 is not online",
        ),
        (
            &[
                "--service",
                "sleep 1",
                "--ready",
                "tcp:1",
                "--load",
                "true",
                "--latency",
                "hgrm:/tmp/x-{port}",
            ],
            "a path with {port} must begin with {dir}/",
        ),
        (
            &["--latency", "hgrm:{dir}/x", "--", "true"],
            "{dir} needs --service",
        ),
        (
            &[
                "--service",
                "sleep 1",
                "--ready",
                "tcp:1",
                "--load",
                "true",
                "--exit-hold",
                "on",
            ],
            "--exit-hold on",
        ),
        (
            &["--dry-run", "--format", "csv", "--", "true"],
            "text or json",
        ),
    ] {
        let case = Case::new();
        case.hugewise()
            .arg("run")
            .args(words)
            .assert()
            .code(2)
            .stderr(contains(error));
    }
}

#[test]
fn a_program_may_be_made_by_the_setup() {
    let case = Case::new();
    let service = ["--service", "./made", "--ready", "tcp:1", "--load", "true"];
    let command = ["--", "./made"];
    for words in [&service[..], &command] {
        let run = ["run", "--dry-run"];
        let refused = case.hugewise().args(run).args(words).assert();
        refused.code(2).stderr(contains("no program"));
        let run = ["run", "--dry-run", "--setup", "make"];
        case.hugewise().args(run).args(words).assert().success();
    }
}

#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let case = Case::new();
    std::fs::write(
        case.path("x.toml"),
        "service = ['sleep', '1']\nready = 'log:up'\nload = 'sleep 2'\nstop-signal = 'INT'\n\
         policies = ['thp=never', 'malloc=thp']\nload-cpus = '0'\nmax-time = '1m'\n\
         host-memory = 'as-is'\n",
    )
    .expect("a file");
    let words = ["run", "--dry-run", "--seed", "7", "x.toml"];
    case.hugewise().args(words).assert().success().stdout(
        "Dry run: nothing was run or set.\n\
         command        sleep 1\n\
         service ready  log:up within 60 s\n\
         load           sleep 2 (without a policy, on CPUs [0])\n\
         stop           SIGINT, killed 10 s later\n\
         servers        one started for each trial, because each server needs an address\n               \
         of its own: write {port} (or a socket in {dir}) in the service,\n               \
         its load and --ready\n\
         thp=never      prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec (baseline)\n\
         malloc=thp     GLIBC_TUNABLES=glibc.malloc.hugetlb=1 (if it is set already:\n               \
         append after `:`)\n\
         control        thp=never once more in each round\n\
         rounds         at most 400 of 3 trials each, none that would end after 60 s,\n               \
         after 1 unmeasured; seed 7\n\
         decided by     wall_seconds; differences within 1 % do not count\n",
    );
    let json = case
        .hugewise()
        .args(["run", "--format", "json"])
        .args(&words[1..])
        .assert()
        .success();
    let plan: Value = serde_json::from_slice(&json.get_output().stdout).expect("JSON");
    assert_eq!(plan["plan"]["service"]["stop_signal"], "SIGINT");
    assert!(!case.path("state").exists());
}
