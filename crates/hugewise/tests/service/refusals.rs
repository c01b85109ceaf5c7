//! Refusals before a server starts, and the dry run of a server.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::{Case, one_at_a_time};

/// A complete server, and one flag with its value.
fn served([flag, value]: [&str; 2]) -> [&str; 8] {
    let line = ["--service", "sleep 1", "--ready", "tcp:1", "--load", "true"];
    let [service, server, ready, port, load, command] = line;
    [service, server, ready, port, load, command, flag, value]
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let _turn = one_at_a_time();
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
        (&served(["--load-cpus", "9999"]), "CPU 9999 is not online"),
        (
            &served(["--latency", "hgrm:/tmp/x-{port}"]),
            "a path with {port} must begin with {dir}/",
        ),
        (
            &["--latency", "hgrm:{dir}/x", "--", "true"],
            "{dir} needs --service",
        ),
        (&served(["--exit-hold", "on"]), "--exit-hold on"),
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
fn a_line_without_a_place_for_arguments_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let run = |line: &str| {
        let mut run = case.hugewise();
        run.args(["run", "--dry-run", "--policy", "args=-L"])
            .args(["--ready", "tcp:{port}", "--load", "true", "--service", line])
            .assert()
    };
    run("cd / && exec sleep 1")
        .code(2)
        .stderr(contains("policy `args=-L`").and(contains("write {args}")));
    let plan = run("cd / && exec sleep {args} 1").success();
    plan.stdout(contains("-L among its arguments"));
}

#[test]
fn a_program_may_be_made_by_the_setup() {
    let _turn = one_at_a_time();
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
    let _turn = one_at_a_time();
    let case = Case::new();
    std::fs::write(
        case.path("x.toml"),
        "service = ['sleep', '1']\nready = 'log:up'\nload = 'sleep 2'\nstop-signal = 'INT'\n\
         policies = ['thp=never', 'go.disablethp=1']\nload-cpus = '0'\nmax-time = '1m'\n\
         host-memory = 'as-is'\n",
    )
    .expect("a file");
    let words = ["run", "--dry-run", "--seed", "7", "x.toml"];
    case.hugewise().args(words).assert().success().stdout(
        "Dry run: nothing was run or set.\n\
         command          sleep 1\n\
         service ready    log:up within 60 s\n\
         load             sleep 2 (without a policy, on CPUs [0])\n\
         stop             SIGINT, killed 10 s later\n\
         servers          one started for each trial, because each server needs an\n                 \
         address of its own: write {port} (or a socket in {dir}) in the\n                 \
         service, its load and --ready\n\
         thp=never        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec (baseline)\n\
         go.disablethp=1  GODEBUG=disablethp=1 (if it is set already: append after `,`)\n\
         control          thp=never once more in each round\n\
         rounds           at most 400 of 3 trials each, none that would end after 60 s,\n                 \
         after 1 unmeasured; seed 7\n\
         decided by       wall_seconds; differences within 1 % do not count\n",
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
