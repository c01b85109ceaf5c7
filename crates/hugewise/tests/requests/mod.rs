//! Latencies reported by the workload, and settings that reach a runtime.

use predicates::str::contains;
use serde_json::Value;

use crate::harness::report::{answer, call, claim, doubt};
use crate::harness::{Case, one_at_a_time};

/// Thousands of requests: `us` is 1 to 1,000 microseconds, each as often.
const THOUSAND: &str = r#"i=0; while [ $((i += 1)) -le 1000 ]; do echo "{\"us\":$i}"; done"#;

#[test]
fn percentiles_are_those_of_all_trials_together() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--latency", "jsonl:us@us", "--max-rounds", "6"])
        .args(["--policy", "as-is", "--policy", "b:env.B=1", "--json"])
        .arg(&json)
        .args(["--shell", "--", THOUSAND])
        .assert()
        .success();
    let report = case.json(&json);
    assert_eq!(report["plan"]["verdict_metric"], "latency_seconds");
    for (statistic, microseconds) in [("p50", 500.0), ("p90", 900.0), ("p99", 990.0)] {
        let row = row(&report, statistic);
        let value = row["from"].as_f64().expect("a value") * 1e6;
        assert!((value / microseconds - 1.0).abs() <= 0.005, "{row}");
        assert_eq!(call(row), "same", "{row}");
    }
    let max = row(&report, "max")["from"].as_f64();
    assert!(
        (max.expect("a value") - 1e-3).abs() < 1e-12,
        "the longest is exact: {max:?}"
    );
}

fn row<'a>(report: &'a Value, statistic: &str) -> &'a Value {
    claim(report, |claim| {
        let contrast = &claim["contrast"];
        contrast["metric"] == "latency_seconds" && contrast["statistic"] == statistic
    })
}

#[test]
fn a_workload_that_tells_no_latency_is_not_run_for_hours() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--latency",
            "wrk",
            "--policy",
            "as-is",
            "--policy",
            "b:env.B=1",
        ])
        .args(["--max-rounds", "40", "--json"])
        .arg(&json)
        .args(["--", "true"])
        .assert()
        .code(3)
        .stderr(contains("--latency was read in no trial"));
    let report = case.json(&json);
    let run = &answer(&report)["circumstances"][0];
    assert_eq!(run["stopped"], "verdict_unmeasured", "{run}");
    let trials = report["trials"].as_array().expect("trials");
    let last = trials.iter().filter_map(|trial| trial["round"].as_u64());
    assert_eq!(last.max(), Some(0), "one round: {run}");
}

/// The output of wrk for this many requests and failures.
fn of_wrk(requests: u32, failed: u32) -> String {
    format!(
        "printf '  Latency Distribution\\n 50%% 1.00ms\\n 99%% 2.00ms\\n {requests} requests in 1.00s\\n  Socket \
         errors: connect 0, read {failed}, write 0, timeout 0\\nRequests/sec: {requests}\\n'"
    )
}

#[test]
fn a_policy_whose_requests_fail_is_no_better_and_opens_no_gate() {
    let _turn = one_at_a_time();
    let (good, bad) = (of_wrk(9000, 0), of_wrk(20_000, 20_001));
    let line = format!("if [ \"$B\" = 1 ]; then {bad}; else {good}; fi");
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--latency",
            "wrk",
            "--policy",
            "as-is",
            "--policy",
            "b:env.B=1",
        ])
        .args(["--policy", "c:env.C=1", "--max-rounds", "6"])
        .args(["--fail-if", "latency_p99_seconds > +50%", "--json"])
        .arg(&json)
        .args(["--shell", "--", &line])
        .assert()
        .code(3);
    let report = case.json(&json);
    let trials = report["trials"].as_array().expect("trials");
    let failed = trials.iter().find(|trial| trial["policy"] == "b");
    let outcome = &failed.expect("a trial of b")["outcome"];
    assert_eq!(outcome["how"], "requests_failed", "{outcome}");
    assert_eq!(outcome["sent"], 40_001, "{outcome}");
}

#[test]
fn strict_fails_where_nothing_was_measured() {
    let _turn = one_at_a_time();
    let strict = |printed: &str| {
        Case::new()
            .hugewise()
            .args([
                "run",
                "--strict",
                "--latency",
                "wrk",
                "--judge-by",
                "latency_p99_seconds",
            ])
            .args([
                "--policy",
                "as-is",
                "--baseline",
                "as-is",
                "--max-rounds",
                "1",
            ])
            .args(["--shell", "--", printed])
            .assert()
    };
    // The rate is read, but not the metric that decides.
    strict("echo Requests/sec: 5; echo 5 requests in 1s").code(7);
    strict("echo nothing").code(3);
    strict(&of_wrk(9000, 0)).code(0);
}

#[test]
fn a_file_that_lay_there_before_is_no_trial_of_ours() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (file, json) = (case.path("old.csv"), case.path("report.json"));
    std::fs::write(&file, "ms\n1\n2\n3\n").expect("a file");
    case.hugewise()
        .args(["run", "--latency"])
        .arg(format!("csv:ms@ms:{}", file.display()))
        .args(["--policy", "as-is", "--policy", "b:env.B=1", "--json"])
        .arg(&json)
        .args(["--", "true"])
        .assert()
        .code(3);
    let report = case.json(&json);
    let why = doubt(&report, "no_latencies")["why"].to_string();
    assert!(why.contains("old.csv"), "{why}");
}

#[test]
fn readers_that_are_none_are_named_with_those_that_are() {
    for (word, said) in [
        ("foo", "google-benchmark"),
        ("csv", "csv:COLUMN"),
        ("wrk@fortnights", "@"),
    ] {
        Case::new()
            .hugewise()
            .args(["run", "--latency", word, "--", "true"])
            .assert()
            .code(2)
            .stderr(contains(said));
    }
}

#[test]
fn settings_of_runtimes_join_what_the_environment_had() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let exec = |policy: &str, variable: &str, before: &str| {
        let mut command = case.hugewise();
        command.env(variable, before);
        command
            .args(["exec", "--policy", policy, "--", "env"])
            .assert()
    };
    exec(
        "glibc.malloc.hugetlb=1",
        "GLIBC_TUNABLES",
        "glibc.malloc.arena_max=2",
    )
    .success()
    .stdout(contains(
        "GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1\n",
    ));
    exec(
        "java.UseTransparentHugePages=+",
        "JAVA_TOOL_OPTIONS",
        "-Xmx1g",
    )
    .success()
    .stdout(contains(
        "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+UseTransparentHugePages\n",
    ));
    exec("go.disablethp=1", "GODEBUG", "madvdontneed=1")
        .success()
        .stdout(contains("GODEBUG=madvdontneed=1,disablethp=1\n"));
}

#[test]
fn a_setting_without_its_place_in_the_command_is_refused() {
    let _turn = one_at_a_time();
    let policy = ["exec", "--policy", "redis.disable-thp=yes", "--", "echo"];
    let said = |word: &str| Case::new().hugewise().args(policy).arg(word).assert();
    said("{redis.disable-thp}").success().stdout("yes\n");
    said("nothing")
        .code(2)
        .stderr(contains("write {redis.disable-thp} in the command"));
}
