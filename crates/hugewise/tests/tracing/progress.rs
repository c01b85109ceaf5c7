//! `hugewise trace --progress` as users see it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command as Plain, Stdio};

use predicates::str::contains;
use serde_json::Value;

use crate::harness::{Case, is_root, lab, skip};

const MIB: f64 = (1 << 20) as f64;

/// A program that fills its memory; it ends when it is dropped.
struct Fill {
    program: Child,
    _stdin: ChildStdin,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Fill {
    fn start(arguments: &[&str]) -> Self {
        let mut program = Plain::new(lab())
            .arg("fill")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the laboratory runs");
        let lines = BufReader::new(program.stdout.take().expect("its stdout")).lines();
        let mut fill = Self {
            _stdin: program.stdin.take().expect("its stdin"),
            program,
            lines: Box::new(lines.map_while(Result::ok)),
        };
        assert!(fill.lines.next().expect("a line").starts_with("fill "));
        fill
    }

    fn pid(&self) -> String {
        self.program.id().to_string()
    }
}

impl Drop for Fill {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn watched(case: &Case, fill: &Fill, more: &[&str]) -> Value {
    let json = case.path("progress.json");
    case.hugewise()
        .args(["trace", "--progress", &fill.pid(), "--json"])
        .arg(Path::new(&json))
        .args(more)
        .assert()
        .success();
    case.json(&json)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_start_is_foretold_from_the_mapping_that_it_fills() {
    let case = Case::new();
    // 128 huge pages, 25 ms or more each.
    let fill = Fill::start(&["--mib", "256", "--pause", "25"]);
    let progress = watched(&case, &fill, &["-I", "250ms", "--duration", "60s"]);
    let total = &progress["total"];
    assert_eq!(total["state"], "finished", "{total}");
    assert_eq!(total["remedy"], Value::Null, "{total}");
    let target = &total["target"];
    assert_eq!(target["source"], "mappings", "{target}");
    let bytes = number(&target["bytes"]) / MIB;
    assert!((256.0..272.0).contains(&bytes), "{target}");
    let intervals = progress["intervals"].as_array().expect("a list");
    let full = intervals
        .iter()
        .position(|it| it["state"] == "finished")
        .expect("an end");
    let end = number(&intervals[full]["to_seconds"]);
    // The forecasts of the second half; the time is at most an interval too long.
    let forecasts: Vec<(f64, f64)> = intervals[full / 2..full]
        .iter()
        .filter(|it| it["forecast"]["is"] == "known")
        .map(|it| {
            (
                end - number(&it["to_seconds"]),
                number(&it["forecast"]["seconds"]),
            )
        })
        .collect();
    assert!(!forecasts.is_empty(), "{intervals:?}");
    let near = forecasts
        .iter()
        .filter(|(real, said)| (real - said).abs() <= 0.3 + real);
    assert_eq!(near.count(), forecasts.len(), "{forecasts:?}");
}

#[test]
fn a_start_that_waits_is_stuck_and_no_setting_is_named() {
    let case = Case::new();
    let mut fill = Fill::start(&["--mib", "256", "--stop-at", "64"]);
    let filled = fill.lines.next().expect("a line");
    assert!(filled.starts_with("filled 64 MiB in "), "{filled}");
    let more = ["-I", "250ms", "--duration", "1s", "--target", "256M"];
    let progress = watched(&case, &fill, &more);
    let total = &progress["total"];
    assert_eq!(total["state"], "stuck", "{total}");
    assert_eq!(total["remedy"], Value::Null, "{total}");
    assert_eq!(total["target"]["source"], "asked", "{total}");
    assert_eq!(total["forecast"]["is"], "unknown", "{total}");
    assert!(number(&total["grown_bytes"]) < MIB, "{total}");
}

#[test]
fn without_rights_growth_is_seen_and_each_missing_part_names_its_grant() {
    let test = "without_rights_growth_is_seen_and_each_missing_part_names_its_grant";
    if !is_root() {
        return skip(test, "only root can become somebody else");
    }
    let case = Case::new();
    let fill = Fill::start(&["--mib", "256", "--pause", "20"]);
    let output = case
        .hugewise_as_nobody()
        .args(["trace", "--progress", &fill.pid(), "-I", "250ms"])
        .args(["--duration", "1500ms", "--format", "json"])
        .output()
        .expect("it runs");
    let progress: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert!(
        number(&progress["total"]["grown_bytes"]) > MIB,
        "{progress}"
    );
    assert_eq!(progress["total"]["state"], "growing", "{progress}");
    let missing = progress["missing"].as_array().expect("a list");
    let grant = |part: &str| {
        let found = missing.iter().find(|it| it["part"] == part);
        found.map(|it| it["why"]["grant"].to_string())
    };
    let compaction = grant("compaction").expect("missing");
    assert!(compaction.contains("CAP_BPF"), "{compaction}");
    let mappings = grant("mappings").expect("missing");
    assert!(mappings.contains("CAP_SYS_PTRACE"), "{mappings}");
}

#[test]
fn a_target_needs_a_process_that_is_watched() {
    for (arguments, said) in [
        (["--target", "1G"].as_slice(), "--progress"),
        (&["--progress", "4194304"], "there is no process 4194304"),
        (&["--progress", "1", "--target", "soon"], "is not a size"),
        (&["--progress", "1", "compaction"], "cannot be used with"),
    ] {
        Case::new()
            .hugewise()
            .arg("trace")
            .args(arguments)
            .assert()
            .code(2)
            .stderr(contains(said));
    }
}
