//! `fleet analyse`: rows of simulated fleets, and invalid input.

use std::fs;

use hugewise_fleet::assign::assign;
use hugewise_fleet::plan::Plan;
use hugewise_fleet::row::parquet;
use hugewise_fleet::simulate::{Fleet, SimulatedAssignment};
use hugewise_fleet::{Phase, Row};
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

fn analyse(case: &Case, rows: &std::path::Path) -> assert_cmd::assert::Assert {
    let mut command = case.hugewise();
    command.args(["fleet", "analyse"]).arg(rows).assert()
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
    let page = case.path("page.html");
    let mut command = case.hugewise();
    command.args(["fleet", "analyse", "--html"]).arg(&page);
    command.arg(&rows).assert().success();
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Changes by treated against control"));
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
    analyse(&case, &rows)
        .success()
        .stdout(contains("not decided: the arms did not keep"));
    let crowded = Fleet {
        rule: SimulatedAssignment::Saturation,
        units: 4,
        hosts: 45,
        spill_over: 0.2,
        ..Fleet::quiet()
    };
    let rows = write(&case, &crowded);
    analyse(&case, &rows)
        .success()
        .stdout(contains("Spill-over").and(contains("None was found").not()));
}

#[test]
fn lines_and_parquet_say_the_same_together_as_alone() {
    let case = Case::new();
    let rows = write(&case, &Fleet::quiet());
    let json = || {
        let mut command = case.hugewise();
        command.args(["fleet", "analyse", "--format", "json"]);
        command
            .arg(&rows)
            .assert()
            .success()
            .get_output()
            .clone()
            .stdout
    };
    let alone = json();
    let folder = rows.join("dt=2026-11-23/experiment=simulated");
    let all = Fleet::quiet().rows(1);
    let (first, second) = all.split_at(all.len() / 2);
    let lines = first
        .iter()
        .map(|row| serde_json::to_string(row).expect("JSON") + "\n");
    fs::write(folder.join("all.jsonl"), lines.collect::<String>()).expect("rows");
    let bytes = parquet::file(second).expect("Parquet");
    fs::write(folder.join("rest.parquet"), &bytes).expect("rows");
    assert_eq!(json(), alone);
    fs::write(folder.join("cut.parquet"), &bytes[..bytes.len() / 2]).expect("rows");
    analyse(&case, &rows)
        .code(2)
        .stderr(contains("cut.parquet: "));
}

#[test]
fn what_is_no_row_is_named_with_its_line() {
    let case = Case::new();
    let file = case.path("bad.jsonl");
    let foreign = |text: &str| {
        fs::write(&file, text).expect("a file");
        let refused = analyse(&case, &file).code(2);
        refused.stderr(contains("`fleet agent --out` wrote").and(contains("column").not()))
    };
    let holds_none = "bad.jsonl holds no rows of an experiment (line 2: ";
    foreign("\n{}\n").stderr(contains(format!("{holds_none}missing field `experiment`)")));
    foreign("\nhello\n").stderr(contains(format!("{holds_none}no JSON)")));
    let row = serde_json::to_string(&Fleet::quiet().rows(1)[0]).expect("JSON");
    fs::write(&file, format!("{row}\n{{}}\n")).expect("a file");
    analyse(&case, &file)
        .code(2)
        .stderr(contains("bad.jsonl, line 2: no row of `fleet agent`"));
    analyse(&case, &case.path("nowhere"))
        .code(2)
        .stderr(contains("there is no folder or file").and(contains("nowhere with rows; give")));
    let empty = case.path("empty");
    fs::create_dir_all(&empty).expect("a folder");
    let refused = analyse(&case, &empty).code(2);
    refused.stderr(contains(".jsonl"));
    let rows = write(&case, &Fleet::quiet());
    let mut command = case.hugewise();
    command
        .args(["fleet", "analyse", "--lower", "no_such"])
        .arg(&rows);
    command.assert().code(2).stderr(contains("p99_seconds"));
}

