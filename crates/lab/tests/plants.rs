//! Every plant is established, or reports why this machine does not support it.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail by panicking, in its helpers too"
)]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::process::Output;

use assert_cmd::Command;
use hugewise_lab::plant::{PLANTS, UNREACHABLE};

/// `make test` names the file in which skips are counted.
fn skip(name: &str, reason: &str) {
    println!("SKIP {name}: {reason}");
    if let Some(path) = std::env::var_os("HUGEWISE_SKIPPED") {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        writeln!(file, "SKIP {name}: {reason}").unwrap();
    }
}

/// Makes a plant without holding it. Repeats it, because khugepaged may have been faster on a machine that others use
/// too.
fn raise(name: &str) -> Output {
    let folder = std::env::temp_dir();
    let once = || {
        Command::cargo_bin("hugewise-lab")
            .unwrap()
            .args(["plant", name, "--folder"])
            .arg(&folder)
            .output()
            .unwrap()
    };
    let mut output = once();
    for _ in 0..5 {
        if output.status.code() != Some(3) {
            break;
        }
        output = once();
    }
    output
}

#[test]
fn every_plant_comes_up_where_it_can() {
    for plant in PLANTS {
        let output = raise(plant.name);
        let said = String::from_utf8(output.stdout).unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => assert_line(&said, plant.name),
            Some(4) => {
                let reason = told.trim_start_matches("hugewise-lab: ").trim();
                skip(&format!("plant {}", plant.name), reason);
            }
            other => panic!("{}: {other:?} {told}", plant.name),
        }
    }
}

/// `plant NAME PID START-END`, on whole pages and not empty.
fn assert_line(said: &str, name: &str) {
    let words: Vec<&str> = said.split_whitespace().collect();
    let ["plant", planted, pid, span] = words[..] else {
        panic!("{name}: {said}");
    };
    assert_eq!(planted, name);
    assert!(pid.parse::<u32>().is_ok(), "{said}");
    let (start, end) = span.split_once('-').unwrap();
    let address = |word| u64::from_str_radix(word, 16).unwrap();
    assert!(address(start) < address(end), "{said}");
    assert_eq!(address(start) % 4096, 0, "{said}");
}

#[test]
fn names_are_unique_and_listed() {
    let names: BTreeSet<&str> = PLANTS.iter().map(|plant| plant.name).collect();
    assert_eq!(names.len(), PLANTS.len());
    for (code, _) in UNREACHABLE {
        assert!(PLANTS.iter().all(|plant| plant.code() != *code), "{code}");
    }
    let list = Command::cargo_bin("hugewise-lab")
        .unwrap()
        .args(["plant", "--list"])
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    for name in names {
        assert!(list.lines().any(|line| line == name), "{name}");
    }
}

#[test]
fn what_cannot_be_planted_says_why() {
    for (code, why) in UNREACHABLE {
        let output = raise(code);
        assert_eq!(output.status.code(), Some(4), "{code}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(why));
    }
}

#[test]
fn wrong_words_are_usage_errors() {
    for wrong in [
        &["plant"][..],
        &["plant", "ROSES"],
        &["plant", "UNTOUCHED", "--hold"],
        &["plant", "UNTOUCHED", "--hold", "long"],
        &[
            "plant",
            "UNTOUCHED",
            "--hold",
            "1",
            "--hold-until-stdin-closes",
        ],
        &["plant", "UNTOUCHED", "HUGE_ZERO"],
        &["plant", "--list", "UNTOUCHED"],
    ] {
        let output = Command::cargo_bin("hugewise-lab")
            .unwrap()
            .args(wrong)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty(), "{wrong:?}");
    }
}
