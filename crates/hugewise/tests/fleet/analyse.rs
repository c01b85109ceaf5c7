//! `fleet analyse`: rows of simulated fleets, and input that is none.

use std::fs;

use hugewise_model::fleet::simulate::{Fleet, Rule};
use predicates::prelude::*;
use predicates::str::contains;

use crate::harness::Case;

fn write(case: &Case, fleet: &Fleet) -> std::path::PathBuf {
    let folder = case.path("rows/dt=2026-11-23/experiment=simulated");
    fs::create_dir_all(&folder).expect("a folder");
    let rows = fleet.rows(1);
    let lines = rows
        .iter()
        .map(|row| serde_json::to_string(row).expect("JSON") + "\n");
    fs::write(folder.join("all.jsonl"), lines.collect::<String>()).expect("rows");
    case.path("rows")
}

#[test]
fn a_planted_effect_is_the_first_line_and_fits_the_page() {
    let case = Case::new();
    let rows = write(
        &case,
        &Fleet {
            effect: -0.2,
            ..Fleet::quiet()
        },
    );
    let analyse = |format: &str| {
        let mut command = case.hugewise();
        command
            .args(["fleet", "analyse", "--format", format])
            .arg(&rows);
        let output = command.assert().success().get_output().stdout.clone();
        String::from_utf8(output).expect("text")
    };
    let text = analyse("text");
    assert!(
        text.starts_with("treated helps: it changes p99_seconds by \u{2212}"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let report: serde_json::Value = serde_json::from_str(&analyse("json")).expect("JSON");
    assert_eq!(report["format"], "hugewise-fleet 1");
    let effect = report["arms"][0]["metrics"][0]["effect"].as_f64();
    assert!(
        effect.is_some_and(|it| (-0.25..-0.12).contains(&it)),
        "{report}"
    );
}

#[test]
fn lost_units_and_spill_over_are_said() {
    let case = Case::new();
    let lossy = Fleet {
        hosts: 200,
        units: 1,
        lost: 0.25,
        ..Fleet::quiet()
    };
    let rows = write(&case, &lossy);
    let mut command = case.hugewise();
    let found = command
        .args(["fleet", "analyse"])
        .arg(&rows)
        .assert()
        .success();
    found.stdout(contains("not decided: the arms did not keep"));
    let crowded = Fleet {
        rule: Rule::Saturation,
        units: 4,
        hosts: 45,
        spill_over: 0.2,
        ..Fleet::quiet()
    };
    let rows = write(&case, &crowded);
    let mut command = case.hugewise();
    let found = command
        .args(["fleet", "analyse"])
        .arg(&rows)
        .assert()
        .success();
    found.stdout(contains("Spill-over").and(contains("None was found").not()));
}

#[test]
fn what_is_no_row_is_named_with_its_line() {
    let case = Case::new();
    let file = case.path("bad.jsonl");
    fs::write(&file, "\n{}\n").expect("a file");
    let mut command = case.hugewise();
    let refused = command
        .args(["fleet", "analyse"])
        .arg(&file)
        .assert()
        .code(2);
    refused.stderr(contains("bad.jsonl, line 2: not a row").and(contains("experiment")));
    let empty = case.path("empty");
    fs::create_dir_all(&empty).expect("a folder");
    let mut command = case.hugewise();
    let refused = command
        .args(["fleet", "analyse"])
        .arg(&empty)
        .assert()
        .code(2);
    refused.stderr(contains(".jsonl"));
    let rows = write(&case, &Fleet::quiet());
    let mut command = case.hugewise();
    command
        .args(["fleet", "analyse", "--lower", "no_such"])
        .arg(&rows);
    command.assert().code(2).stderr(contains("p99_seconds"));
}
