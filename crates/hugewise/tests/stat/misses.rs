//! `hugewise misses`: sampled addresses of TLB misses.

use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;

use super::harness::Case;

/// A hand-made recording of misses; crates/tlb/tests/recording.rs has its contents.
fn recorded_misses() -> String {
    let sources = env!("CARGO_MANIFEST_DIR");
    format!("{sources}/../../fixtures/misses/server.jsonl")
}

/// Either addresses can be sampled here, or the result is the reason, no command runs, and every format agrees.
#[test]
fn misses_tells_or_says_why_it_cannot() {
    let case = Case::new();
    let mark = case.path("ran");
    let touch = ["--", "touch", mark.to_str().expect("a path")];
    let run = |words: &[&str]| {
        let words = [&["misses"], words, &touch].concat();
        let output = case.hugewise().args(words).output().expect("hugewise");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    };
    let (code, json) = run(&["--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    if json["missing"].is_null() {
        assert_eq!((code, mark.exists()), (Some(0), true), "{json}");
        assert_eq!(json["conditions"]["subject"], touch[1..].join(" "));
        return;
    }
    assert_eq!((code, mark.exists()), (Some(4), false), "{json}");
    assert!(!json["helps"].as_array().expect("helps").is_empty());
    let (code, text) = run(&[]);
    assert_eq!(code, Some(4));
    assert!(text.starts_with("Cannot sample TLB misses"), "{text}");
    assert!(text.contains("hugewise simulate"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let (_, csv) = run(&["--format", "csv"]);
    assert_eq!(csv.lines().count(), 2, "{csv}");
}

#[test]
fn misses_draws_a_recording() {
    let case = Case::new();
    let file = recorded_misses();
    let text =
        std::fs::read_to_string(file.replace("misses/server.jsonl", "golden/where-server.txt"));
    case.hugewise()
        .args(["misses", "--replay", &file])
        .env("COLUMNS", "80")
        .assert()
        .success()
        .stdout(starts_with("Experimental: ").and(contains(text.expect("a golden file"))));
    let whole = std::fs::read_to_string(&file).expect("a recording");
    let torn = case.path("torn.jsonl");
    let last = whole.trim_end().rfind('\n').expect("lines");
    std::fs::write(&torn, &whole[..=last]).expect("a file");
    let words = ["misses", "--replay", torn.to_str().expect("a path")];
    let assert = case.hugewise().args(words).assert();
    assert.code(2).stderr(contains("cut short"));
    let wrong = whole.replacen(
        "\"page_bytes\":4096,\"refill",
        "\"page_bytes\":-1,\"refill",
        1,
    );
    std::fs::write(&torn, wrong).expect("a file");
    let assert = case.hugewise().args(words).assert();
    assert
        .code(2)
        .stderr(contains("line 1").and(contains("column")));
}

#[test]
fn misses_names_what_was_typed_wrong() {
    for (words, said) in [
        (&["-p", "4294967294"][..], "there is no process"),
        (&["--", "no-such-program"], "no-such-program"),
        (&["-a", "--", "true"], "cannot be used with"),
        (&["--every", "0", "--", "true"], "--every"),
    ] {
        let assert = Case::new().hugewise().arg("misses").args(words).assert();
        assert.code(2).stderr(contains(said));
    }
}

#[test]
fn the_flag_that_was_a_verb_before_names_the_verb() {
    let case = Case::new();
    let refused = |words: &[&str], new: &str| {
        let assert = case.hugewise().arg("stat").args(words).assert();
        assert.code(2).stderr(contains(new));
    };
    refused(
        &["--where", "--every", "9", "--", "true"],
        "hugewise misses --every 9 -- true",
    );
    refused(&["--out", "x", "--", "true"], "hugewise misses --out x");
    let file = recorded_misses();
    refused(&["--replay", &file], "hugewise misses --replay");
}
