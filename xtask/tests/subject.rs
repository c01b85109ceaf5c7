//! `make lint` accepts commit subjects in the form of docs/contributing.md, and no others.

use std::process::Command;

fn is_accepted(subject: &str) -> bool {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/subject");
    let output = Command::new(script).arg(subject).output();
    output.expect("the script starts").status.success()
}

#[test]
fn an_area_and_an_imperative_are_accepted() {
    for subject in [
        "report: show the overhead control next to its policy",
        "docs, tests: follow links",
        "xtask/fleet: boot ten guests",
        "Merge branch 'papers'",
        "Revert \"report: show less\"",
    ] {
        assert!(is_accepted(subject), "{subject}");
    }
}

#[test]
fn other_subjects_are_refused() {
    let long = format!("report: {}", "a".repeat(65));
    for subject in [
        "An overhead control has a column beside what it explains",
        "Report: show less",
        "report: Show less",
        "report: show less.",
        "report:show less",
        &long,
    ] {
        assert!(!is_accepted(subject), "{subject}");
    }
}

#[test]
fn seventy_two_characters_are_accepted() {
    let subject = format!("report: {}é", "a".repeat(63));
    assert_eq!(subject.chars().count(), 72);
    assert!(is_accepted(&subject));
}
