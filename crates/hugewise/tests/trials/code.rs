//! `text=huge`: the code of a program in huge pages, also for an ordinary user.

use std::path::PathBuf;
use std::process::Command as Plain;

use predicates::str::contains;

use super::collapsed::can_collapse;
use crate::harness::report::arm;
use crate::harness::{Case, is_root, one_at_a_time, readings, skip};

/// Whole blocks of its code: it begins at 4 MiB, and has more than 8 MiB.
const HUGE_BYTES: f64 = 6_291_456.0;

/// A static program with 2,000 functions, which everybody can run.
fn large(case: &Case) -> Option<PathBuf> {
    let (source, program) = (case.path("large.c"), case.path("large"));
    let text = include_str!("../../../linux/tests/trial/large_code.c");
    std::fs::write(&source, text).expect("a file");
    let mut compiler = Plain::new("cc");
    compiler.args(["-O1", "-pthread", "-static", "-no-pie", "-o"]);
    let made = compiler.args([&program, &source]).output();
    made.ok().filter(|it| it.status.success())?;
    // Page by page, so that no large folio of the page cache makes it huge.
    let small = case.path("small");
    let copied = Plain::new("dd")
        .arg(format!("if={}", program.display()))
        .arg(format!("of={}", small.display()))
        .args(["bs=4096", "status=none"])
        .status();
    copied.ok().filter(|status| status.success())?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&small, mode).expect("permissions");
    Some(small)
}

#[test]
fn code_in_huge_pages_is_proved_and_told() {
    const NAME: &str = "code_in_huge_pages_is_proved_and_told";
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let Some(program) = large(&case) else {
        return skip(NAME, "cc builds nothing here");
    };
    let _turn = one_at_a_time();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--max-rounds", "2", "--wait", "60s"])
        .args(["--policy", "as-is", "--policy", "text=huge"])
        .args(["--warmup", "0", "--host-memory", "as-is", "--json"])
        .arg(&json)
        .arg("--")
        .arg(&program)
        .args(["plain", "0.7"])
        .assert()
        .success();
    let report = case.json(&json);
    let huge = readings(&report, "text=huge", "huge_anon_exit_bytes");
    assert!(huge.iter().any(|&bytes| bytes >= HUGE_BYTES), "{huge:?}");
    let code = &arm(&report, "text=huge")["huge_code"];
    assert!(code["bytes"].as_f64() >= Some(HUGE_BYTES), "{code}");
}

#[test]
fn exec_puts_code_into_huge_pages_for_an_ordinary_user() {
    const NAME: &str = "exec_puts_code_into_huge_pages_for_an_ordinary_user";
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let Some(program) = large(&case) else {
        return skip(NAME, "cc builds nothing here");
    };
    let line = format!(
        "{} plain 4 & sleep 3; grep AnonHuge /proc/$!/smaps_rollup; wait $!",
        program.display()
    );
    let mut exec = match is_root() {
        true => case.hugewise_as_nobody(),
        false => case.hugewise(),
    };
    exec.args(["exec", "--policy", "text=huge", "--"])
        .args(["sh", "-c", &line])
        .assert()
        .success()
        .stdout(contains(" 6144 kB"))
        .stdout(contains("the same"));
}
