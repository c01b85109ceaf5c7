//! Policies other than transparent huge pages of private memory: pools, shared memory, limits, nodes.

use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::report::{arm, cause};
use crate::harness::{self, Case, cgroups, is_root, lab, one_at_a_time, readings, settings, skip};

/// Two rounds of a laboratory workload, as JSON.
fn report(case: &Case, policies: &[&str], words: &[&str]) -> Value {
    let json = case.path("report.json");
    let baseline = ["--baseline", policies[0]];
    let policies = policies.iter().flat_map(|policy| ["--policy", policy]);
    let run = ["run", "--system", "--warmup", "0", "--max-rounds", "2"];
    case.hugewise()
        .args(run)
        .args(policies)
        .args(baseline)
        .arg("--json")
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(words)
        .assert()
        .success();
    case.json(&json)
}

/// Returns true if there are values, and each is the expected one.
fn is_each(values: &[f64], expected: f64) -> bool {
    !values.is_empty() && values.iter().all(|&value| value == expected)
}

const MIB: f64 = 1048576.0;

#[test]
fn a_pool_is_made_used_and_given_back() {
    let name = "a_pool_is_made_used_and_given_back";
    let there = std::path::Path::new(harness::POOL).exists();
    if !is_root() || !there {
        return skip(name, "needs root and a hugetlb pool of 2 MiB pages");
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), settings());
    let own: u64 = before[std::path::Path::new(harness::POOL)]
        .trim()
        .parse()
        .expect("a number");
    let policy = format!("hugetlb=2M:{}", own + 6);
    let workload = ["pool", "--huge-pages", "5", "--hold", "200"];
    let used = report(&case, &[&policy], &workload);
    assert_eq!(settings(), before);
    let peaks = readings(&used, &policy, "hugetlb_peak_bytes");
    assert!(is_each(&peaks, 10.0 * MIB), "{peaks:?}");
    let pool = &arm(&used, &policy)["pool"];
    assert_eq!(pool["used_bytes"], 10.0 * MIB, "{pool:#}");

    let idle = report(&case, &[&policy], &["touch", "--pages", "100"]);
    let pool = &arm(&idle, &policy)["pool"];
    assert_eq!(pool["bytes"], (own + 6) << 21, "{pool:#}");
    assert_eq!(pool["used_bytes"], 0.0, "{pool:#}");
    assert_eq!(settings(), before);
}

#[test]
fn shared_memory_becomes_huge() {
    let name = "shared_memory_becomes_huge";
    let file = std::path::Path::new("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    if !is_root() || !file.exists() {
        return skip(name, "needs root and shmem_enabled");
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), settings());
    let policies = ["shmem=never", "shmem=always"];
    let workload = ["shared", "--pages", "23040", "--hold", "100"];
    let seen = report(&case, &policies, &workload);
    assert_eq!(settings(), before);
    let huge = |policy| readings(&seen, policy, "huge_shmem_peak_bytes");
    assert!(is_each(&huge("shmem=never"), 0.0));
    assert!(is_each(&huge("shmem=always"), 90.0 * MIB));
    let faults = |policy| readings(&seen, policy, "minor_faults_total");
    for (small, huge) in faults("shmem=never").iter().zip(faults("shmem=always")) {
        // 23,040 small pages, or 45 huge ones.
        assert!((*small - huge - 22_995.0).abs() < 100.0, "{small} {huge}");
    }
}

