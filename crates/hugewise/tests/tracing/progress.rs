//! `hugewise trace --progress` as users see it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command as Plain, Stdio};

use predicates::str::contains;
use serde_json::Value;

use crate::harness::{Case, HUGEWISE, NOBODY, is_root, lab, skip};

const MIB: f64 = (1 << 20) as f64;

/// A program that fills its memory; it ends when it is dropped.
struct Fill {
    program: Child,
    stdin: ChildStdin,
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
            stdin: program.stdin.take().expect("its stdin"),
            program,
            lines: Box::new(lines.map_while(Result::ok)),
        };
        assert!(fill.lines.next().expect("a line").starts_with("fill "));
        fill
    }

    /// Lets it begin.
    fn begin(&mut self) {
        self.stdin.write_all(b"\n").expect("it waits for a line");
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

/// Watches a program that begins as soon as it is watched: attaching can take seconds on a busy machine.
fn watched(mut command: Plain, fill: &mut Fill, more: &[&str]) -> Value {
    let mut program = command
        .args(["trace", "--progress", &fill.pid(), "--format", "json"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let said = BufReader::new(program.stderr.take().expect("its stderr")).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|line| line.contains("watching the memory")));
    fill.begin();
    let output = program.wait_with_output().expect("its output");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_start_is_foretold_from_the_mapping_that_it_fills() {
    let case = Case::new();
    // 128 huge pages, 25 ms or more each.
    let mut fill = Fill::start(&["--mib", "256", "--pause", "25"]);
    let progress = watched(
        case.plain(),
        &mut fill,
        &["-I", "250ms", "--duration", "60s"],
    );
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
    // Other work on the machine can change the rate after a forecast.
    let near = forecasts
        .iter()
        .filter(|(real, said)| (real - said).abs() <= 0.3 + real);
    assert!(near.count() * 2 >= forecasts.len(), "{forecasts:?}");
}

#[test]
fn a_start_that_waits_is_stuck_and_no_setting_is_named() {
    let case = Case::new();
    let mut fill = Fill::start(&["--mib", "256", "--stop-at", "64"]);
    fill.begin();
    let filled = fill.lines.next().expect("a line");
    assert!(filled.starts_with("filled 64 MiB in "), "{filled}");
    let more = ["-I", "250ms", "--duration", "1s", "--target", "256M"];
    let progress = watched(case.plain(), &mut fill, &more);
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
    let mut fill = Fill::start(&["--mib", "256", "--pause", "20"]);
    let copy = case.path("hugewise");
    std::fs::copy(HUGEWISE, &copy).expect("a copy");
    let mut nobody = Plain::new(copy);
    nobody.uid(NOBODY).gid(NOBODY);
    let progress = watched(nobody, &mut fill, &["-I", "250ms", "--duration", "1500ms"]);
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
