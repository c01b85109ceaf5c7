//! The results of an experiment: its record and its report, also if neither can be written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hugewise_base::gzip::gzip;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::harness::report::{answer, doubt};
use crate::harness::{self, Case, is_root, one_at_a_time, skip};

#[test]
fn a_record_cut_in_half_is_still_a_record() {
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.kept_run(&record, 0);
    let bytes = std::fs::read(&record).expect("the record");
    let cut = case.path("cut.jsonl");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).expect("a shorter record");
    let report = case.report(&["report"], &cut);
    let text = doubt(&report, "warning")["text"].as_str();
    assert!(text.is_some_and(|it| it.contains("ends in")), "{text:?}");
}

#[test]
fn a_record_is_reported_in_every_form() {
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.kept_run(&record, 0);
    for (form, sign) in [
        ("text", "wall time"),
        ("json", "\"format\": \"hugewise-report 2\""),
        ("csv", "wall_seconds"),
        ("markdown", "| "),
    ] {
        case.hugewise()
            .arg("report")
            .arg(&record)
            .args(["--format", form])
            .assert()
            .success()
            .stdout(contains(sign));
    }
}

/// A packed record of the user's folder is found by its name, and every reader of records can read it.
#[test]
fn a_packed_record_is_read_as_it_was() {
    let case = Case::new();
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/records/python-dict.jsonl"
    );
    let packed = gzip(&std::fs::read(record).expect("a record"));
    let folder = case.path("state/hugewise");
    std::fs::create_dir_all(&folder).expect("the folder of records");
    let path = folder.join("dict.jsonl.gz");
    std::fs::write(&path, &packed).expect("a packed record");
    let plain = case.report(&["report"], Path::new(record));
    for word in ["dict", "last"] {
        let report = case.report(&["report"], Path::new(word));
        assert_eq!(answer(&report)["word"], answer(&plain)["word"], "{word}");
        assert_eq!(report["policies"], plain["policies"], "{word}");
    }
    let mut history = case.hugewise();
    let listed = history.args(["history", "--format", "json"]).assert();
    listed.success().stdout(contains("dict.jsonl.gz"));
    let refused = |words: &[&str], path: &Path| {
        let assert = case.hugewise().args(words).arg(path).assert().code(2);
        String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
    };
    let cut = case.path("cut.gz");
    std::fs::write(&cut, &packed[..packed.len() / 2]).expect("a part");
    let told = refused(&["report"], &cut);
    assert!(told.contains("cut.gz"), "{told}");
}

/// Two records of one experiment in the user's folder, the second an hour later: its report has a line with both
/// results.
#[test]
fn records_of_one_experiment_are_tied_together() {
    let case = Case::new();
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/records/python-dict.jsonl"
    );
    let text = std::fs::read_to_string(record).expect("a record");
    let (before, rest) = text.split_once("\"created_unix_ms\":").expect("its time");
    let (began, after) = rest.split_once(',').expect("its end");
    let began: u64 = began.parse().expect("milliseconds");
    let folder = case.path("state/hugewise");
    std::fs::create_dir_all(&folder).expect("the folder of records");
    for (name, time) in [("one", began), ("two", began + 3_600_000)] {
        let again = format!("{before}\"created_unix_ms\":{time},{after}");
        std::fs::write(folder.join(format!("{name}.jsonl")), again).expect("a record");
    }
    let earlier = |name: &str| {
        let report = case.report(&["report"], Path::new(name));
        let lines = &answer(&report)["circumstances"][0]["earlier"];
        let lines = lines.as_array().expect("lines").iter();
        lines.map(ToString::to_string).collect::<Vec<_>>()
    };
    let [two] = &earlier("two")[..] else {
        panic!("{:?}", earlier("two"));
    };
    assert!(two.contains("malloc=thp −37.2 %"), "{two}");
    assert!(two.contains("hugewise history python3"), "{two}");
    assert_eq!(earlier("one"), [""; 0]);
    let on_memory = |name: &str, state: &str, time: u64| {
        let again = format!("{before}\"created_unix_ms\":{time},{after}");
        let own = "\"host_memory\":\"warm\"";
        assert!(again.contains(own), "measured on warm memory");
        let again = again.replace(own, &format!("\"host_memory\":\"{state}\""));
        std::fs::write(folder.join(format!("{name}.jsonl")), again).expect("a record");
    };
    on_memory("rested", "rest:3s", began + 7_200_000);
    let [rested] = &earlier("rested")[..] else {
        panic!("{:?}", earlier("rested"));
    };
    assert!(rested.contains("--host-memory warm"), "{rested}");
    assert!(!rested.contains("hugewise history"), "not tied: {rested}");
    assert_eq!(earlier("two").len(), 1, "it came later");
    assert_eq!(earlier(record), [""; 0], "outside of the folder");
}

