//! Traces by each attach method agree with a known workload.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::capability::memory_kib;
use super::ground::Ground;
use super::run::kernel;

/// Pages to touch while the kernel is traced: a prime.
const PAGES: u64 = 4_099;

/// Functions, traced by a call at their entry and their return.
pub fn by_call(ground: &Ground) {
    assert_faults(ground, "handle_mm_fault", "fentry");
}

/// Functions, traced by a breakpoint.
pub fn by_breakpoint(ground: &Ground) {
    assert_faults(ground, "handle_mm_fault", "kprobe");
}

/// Page faults, traced by the software events of perf.
pub fn by_software_events(ground: &Ground) {
    assert_faults(ground, "fault", "perf_event");
}

/// Waits for a lock, traced by tracepoints with types and without.
pub fn by_tracepoints(ground: &Ground) {
    for means in ["tp_btf", "raw_tp"] {
        let seen = traced(ground, "lock", means);
        let all = &seen["all"];
        assert!(all["count"].as_u64().unwrap() > 10, "{all}");
        let kinds: Vec<&str> = seen["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["key"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["read", "write"], "{means}");
    }
}

/// Huge pages from memory without a free huge block: the kernel compacts for the requesting program, and the histogram
/// includes every stall that the kernel counts. Linux 6.1 does not always need to compact.
pub fn compaction(ground: &Ground) {
    let mib = |name: &str| memory_kib(name).unwrap() >> 10;
    let (all, huge) = (
        mib("MemTotal:"),
        ground.pages_each() * ground.answers.page_bytes,
    );
    let (fill, reserve) = (all.to_string(), (all / 8).to_string());
    // More than the reserve holds, so that the fragments are needed too.
    let huge_pages = ((all / 4) / (huge >> 20)).to_string();
    let words = ["fragment", "--fill", &fill, "--reserve", &reserve];
    let workload = [&words[..], &["--huge-pages", &huge_pages]].concat();
    let before = compactions();
    let trace = traced_while(ground, &["trace", "compaction", "reclaim"], &workload);
    let compacted = compactions() - before;
    let points = trace["total"]["points"].as_array().unwrap();
    // Its tracepoints are new there; older kernels may have no such function either.
    let balances = points.iter().any(|one| one["name"] == "kswapd_balance");
    assert!(balances || kernel() < (7, 2), "{}", trace["missing"]);
    let direct = points.iter().find(|one| one["name"] == "direct_compaction");
    let all = &direct.unwrap()["all"];
    let count = all["count"].as_u64().unwrap();
    assert!(count >= compacted, "{compacted} in vmstat: {all}");
    let rows = all["log2_us"].as_array().map_or(0, Vec::len);
    assert_eq!(rows > 0, count > 0, "{all}");
    // A point without calls has no parts.
    if let Some(parts) = direct.unwrap()["parts"].as_array() {
        let counts = parts.iter().map(|part| part["count"].as_u64().unwrap());
        assert!(parts.is_empty() || counts.sum::<u64>() == count, "{all}");
    }
}

/// Direct compactions that the kernel counted, without skipped ones.
fn compactions() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap();
    let mut lines = text.lines();
    let count = lines.find_map(|line| line.strip_prefix("compact_stall "));
    count.unwrap().trim().parse().unwrap()
}

/// One fault for each page, plus the workload's own start; every one of them in a row.
fn assert_faults(ground: &Ground, what: &str, means: &str) {
    let seen = traced(ground, what, means);
    let all = &seen["all"];
    let count = all["count"].as_u64().unwrap();
    assert!(
        count >= PAGES,
        "{count} of {PAGES} faults, {}",
        seen["losses"]
    );
    let rows = all["log2_us"].as_array().unwrap();
    let sum: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!(sum, count);
    let (min, max) = (
        all["min_ns"].as_u64().unwrap(),
        all["max_ns"].as_u64().unwrap(),
    );
    let total = all["total_ns"].as_u64().unwrap();
    assert!(
        min > 0 && min * count <= total && total <= max * count,
        "{all}"
    );
    assert_eq!(seen["losses"]["no_room"], 0);
}

/// The trace of the first point while the laboratory touches its pages.
fn traced(ground: &Ground, what: &str, means: &str) -> Value {
    let pages = PAGES.to_string();
    let words = ["trace", what, "--means", means];
    let trace = traced_while(ground, &words, &["touch", "--small", "--pages", &pages]);
    assert_eq!(trace["points"][0]["rung"], means, "{}", trace["missing"]);
    trace["total"]["points"][0].clone()
}

/// The trace while the laboratory runs a workload.
fn traced_while(ground: &Ground, words: &[&str], workload: &[&str]) -> Value {
    let mut tracing = ground
        .start(&[words, &["--format", "json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(tracing.stderr.take().unwrap()).lines();
    let begun = said.find(|line| line.as_ref().is_ok_and(|line| line.contains(": tracing ")));
    assert!(begun.is_some(), "{words:?}: nothing is traced");
    ground.lab_says(workload);
    let pid = tracing.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.unwrap().success());
    // Reads the rest, so that the program never writes to a closed pipe.
    said.for_each(drop);
    let output = tracing.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}