/// A copy next to the rows is no second fleet, and a plan with other arms does not match them.
#[test]
fn copies_count_once_and_another_plan_is_refused() {
    let case = Case::new();
    let rows = write(&case, &Fleet::quiet());
    let folder = rows.join("dt=2026-11-23/experiment=simulated");
    fs::copy(folder.join("all.jsonl"), folder.join("copy.jsonl")).expect("a copy");
    analyse(&case, &rows).success().stdout(
        contains("480 rows of 60 units").and(contains("480 more rows of a unit, a metric and a")),
    );
    let plan = case.path("plan.toml");
    let text = "name = 'simulated'\nuntil = 9000\n[[arm]]\nname = 'control'\npolicy = 'as-is'\n\
                [[arm]]\nname = 'treated'\npolicy = 'thp=always'\n";
    fs::write(&plan, text).expect("a plan");
    let mut command = case.hugewise();
    command.args(["fleet", "analyse", "--plan"]).arg(&plan);
    let refused = command.arg(&rows).assert().code(2);
    refused.stderr(contains("of 60 units have another arm in their rows"));
}

/// Without the plan, rows of switchbacks give a request for the plan and no answer.
#[test]
fn turns_without_their_plan_have_no_answer() {
    let case = Case::new();
    let rows = Fleet::quiet().rows(1).into_iter().map(|mut row| {
        let other = if row.arm == "control" {
            "treated"
        } else {
            "control"
        };
        if row.start > 1200 {
            row.arm = other.to_owned();
        }
        serde_json::to_string(&row).expect("JSON") + "\n"
    });
    let path = case.path("turns.jsonl");
    fs::write(&path, rows.collect::<String>()).expect("rows");
    analyse(&case, &path)
        .success()
        .stdout(contains("60 of 60 units changed their arm").and(contains("(--plan)")));
}

/// Before the first turn all units are in their initial arm, which may be the treated one.
#[test]
fn turns_need_no_unit_of_the_control_before_the_start() {
    let case = Case::new();
    let text = "name = 'simulated'\nstarts = 3600\nuntil = 7200\nswitchback = {turn = '10m'}\n\
                [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
                [[arm]]\nname = 'treated'\npolicy = 'thp=always'\n";
    let plan: Plan = text.parse().expect("a plan");
    let mut rows = Fleet::quiet().rows(1).into_iter().map(|row| Row {
        arm: assign(&plan, &row.unit, plan.starts.expect("a start")).arm,
        phase: Phase::Before,
        ..row
    });
    let row = rows.find(|row| row.arm == "treated").expect("a unit");
    let (path, file) = (case.path("plan.toml"), case.path("one.jsonl"));
    fs::write(&path, text).expect("a plan");
    fs::write(&file, serde_json::to_string(&row).expect("JSON")).expect("a row");
    let mut command = case.hugewise();
    command.args(["fleet", "analyse", "--plan"]).arg(&path);
    let asked = command.arg(&file).assert().success();
    asked.stdout(contains("too few pairs of turns"));
}

const STARTS: i64 = 1_796_083_200;

