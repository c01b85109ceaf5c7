//! The servers of all policies at once: each trial is one load of one server.

use predicates::str::contains;
use serde_json::Value;

use super::{
    REQUESTS, all_requests_have_latencies, asking, exact_faults, report, run, server, unfolded,
};
use crate::harness::report::{claim, doubt};
use crate::harness::{Case, one_at_a_time, readings};

const POLICIES: [&str; 4] = ["--policy", "huge:as-is", "--policy", "small:thp=never"];
const SHORT: [&str; 4] = ["--max-rounds", "4", "--rounds-per-start", "2"];

/// Three servers at once, each started twice; readings of one never appear for another.
#[test]
fn servers_live_through_rounds_and_each_load_is_a_trial() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let words = [&POLICIES[..], &SHORT].concat();
    let mut run = run(&case, &server(&case, "--huge"), &asking(REQUESTS), &words);
    run.args(["--latency", "csv:latency_ns", "--warmup", "1"]);
    let (_, report) = report(&case, &mut run, 0);
    let windows = &report["plan"]["service"]["interleave"]["windows"];
    assert_eq!(windows["rounds_per_start"], 2, "{report:#}");
    assert_eq!(doubt(&report, "few_starts")["starts"], 2);
    let ports = std::fs::read_to_string(case.path("ports")).expect("ports");
    assert_eq!(ports.lines().count(), 6, "{ports}");
    exact_faults(&report);
    starts_are_numbered(&report);
    let by_start = claim(&report, |it| it["contrast"]["when"]["per_start"] == 2);
    assert_eq!(by_start["contrast"]["arm"], "small", "{by_start}");
    // One start is one reading.
    let ready = readings(&report, "small", "service_ready_seconds");
    assert_eq!(ready.iter().filter(|it| it.is_finite()).count(), 2);
}

fn starts_are_numbered(report: &Value) {
    let trials = report["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 12);
    for trial in trials {
        let round = trial["round"].as_u64().expect("a round");
        assert_eq!(trial["start"], round / 2, "{trial:#}");
    }
}

/// Files that an earlier load wrote in a server's folder do not belong to a later load.
#[test]
fn each_load_has_the_latencies_that_it_wrote() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let load = format!("{} > {{dir}}/took.$$", asking(REQUESTS));
    let latency = "latency = 'csv:latency_ns:{dir}/took.*'\n";
    std::fs::write(case.path("x.toml"), latency).expect("a file");
    let words = [&POLICIES[..], &SHORT].concat();
    let mut run = run(&case, &server(&case, ""), &load, &words);
    let (_, report) = report(&case, &mut run, 0);
    all_requests_have_latencies(&report);
}

#[test]
fn a_server_that_ends_under_load_fails_all_trials_of_its_start() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let words = [&POLICIES[..], &SHORT, &["--warmup", "0"]].concat();
    let mut run = run(&case, &server(&case, "--fail load"), &asking(3), &words);
    let (_, report) = report(&case, &mut run, 3);
    let error = |index: usize| report["trials"][index]["outcome"]["error"].to_string();
    assert!(error(0).contains("ended under load"), "{}", error(0));
    assert!(error(3).contains("ended between two loads"), "{}", error(3));
}

#[test]
fn a_dry_run_says_how_servers_are_shared() {
    let case = Case::new();
    let (server, load) = ("sleep {port}", "sleep {port}");
    let dry = |more: &[&str], said: &str| {
        let words = [&["--dry-run"], &POLICIES[..], more].concat();
        let done = run(&case, server, load, &words).assert().success();
        let text = unfolded(&done);
        assert!(text.contains(said), "{text}");
    };
    dry(&[], "started anew after 2 rounds");
    dry(
        &["--interleave", "no"],
        "servers one started for each trial",
    );
    dry(&["--prepare", "true"], "because --prepare, --conclude");
}

#[test]
fn what_stands_in_the_way_is_refused_where_it_was_asked_for() {
    let case = Case::new();
    let refused = |server: &str, more: &[&str], error: &str| {
        let words = [&["--interleave", "yes"], &POLICIES[..], more].concat();
        let done = run(&case, server, "sleep {port}", &words).assert();
        done.code(2).stderr(contains(error));
    };
    refused(
        "sleep 1",
        &[],
        "--interleave yes: each server needs an address",
    );
    let hook = ["--prepare", "true"];
    refused("sleep {port}", &hook, "--interleave yes: --prepare");
    let words = ["run", "--interleave", "yes", "--", "true"];
    let done = case.hugewise().args(words).assert();
    done.code(2)
        .stderr(contains("--interleave needs --service"));
}
