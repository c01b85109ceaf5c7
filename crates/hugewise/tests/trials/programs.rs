//! Programs as a factor: real ones, one of which can gain from huge pages.

use predicates::str::contains;
use serde_json::Value;

use crate::harness::report::{answer, call, call_of, claim};
use crate::harness::{Case, lab, one_at_a_time, skip};

/// Touches 128 MiB, page by page.
const TOUCH: &str = "touch --pages 32768 --repeat 2";

fn mode_is_never() -> bool {
    let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    mode.is_ok_and(|text| text.contains("[never]"))
}

/// Runs programs with these flags.
fn report(case: &Case, flags: &[&str]) -> Value {
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "run",
            "--host-memory",
            "as-is",
            "--wait",
            "2m",
            "--max-time",
            "90s",
        ])
        .arg("--json")
        .arg(&json)
        .args(flags)
        .assert()
        .success();
    case.json(&json)
}

/// Policies for touched pages: huge ones if the machine allows them.
const PAGES: [&str; 4] = ["--policy", "thp=never", "--policy", "as-is"];

#[test]
fn a_program_that_gains_less_from_huge_pages_is_found() {
    if mode_is_never() {
        return skip(
            "a_program_that_gains_less_from_huge_pages_is_found",
            "huge pages are off on this machine",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let lab = lab();
    let program = |name: &str, advice: &str| format!("{name}={} {TOUCH} {advice}", lab.display());
    let (old, new) = (program("old", "--huge"), program("new", "--small"));
    // Other load on the machine changes times, but not faults.
    let flags = [
        "--judge-by",
        "minor_faults_total",
        "--program",
        &old,
        "--program",
        &new,
    ];
    let report = report(&case, &[&PAGES[..], &flags].concat());
    let found = gain(&report);
    assert_eq!(call(found), "worse", "{found}");
    let most = found["interval"]["high"].as_f64().expect("an end");
    assert!(most < -3.0, "{found}");
    assert_eq!(found["contrast"]["arm"], "new: as-is");
}

/// How much more the second program gains from a policy.
fn gain(report: &Value) -> &Value {
    claim(report, |claim| {
        claim["contrast"]["against"]["kind"] == "gain_of_program"
    })
}

/// A program that prints a number with 2 % noise; under a policy it prints 0.9 times `gain` of that.
fn printing(name: &str, gain: &str) -> String {
    let number = format!(
        "\"echo $$\" | getline seed; srand(seed * 7919); for (i = 0; i < 24; i++) sum += rand(); \
         print 100 * exp(0.02 * (sum - 12) / sqrt(2)) * (ENVIRON[\"TRY\"] ? 0.9 * {gain} : 1)"
    );
    format!("{name}=awk 'BEGIN {{ {number} }}'")
}

#[test]
fn a_planted_interaction_of_3_percent_is_found() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (old, new) = (printing("old", "1"), printing("new", "1.03"));
    let flags = [
        "--policy",
        "as-is",
        "--policy",
        "try:env.TRY=1",
        "--metric",
        "n:lower=([0-9.]+)",
        "--judge-by",
        "n",
        "--max-rounds",
        "100",
        "--program",
        &old,
        "--program",
        &new,
    ];
    let report = report(&case, &flags);
    let found = gain(&report);
    assert_eq!(call(found), "worse", "{found}");
    assert_eq!(found["contrast"]["arm"], "new: try");
    assert_eq!(found["contrast"]["against"]["arm"], "old");
    let points = found["effect"]["points"].as_f64().expect("points");
    assert!(points < 0.0, "{found}");
}

#[test]
fn the_same_program_twice_has_no_interaction() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let lab = lab();
    let lab = lab.display();
    let matrix = format!("program={lab},{lab}");
    let words: Vec<&str> = TOUCH.split(' ').collect();
    let flags = ["--max-rounds", "12", "--matrix", &matrix, "--"];
    let report = report(&case, &[&PAGES[..], &flags, &words, &["--huge"]].concat());
    let programs = answer(&report)["programs"].as_array().expect("programs");
    let names: Vec<&Value> = programs.iter().map(|it| &it["subject"]["name"]).collect();
    assert_eq!(names, ["hugewise-lab", "hugewise-lab #2"]);
    let found = gain(&report);
    assert!(["open", "same"].contains(&call(found)), "{found}");
    let command = programs[1]["subject"]["command"].as_str().expect("a line");
    assert_eq!(command.split(' ').nth(1), Some("touch"), "{command}");
}

#[test]
fn a_condition_can_be_about_programs() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    let run = |condition: &str| {
        let mut run = case.hugewise();
        run.arg("run").arg("--json").arg(&json);
        run.args(["--policy", "as-is", "--preset", "ci", "--max-rounds", "8"]);
        run.args([
            "--program",
            "old=sh -c 'echo 100'",
            "--program",
            "new=sh -c 'echo 90'",
        ]);
        run.args([
            "--metric",
            "speed:1/s:higher=([0-9]+)",
            "--judge-by",
            "speed",
        ]);
        run.args(["--fail-if", condition]).assert()
    };
    run("speed < -5%")
        .code(5)
        .stderr(contains("--fail-if 'speed < -5%' holds for new: as-is"));
    let report = case.json(&json);
    assert_eq!(call_of(&report, "new: as-is"), "worse");
    run("speed < -20%").success();
}

#[test]
fn what_cannot_go_with_programs_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let refused = |flags: &[&str], why: &str| {
        let both = ["--program", "a=true", "--program", "b=true"];
        let flags = match flags.first() {
            Some(&"ALONE") => flags[1..].to_vec(),
            _ => [&both, flags].concat(),
        };
        let mut run = case.hugewise();
        run.arg("run")
            .args(&flags)
            .assert()
            .code(2)
            .stderr(contains(why));
    };
    refused(
        &["ALONE", "--program", "a=true"],
        "nothing to be compared with",
    );
    refused(&["--shell"], "--shell takes one line");
    refused(&["--program", "a=false"], "two programs are called `a`");
    refused(&["--matrix", "program=true,false"], "named twice");
    refused(&["--program", "c=no-such-program"], "there is no program");
    refused(&["--", "/bin/true"], "is a program itself");
    refused(
        &["ALONE", "--fail-if", "interaction < -2%", "true"],
        "name the programs",
    );
    refused(&["ALONE", "--program", "./new"], "write NAME=CMD");
}

#[test]
fn rounds_are_added_to_a_record_of_programs() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.hugewise()
        .args([
            "run",
            "--wait",
            "2m",
            "--policy",
            "as-is",
            "--max-rounds",
            "2",
            "--out",
        ])
        .arg(&record)
        .args(["--program", "a=sh -c 'exit 0'", "--program", "b=true"])
        .assert()
        .success();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--max-rounds", "1", "--continue"])
        .arg(&record)
        .arg("--json")
        .arg(&json)
        .assert()
        .success();
    let report = case.json(&json);
    let trials = report["trials"].as_array().expect("trials");
    let of_b = trials.iter().filter(|trial| trial["program"] == "b");
    assert_eq!(of_b.count(), 3, "one a round, and no control");
}