#[test]
fn what_a_report_cannot_do_is_refused() {
    let case = Case::new();
    let (one, two) = (case.path("one.jsonl"), case.path("two.jsonl"));
    case.kept_run(&one, 0);
    std::fs::copy(&one, &two).expect("a second record");
    let cases: &[(&[&str], &str)] = &[
        (&["--fail-if", "wall_second > +2%"], "wall_seconds"),
        (&["two.jsonl", "--baseline", "as-is"], "--baseline"),
        (&["two.jsonl", "--threshold", "5%"], "--threshold"),
        (
            &["two.jsonl", "--verdict-metric", "user_seconds"],
            "--judge-by",
        ),
        (&["two.jsonl", "--across"], "the same experiment"),
        (&["two.jsonl", "--trials"], "name only one"),
        (&["--trials", "--format", "json"], "text only"),
        (&["--trials", "--verdict-metric", "nosuch"], "nosuch"),
    ];
    for (arguments, reason) in cases {
        case.hugewise()
            .args(["report", "one.jsonl"])
            .args(*arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(*reason));
    }
}

/// A condition that is undecided because of noise does not fail, but is reported.
#[test]
fn an_undecided_condition_is_said() {
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/runs/carry-over.jsonl"
    );
    let judged = |condition: &str| {
        let case = Case::new();
        let words = ["report", "-q", "--fail-if", condition, record];
        case.hugewise().args(words).assert().code(0)
    };
    judged("wall_seconds < -20%").stderr(contains("so it does not fail"));
    judged("wall_seconds > 90%").stderr("");
    let case = Case::new();
    let strict = ["report", "-q", "--strict", "--fail-if"];
    let strict = case
        .hugewise()
        .args(strict)
        .args(["wall_seconds < -20%", record])
        .assert();
    strict.code(7).stderr(
        contains("--strict: --fail-if 'wall_seconds < -20%' is not decided")
            .and(contains("so it does not fail").not()),
    );
}

#[test]
fn every_trial_is_drawn() {
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.kept_run(&record, 0);
    let shown = |more: &[&str]| {
        let mut command = case.hugewise();
        command.arg("report").arg(&record).arg("--trials");
        command.args(more).assert().success()
    };
    shown(&[])
        .stdout(contains("wall time per trial"))
        .stdout(contains("Round by round"));
    shown(&["--verdict-metric", "minor_faults_total"]).stdout(contains("minor faults per trial"));
}

/// A record of a known experiment in the usual place.
fn kept(case: &Case, name: &str) {
    let folder = case.path("state/hugewise");
    std::fs::create_dir_all(&folder).expect("a folder");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs");
    let fixture = Path::new(fixtures).join(name);
    std::fs::copy(fixture, folder.join(name)).expect("a record");
}