#[test]
fn a_limit_is_a_factor() {
    let name = "a_limit_is_a_factor";
    if !is_root() || cgroups().is_none() {
        return skip(name, "needs root and a memory cgroup");
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let policies = ["as-is", "memory-max=64M"];
    let small = report(&case, &policies, &["touch", "--pages", "4096"]);
    let said = cause(&small, "memory_limit_reached", "memory-max=64M");
    assert_eq!(said["outcome"], "not_shown", "{said:#}");
    let trials = small["trials"].as_array().expect("trials");
    let limited = trials.iter().find(|it| it["policy"] == "memory-max=64M");
    let group = &limited.expect("a trial")["read_back"]["cgroup"];
    assert_eq!(group["limits"]["max_bytes"], 64 << 20, "{group:#}");
    assert_eq!(cgroups(), Some(Vec::new()));
}

#[test]
fn exec_runs_under_a_limit_and_removes_its_group() {
    let _turn = one_at_a_time();
    let name = "exec_runs_under_a_limit_and_removes_its_group";
    if !is_root() || cgroups().is_none() {
        return skip(name, "needs root and a memory cgroup");
    }
    let policy = "memory-max=64M,numa=bind:0";
    Case::new()
        .hugewise()
        .args(["exec", "--policy", policy, "--", "sh", "-c"])
        .arg("grep -c hugewise- /proc/self/cgroup; head -1 /proc/self/numa_maps; exit 9")
        .assert()
        .code(9)
        .stdout(contains("1\n").and(contains("bind:0")));
    assert_eq!(cgroups(), Some(Vec::new()));
}

#[test]
fn what_cannot_be_is_refused_with_what_would_help() {
    let _turn = one_at_a_time();
    let case = Case::new();
    for (policy, word) in [
        ("hugetlb=3M:1", "power of two"),
        ("hugetlb=2M", "as in hugetlb=2M:512"),
        ("memory-max=1000", "as in memory-max=512M"),
        ("shmem=on", "expected always, within_size"),
        ("numa=0", "as in numa=bind:0+1"),
    ] {
        case.hugewise()
            .args(["run", "--policy", policy, "--", "true"])
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    case.hugewise()
        .args(["run", "--system", "--policy", "hugetlb=2M:99999999"])
        .args(["--", "true"])
        .assert()
        .code(4)
        .stderr(contains("the machine has").or(contains("no hugetlb pool")));
}

#[test]
fn a_pool_belongs_to_one_server() {
    let _turn = one_at_a_time();
    let name = "a_pool_belongs_to_one_server";
    if !is_root() || !std::path::Path::new(harness::POOL).exists() {
        return skip(name, "needs root and a hugetlb pool of 2 MiB pages");
    }
    Case::new()
        .hugewise()
        .env("COLUMNS", "200")
        .args(["run", "--system", "--dry-run", "--policy", "as-is"])
        .args(["--policy", "hugetlb=2M:4", "--ready", "log:x"])
        .args(["--service", "true {port}", "--load", "true {port}"])
        .assert()
        .success()
        .stdout(contains("because a hugetlb pool lasts for one trial"));
}

#[test]
fn a_kill_gives_pools_and_groups_back() {
    let name = "a_kill_gives_pools_and_groups_back";
    if !is_root() || cgroups().is_none() {
        return skip(name, "needs root and a memory cgroup");
    }
    let _turn = one_at_a_time();
    let before = settings();
    let policies = ["hugetlb=2M:4", "memory-max=64M", "shmem=always"];
    let policies = policies.iter().flat_map(|policy| ["--policy", policy]);
    let policies: Vec<&str> = policies.collect();
    let command = ["--warmup", "0", "--", "sleep", "0.02766"];
    for delay_ms in [30, 60, 90, 120, 150, 180, 220, 270, 330] {
        let case = Case::new();
        let mut running = case.spawn(&[&["run", "--system"], &policies[..], &command].concat());
        std::thread::sleep(Duration::from_millis(delay_ms));
        running.signal("KILL");
        running.end(Duration::from_secs(60));
        let killed = Instant::now();
        harness::wait_until("the machine is as it was", || {
            settings() == before && cgroups() == Some(Vec::new())
        });
        assert!(killed.elapsed() < Duration::from_secs(2), "{delay_ms} ms");
        assert_eq!(harness::processes_with("0.02766"), 0);
    }
}