/// The arm of each unit at a moment after the start, from `fleet assign`.
fn arms(case: &Case, plan: &std::path::Path, units: &[String], after: i64) -> Vec<String> {
    let mut command = case.hugewise();
    command.args(["fleet", "assign", "--format", "arm", "--at"]);
    command.arg((STARTS + after).to_string()).arg(plan);
    let output = command.args(units).assert().success().get_output().clone();
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// Rows of 40 units over 16 hours, under the arms of the plan; the second arm lowers a latency by 10 %.
fn rows_of_plan(case: &Case, plan: &std::path::Path) -> std::path::PathBuf {
    let units: Vec<String> = (0..40).map(|unit| format!("web-{unit}")).collect();
    let mut lines = String::new();
    for hour in 0..16 {
        let arms = arms(case, plan, &units, 3600 * hour);
        for (index, (unit, arm)) in units.iter().zip(arms).enumerate() {
            // Units differ by up to 20 %, and each one varies a little from hour to hour.
            let own = 1.0 + 0.02 * ((index * 7) % 11) as f64;
            let noise = 1.0 + 0.001 * ((index * 5 + hour as usize * 3) % 13) as f64;
            let mean = 0.01 * own * noise * if arm == "always" { 0.9 } else { 1.0 };
            let row = serde_json::json!({
                "experiment": "planned", "plan": "0".repeat(16), "unit": unit, "cluster": unit,
                "stratum": "all", "arm": arm, "stage": 0, "saturation": null,
                "start": STARTS + 3600 * hour, "seconds": 3600.0, "phase": "during",
                "exposure": 1.0, "proof": "proved", "ending": "whole", "metric": "p99_seconds",
                "n": 360, "mean": mean, "m2": 0.0,
            });
            lines += &format!("{row}\n");
        }
    }
    let path = case.path("planned.jsonl");
    fs::write(&path, lines).expect("rows");
    path
}

/// The p-value comes from the rule of the plan, whether units keep an arm or take turns.
#[test]
fn a_plan_draws_its_own_arms_again() {
    let turns = "switchback = {turn = '1h', washout = '0s'}\n";
    for (switchback, lot) in [
        ("", "the rule of the plan"),
        (turns, "the order of the turns"),
    ] {
        let case = Case::new();
        let plan = case.path("plan.toml");
        let text = format!(
            "name = 'planned'\nstarts = {STARTS}\nuntil = {}\nperiod = '1h'\n{switchback}\
             [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
             [[arm]]\nname = 'always'\npolicy = 'thp=always'\n",
            STARTS + 16 * 3600
        );
        fs::write(&plan, text).expect("a plan");
        let rows = rows_of_plan(&case, &plan);
        let mut command = case.hugewise();
        command.args(["fleet", "analyse", "--format", "json", "--plan"]);
        let output = command.arg(&plan).arg(&rows).assert().success();
        let report: serde_json::Value =
            serde_json::from_slice(&output.get_output().stdout).expect("JSON");
        assert_eq!(report["lot"], lot, "{report:#}");
        let metric = &report["arms"][0]["metrics"][0];
        let effect = metric["effect"].as_f64().expect("an effect");
        assert!((-0.17..-0.04).contains(&effect), "{report:#}");
        let p = metric["p"].as_f64().expect("a p-value");
        assert!(p <= 0.05, "{report:#}");
        assert_eq!(metric["answer"], "better", "{report:#}");
    }
}

/// Prometheus input requires a plan, and an error names the server that did not respond.
#[test]
fn a_prometheus_that_cannot_be_asked_is_named() {
    let case = Case::new();
    let ask = |arguments: &[&str]| {
        let mut command = case.hugewise();
        command.args(["fleet", "analyse", "--prometheus"]);
        command.args(arguments).assert()
    };
    let url = "http://127.0.0.1:1";
    ask(&[url]).code(2).stderr(contains("--plan"));
    let plan = case.path("plan.toml");
    let text = |starts: &str| {
        format!(
            "name = 'asked'\n{starts}\nuntil = 2000\n\
             [[arm]]\nname = 'control'\npolicy = 'as-is'\n\
             [[arm]]\nname = 'always'\npolicy = 'thp=always'\n"
        )
    };
    fs::write(&plan, text("")).expect("a plan");
    let path = plan.to_str().expect("a path");
    ask(&[url, "--plan", path])
        .code(2)
        .stderr(contains("--from"));
    fs::write(&plan, text("starts = 1000")).expect("a plan");
    let refused = ask(&[url, "--plan", path]).failure();
    refused.stderr(contains(url).and(contains("connecting")));
    let secure = ask(&["https://box", "--plan", path]).code(2);
    secure.stderr(contains("http://"));
}