#[test]
fn records_are_listed_and_the_newest_is_last() {
    let case = Case::new();
    kept(&case, "noise.jsonl");
    let report = |words: &[&str]| {
        let mut command = case.hugewise();
        command.env("XDG_STATE_HOME", case.path("state"));
        command.arg("report").args(words).assert()
    };
    report(&[])
        .success()
        .stdout(contains("sort -n numbers.txt"));
    for name in ["last", "noise"] {
        let report = case.report(&["report"], Path::new(name));
        let next = answer(&report)["next"].as_array().expect("steps");
        let line = &next.last().expect("a step")["command"]["line"];
        assert_eq!(line, "hugewise report -v noise");
    }
    report(&["last~1"]).code(2).stderr(contains("of 1 record"));
}

#[test]
fn what_is_shared_does_not_tell_whose_it_is() {
    let case = Case::new();
    kept(&case, "failed-trials.jsonl");
    let shared = case.path("shared.jsonl");
    case.hugewise()
        .env("XDG_STATE_HOME", case.path("state"))
        .args(["report", "--redact", "last", "--out"])
        .arg(&shared)
        .assert()
        .success()
        .stderr(contains("1 boot line, 3 ends of stderr"));
    let text = std::fs::read_to_string(&shared).expect("the record");
    assert!(!text.contains("root=/dev/vda"), "{text}");
    case.hugewise()
        .arg("report")
        .arg(&shared)
        .assert()
        .success();
}

#[test]
fn a_report_is_not_written_over_a_record() {
    let case = Case::new();
    kept(&case, "noise.jsonl");
    let record = case.path("state/hugewise/noise.jsonl");
    let before = std::fs::read(&record).expect("the record");
    let mut command = case.hugewise();
    let refused = command.args(["report", "--json"]).arg(&record).assert();
    refused.code(2).stderr(contains("--format json"));
    assert_eq!(std::fs::read(&record).expect("the record"), before);
}

/// Other devices have no end, and would fill the machine's memory before they could be recognised as no record.
#[test]
fn a_device_is_no_record() {
    let words = ["report", "/dev/null"];
    let refused = Case::new().hugewise().args(words).assert();
    refused.code(2).stderr(contains("it is a device"));
}

#[test]
fn records_are_never_overwritten() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    std::fs::write(&record, "precious").expect("a file");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains("--out"));
    assert_eq!(
        std::fs::read_to_string(&record).expect("the file"),
        "precious"
    );
}

