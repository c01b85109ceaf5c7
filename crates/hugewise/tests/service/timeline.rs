//! A service whose late requests are in stalls, and one whose late requests are elsewhere.

use serde_json::Value;

use super::run;
use crate::harness::{Case, lab, one_at_a_time, skip};

/// With these, ten requests are late, and the slowest thousandth has eleven.
const REQUESTS: u64 = 10_001;
const LATE: u64 = 10;

/// The report of a server that is late in this way, and the path of its record.
fn report(case: &Case, late: &str, times: &str) -> Value {
    let json = case.path("report.json");
    let lab = lab();
    let service = format!(
        "{} serve --port {{port}} --pages 10 --late {late}",
        lab.display()
    );
    let load = format!(
        "{} ask --port {{port}} --requests {REQUESTS} {times}",
        lab.display()
    );
    let source = match times {
        "" => "csv:latency_ns",
        _ => "csv:latency_ns,ended=ended_ns",
    };
    let more = ["--policy", "as-is", "--warmup", "0", "--max-rounds", "1"];
    // The run fails if the server cannot be late here: the report then has the reason.
    let _ = run(case, &service, &load, &more)
        .args(["--stalls", "all", "--latency", source, "--json"])
        .arg(&json)
        .arg("--out")
        .arg(case.path("run.jsonl"))
        .assert();
    case.json(&json)
}

/// Why this cannot be tested here, if so.
fn untried(report: &Value) -> Option<String> {
    let tail = report["trials"][0]["stderr_tail"].as_str();
    if let Some(tail) = tail.filter(|tail| tail.contains("userfaultfd")) {
        return Some(tail.to_owned());
    }
    let reading = &report["trials"][0]["readings"]["page_fault_seconds"];
    let why = reading["missing"]["text"].as_str();
    why.map(str::to_owned)
}

#[test]
fn slow_requests_are_found_in_stalls_where_they_are_there_and_only_there() {
    let _turn = one_at_a_time();
    for late in ["stall", "sleep"] {
        let case = Case::new();
        let report = report(&case, late, "--times");
        if let Some(why) = untried(&report) {
            return skip("slow requests in stalls", &why);
        }
        let timeline = &report["trials"][0]["timeline"];
        seconds_add_up(&report["trials"][0]);
        let stalls = timeline["long_stalls"]["page_fault_seconds"].as_u64();
        assert!(stalls >= Some(LATE - 1), "{late}: {timeline:#}");
        let held = &timeline["slowest"]["held"];
        let count = |name: &str| held[name].as_u64().expect(name);
        assert_eq!(count("requests"), REQUESTS, "{timeline:#}");
        let (slow, stalled) = (count("slow"), count("slow_in_stall"));
        // Other programs can make further requests slow, so not all slow ones are in stalls.
        match late {
            "stall" => assert!(2 * stalled > slow, "{timeline:#}"),
            _ => assert!(2 * stalled < slow, "{timeline:#}"),
        }
    }
}

fn seconds_add_up(trial: &Value) {
    let seconds = trial["timeline"]["seconds"].as_array().expect("seconds");
    let count = |second: &Value| second["requests"]["count"].as_u64().unwrap_or(0);
    assert_eq!(seconds.iter().map(count).sum::<u64>(), REQUESTS);
    let faults = |second: &Value| second["minor_faults"].as_f64().expect("faults");
    let sum: f64 = seconds.iter().map(faults).sum();
    let whole = trial["readings"]["minor_faults_total"]["value"].as_f64();
    // The trial is observed from a moment before its first second until a moment after its last.
    assert!(
        (0.0..60.0).contains(&(whole.expect("faults") - sum)),
        "{sum} {whole:?}"
    );
    let stalls = |second: &Value| second["stalls"]["page_fault_seconds"].as_f64();
    let sum: f64 = seconds.iter().filter_map(stalls).sum();
    let whole = trial["readings"]["page_fault_seconds"]["value"].as_f64();
    assert!(
        sum > 0.0 && sum <= whole.expect("seconds") * 1.000_001,
        "{sum} {whole:?}"
    );
}

#[test]
fn seconds_are_drawn_again_from_the_record() {
    let _turn = one_at_a_time();
    let case = Case::new();
    if let Some(why) = untried(&report(&case, "sleep", "")) {
        return skip("the seconds of a service", &why);
    }
    let record = case.path("run.jsonl");
    let shown = |more: &[&str]| {
        let mut command = case.hugewise();
        command.arg("report").arg(&record).arg("--timeline");
        command.args(more).assert()
    };
    let done = shown(&[]).success();
    let text = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    for word in [
        "as-is: per second of load",
        "faults/s",
        "resident",
        "no times of",
    ] {
        assert!(text.contains(word), "{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // Without times no request belongs to a second.
    assert!(!text.contains("p99"), "{text}");
    shown(&["--format", "csv"]).code(2);
    shown(&["--baseline", "as-is"]).code(2);
}

/// A log with intervals of one second, and one with intervals of five seconds.
#[test]
fn intervals_of_a_log_are_in_their_seconds() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let log = include_str!("../../../../fixtures/readers/hdr.hlog");
    let line = log
        .lines()
        .find_map(|line| line.strip_prefix("0.000,1.000,"));
    let line = line.expect("an interval");
    let service = format!("{} serve --port {{port}} --pages 1", lab().display());
    for (length, found) in [("1.000", true), ("5.000", false)] {
        let load = format!(
            "date '+#[StartTime: %s.%N (seconds since epoch)]'; sleep 1.1; \
             echo 0.000,{length},{line}"
        );
        let json = case.path("report.json");
        let more = ["--policy", "as-is", "--warmup", "0", "--max-rounds", "1"];
        run(&case, &service, &load, &more)
            .args(["--latency", "hdr-log", "--json"])
            .arg(&json)
            .assert()
            .success();
        let report = case.json(&json);
        let timeline = &report["trials"][0]["timeline"];
        let seconds = timeline["seconds"].as_array().expect("seconds");
        let requests: Vec<&Value> = seconds.iter().map(|it| &it["requests"]).collect();
        let held: Vec<&&Value> = requests.iter().filter(|it| it.is_object()).collect();
        assert_eq!(held.len(), usize::from(found), "{timeline:#}");
        if found {
            assert_eq!(held[0]["over_seconds"], 1.0);
            let all = &report["trials"][0]["readings"]["latency_seconds"]["histogram"]["count"];
            assert_eq!(&held[0]["count"], all);
        } else {
            let why = &timeline["slowest"]["cannot_tell"];
            assert_eq!(why["longest_ms"], 5000, "{timeline:#}");
        }
    }
}
