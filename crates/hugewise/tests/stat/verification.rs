//! `hugewise doctor --verify-counters`, and the loops of the real laboratory.

use hugewise_base::missing::Missing;
use hugewise_linux::observe::verify::{Laboratory, LaboratoryProgram};
use hugewise_observe::verify::loops::{LOOPS, PageSize, Side};
use serde_json::Value;

use super::harness::{Case, lab, skip};

/// Exit code of a machine without hardware counters, and of one with wrong events.
const REFUSED: i32 = 4;
const WRONG: i32 = 5;

#[test]
fn doctor_verifies_events_or_names_the_reason() {
    let case = Case::new();
    let words = ["doctor", "--verify-counters", "--format", "json"];
    let output = case.hugewise().args(words).output().expect("a run");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["format"], "hugewise-counters 1");
    let kept = case.path("state").join("hugewise/counters.json");
    if output.status.code() == Some(REFUSED) {
        assert!(result["missing"]["why"].is_string(), "{result}");
        assert!(result["helps"].as_array().is_some_and(|it| !it.is_empty()));
        assert!(!kept.exists());
        return;
    }
    assert!([Some(0), Some(WRONG)].contains(&output.status.code()));
    let events = result["events"].as_array().expect("events");
    let wrong = events.iter().any(|it| it["verdict"]["verdict"] == "wrong");
    assert_eq!(wrong, output.status.code() == Some(WRONG), "{result}");
    let file = std::fs::read(&kept).expect("the kept result");
    let file: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(file, result);
}

#[test]
fn every_loop_runs_a_round() {
    let laboratory = LaboratoryProgram { path: lab() };
    let cpu = None;
    for one in LOOPS {
        let mut running = match laboratory.start(one, cpu) {
            Ok(running) => running,
            Err(Missing::NotSupported { what }) if one.page == PageSize::Huge => {
                skip(one.name, &what);
                continue;
            }
            Err(other) => panic!("{}: {other}", one.name),
        };
        let arch = std::env::consts::ARCH;
        let right = match (one.side, arch) {
            (Side::Code, _) => 3.0,
            (_, "x86_64") => 9.0,
            _ => 7.0,
        };
        assert_eq!(running.instructions(), right, "{}", one.name);
        assert!(running.pid() > 1);
        running.run(one.places).expect("a lap");
        // An order that is no whole lap ends the loop, with the reason.
        let why = running.run(one.places + 1).expect_err("no lap");
        assert!(matches!(why, Missing::Unreadable { .. }), "{why}");
    }
}