#[test]
fn a_full_disk_loses_nothing_that_was_measured() {
    if !is_root() {
        return skip(
            "a_full_disk_loses_nothing_that_was_measured",
            "needs root to mount a small tmpfs",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(disk) = harness::SmallDisk::mount(&case.path("disk"), "16k") else {
        return skip(
            "a_full_disk_loses_nothing_that_was_measured",
            "tmpfs cannot be mounted here",
        );
    };
    let record = disk.path().join("run.jsonl");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "8", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .code(1)
        .stdout(contains("wall time"))
        .stderr(contains("space"));
    let report = case
        .hugewise()
        .arg("report")
        .arg(&record)
        .assert()
        .success();
    drop(report);
}

#[test]
fn nothing_said_on_stderr_can_end_an_experiment() {
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let status = case
        .plain()
        .args(["run", "--policy", "as-is", "--max-rounds", "1"])
        .args(["--cleanup", "exit 1", "--", "false"])
        .stdout(std::process::Stdio::null())
        .stderr(full)
        .status();
    assert_eq!(status.expect("hugewise").code(), Some(3));
    assert_eq!(harness::settings(), before);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut child = case
        .plain()
        .args(["run", "--policy", "as-is", "--max-rounds", "1", "--"])
        .args(["true"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("hugewise");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("its end").code(), Some(0));
}

#[test]
fn rounds_are_added_to_a_record() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.quick_run(&record);
    // A crash may leave half a line.
    let mut text = std::fs::read_to_string(&record).expect("the record");
    text.push_str("{\"line\":\"tri");
    std::fs::write(&record, &text).expect("the record");
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--max-rounds", "2", "--json"])
        .arg(&json)
        .arg("--continue")
        .arg(&record)
        .assert()
        .success();
    let report = case.json(&json);
    let rounds: BTreeSet<u64> = report["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .filter_map(|trial| trial["round"].as_u64())
        .collect();
    // The fourth round may decide.
    assert!(
        rounds.is_superset(&BTreeSet::from([0, 1, 2, 3])),
        "{rounds:?}"
    );
    let text = std::fs::read_to_string(&record).expect("the record");
    assert_eq!(text.matches("\"line\":\"end\"").count(), 2);
    let report = case.report(&["report"], &record);
    let continued = &answer(&report)["circumstances"][0]["continued"];
    assert_eq!(continued[0][0], 4, "{continued}");
}

#[test]
fn rounds_are_not_added_under_other_circumstances() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.quick_run(&record);
    let text = std::fs::read_to_string(&record).expect("the record");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    let changed = text.replacen(kernel.trim(), "2.4.18", 1);
    std::fs::write(&record, &changed).expect("the record");
    let go_on = |flags: &[&str]| {
        let mut run = case.hugewise();
        run.arg("run").args(flags).arg("--continue").arg(&record);
        run.assert()
    };
    go_on(&[]).code(4).stderr(contains("kernel: 2.4.18"));
    go_on(&["--policy", "thp=never"]).code(2);
    let other = case
        .hugewise()
        .args(["run", "--continue"])
        .arg(&record)
        .args(["--", "other"])
        .assert();
    other
        .code(2)
        .stderr(contains("runs the command of the record"));
    assert_eq!(
        std::fs::read_to_string(&record).expect("the record"),
        changed
    );
}

#[test]
fn a_page_of_two_records_is_read_back_as_both() {
    let case = Case::new();
    let [one, two, page, again] =
        ["one.jsonl", "two.jsonl", "page.html", "again.html"].map(|name| case.path(name));
    case.kept_run(&one, 0);
    case.kept_run(&two, 3_600_000);
    let report = |arguments: &[&Path]| {
        let mut command = case.hugewise();
        command.args(["report", "--across"]).args(arguments);
        command.assert().success()
    };
    report(&[&one, &two, Path::new("--html"), &page]);
    let text = std::fs::read_to_string(&page).expect("a page");
    for part in [
        "two records",
        "id=\"effects-by-record\"",
        "How the second record was measured",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let both = case.report(&["report", "--across"], &page);
    let second = answer(&both)["circumstances"][1]["record"].to_string();
    assert!(second.ends_with("page.html#2\""), "{second}");
    // Its second record is equal to its own file.
    let second = PathBuf::from(format!("{}#2", page.display()));
    let [held, own] = [&second, &two].map(|it| case.report(&["report"], it));
    for part in ["plan", "host", "trials", "end"] {
        assert_eq!(held[part], own[part], "{part}");
    }
    assert_eq!(answer(&held)["claims"], answer(&own)["claims"]);
    let third = PathBuf::from(format!("{}#3", page.display()));
    case.hugewise()
        .arg("report")
        .arg(&third)
        .assert()
        .code(2)
        .stderr(contains("has no record 3"));
    report(&[&page, Path::new("--html"), &again]);
    let again = std::fs::read_to_string(&again).expect("a page");
    let held = |page: &str| {
        page.split_once("<template")
            .map(|(_, held)| held.to_owned())
    };
    assert_eq!(held(&again), held(&text), "the same records");
}

#[test]
fn the_history_of_a_command_is_a_page() {
    let case = Case::new();
    case.kept_run(&case.path("one.jsonl"), 0);
    case.kept_run(&case.path("two.jsonl"), 3_600_000);
    let page = case.path("page.html");
    let mut command = case.hugewise();
    command.arg("history").arg("--folder").arg(case.path("."));
    command.arg("--html").arg(&page);
    command
        .assert()
        .success()
        .stdout(contains("2 records, read in"));
    let text = std::fs::read_to_string(&page).expect("a page");
    assert!(
        text.contains("over time") && text.contains("id=\"levels\""),
        "{text}"
    );
}
