//! `file=`: files in the page cache.

use std::io::Write;
use std::path::{Path, PathBuf};

use predicates::str::contains;
use serde_json::Value;

use crate::harness::report::call_of;
use crate::harness::{Case, lab, one_at_a_time, readings, skip};

const BYTES: usize = 32 << 20;

/// A file of 32 MiB in the folder of a case.
fn data(case: &Case) -> PathBuf {
    let path = case.path("data.bin");
    let mut file = std::fs::File::create(&path).expect("a file");
    let block: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    for _ in 0..BYTES >> 20 {
        file.write_all(&block).expect("written");
    }
    file.sync_all().expect("on disk");
    path
}

/// Three rounds of as-is and both modes, as JSON; `None` if the file system has no large folios.
fn report(case: &Case, path: &Path, name: &str, command: &[&str]) -> Option<Value> {
    let json = case.path("report.json");
    let policies = ["huge", "small"].map(|mode| format!("{mode}:file={}:{mode}", path.display()));
    let ran = case
        .hugewise()
        .args(["run", "--wait", "2m", "--warmup", "0", "--max-rounds", "3"])
        .args(["--policy", "as-is"])
        .args(policies.iter().flat_map(|policy| ["--policy", policy]))
        .args(["--baseline", "small", "--json"])
        .arg(&json)
        .arg("--")
        .args(command)
        .output()
        .expect("a result");
    let said = String::from_utf8_lossy(&ran.stderr);
    if ran.status.code() == Some(4) {
        assert!(said.contains("no large folio"), "{said}");
        skip(name, "this file system has no large folios");
        return None;
    }
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("is evicted from the page cache"), "{said}");
    Some(case.json(&json))
}

#[test]
fn files_have_the_pages_that_were_asked_for() {
    let name = "files_have_the_pages_that_were_asked_for";
    let _turn = one_at_a_time();
    let case = Case::new();
    let path = data(&case);
    let before = std::fs::read(&path).expect("content");
    let lab = lab();
    let file = path.to_str().expect("text");
    let command = [lab.to_str().expect("text"), "mapped", "--file", file];
    let command = [&command[..], &["--reads", "200000", "--hold", "100"]].concat();
    let Some(seen) = report(&case, &path, name, &command) else {
        return;
    };
    let mapped = |policy| readings(&seen, policy, "huge_file_peak_bytes");
    let is_each = |values: &[f64], bytes| values.len() >= 2 && values.iter().all(|it| *it == bytes);
    assert!(is_each(&mapped("small"), 0.0), "{:?}", mapped("small"));
    assert!(
        is_each(&mapped("huge"), BYTES as f64),
        "{:?}",
        mapped("huge")
    );
    for trial in seen["trials"].as_array().expect("trials") {
        let cached = &trial["read_back"]["file_cache"];
        assert_eq!(cached["bytes"], BYTES, "{trial:#}");
        match trial["policy"].as_str() {
            Some("huge") => assert_eq!(cached["huge_bytes"], BYTES, "{trial:#}"),
            Some("small") => assert_eq!(cached["huge_bytes"], 0, "{trial:#}"),
            _ => {}
        }
        // The trial itself does not read the file from the disk, at most a page of its program.
        let faults = trial["readings"]["major_faults_total"]["value"].as_f64();
        assert!(faults.is_some_and(|it| it < 8.0), "{faults:?}");
    }
    assert_eq!(std::fs::read(&path).expect("content"), before);
}

#[test]
fn files_that_are_read_without_a_mapping_count_too() {
    let name = "files_that_are_read_without_a_mapping_count_too";
    let _turn = one_at_a_time();
    let case = Case::new();
    let path = data(&case);
    let command = ["cksum", path.to_str().expect("text")];
    let Some(seen) = report(&case, &path, name, &command) else {
        return;
    };
    assert_ne!(call_of(&seen, "huge"), "same_pages");
}

#[test]
fn what_cannot_be_cached_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let small = case.path("small.bin");
    std::fs::write(&small, "x").expect("a file");
    for (path, mode, code, word) in [
        (small.clone(), "huge", 4, "as large as a huge page"),
        (case.path("none"), "huge", 4, "no file matches"),
        (case.path("*.gguf"), "small", 4, "no file matches"),
        (small, "large", 2, "expected huge or small"),
    ] {
        let policy = format!("file={}:{mode}", path.display());
        for verb in ["run", "exec"] {
            case.hugewise()
                .args([verb, "--policy", &policy, "--", "true"])
                .assert()
                .code(code)
                .stderr(contains(word));
        }
    }
}
