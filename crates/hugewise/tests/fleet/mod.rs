//! `fleet`: the arms of units, and an agent that carries one out and restores the machine.

mod agent;
mod analyse;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use predicates::prelude::*;
use predicates::str::contains;

use crate::harness::{self, Case, is_root, one_at_a_time, skip, wait_until};
use agent::{Agent, rows};

const STOP: &str = "/etc/hugewise/stop";
const NEEDS_ROOT: &str = "needs root to write the machine's settings";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fleet")
}

/// A plan whose second arm has all units except a millionth.
fn plan(case: &Case, name: &str, policy: &str, rest: &str) -> PathBuf {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock");
    let until = now.as_secs() + 600;
    let text = format!(
        "name = '{name}'\nuntil = {until}\nperiod = '1s'\nlease = '2s'\n{rest}\n\
         [[arm]]\nname = 'control'\npolicy = 'as-is'\nweight = 0.000001\n\
         [[arm]]\nname = 'treated'\npolicy = '{policy}'\n"
    );
    let path = case.path("plan.toml");
    fs::write(&path, text).expect("a plan");
    path
}

/// One period of an agent, which must succeed.
fn once(case: &Case, plan: &Path) -> assert_cmd::assert::Assert {
    let mut command = case.hugewise();
    command.args(["fleet", "agent", "--once", "--wait", "60s"]);
    command.args(["--unit", "web-1", "--out", "rows"]).arg(plan);
    command.assert().success()
}

/// A mode other than the current one.
fn another_mode() -> &'static str {
    match harness::thp_mode().as_str() {
        "never" => "always",
        _ => "never",
    }
}

#[test]
fn arms_are_those_of_the_vectors_and_a_stop_takes_them_away() {
    let vectors = fs::read_to_string(fixtures().join("vectors.csv")).expect("vectors");
    let of_plan = vectors
        .lines()
        .filter_map(|line| line.strip_prefix("stages,"));
    let (mut units, mut arms) = (String::new(), String::new());
    for line in of_plan {
        let fields: Vec<&str> = line.split(',').collect();
        units += &format!("{}\n", fields[1]);
        arms += &format!("{}\n", fields[2]);
    }
    assert!(arms.contains("always") && arms.contains("outside"));
    let case = Case::new();
    let assign = |stop: &str| {
        let mut command = case.hugewise();
        command.env("HUGEWISE_FLEET_STOP", stop);
        command.args(["fleet", "assign", "--format", "arm"]);
        command.arg(fixtures().join("plans/stages.toml"));
        command.write_stdin(units.clone()).assert().success()
    };
    assign("another").stdout(arms);
    assign("thp-2026")
        .stdout(contains("outside\n").and(contains("always").or(contains("control")).not()))
        .stderr(contains("HUGEWISE_FLEET_STOP"));
}

#[test]
fn a_wrong_plan_is_shown_with_its_line() {
    let case = Case::new();
    let path = plan(&case, "x", "thp=never", "perod = '1h'");
    case.hugewise()
        .args(["fleet", "assign", "--format", "arm"])
        .args([&path, Path::new("web-1")])
        .assert()
        .code(2)
        .stderr(contains("line 5").and(contains("unknown field `perod`")));
}

#[test]
fn what_is_missing_is_said_with_the_fix() {
    let case = Case::new();
    let fleet = |words: &[&str]| {
        let mut command = case.hugewise();
        command.arg("fleet").args(words).assert()
    };
    for verb in ["assign", "agent"] {
        let absent = contains("there is no plan nowhere.toml; a plan is the TOML file");
        fleet(&[verb, "nowhere.toml"]).code(2).stderr(absent);
    }
    let path = plan(&case, "x", "thp=never", "");
    fleet(&["assign", path.to_str().expect("a name")])
        .success()
        .stderr(contains("stdin named no unit: give names"));
    let other = fleet(&["simulate"]).code(2);
    other.stderr(contains("tip: fleet has assign, agent, analyse"));
    fleet(&["asisgn"])
        .code(2)
        .stderr(contains("a similar subcommand exists: 'assign'"));
}

#[test]
fn an_ordinary_user_is_refused_and_nothing_is_changed() {
    if !is_root() {
        return skip(
            "an_ordinary_user_is_refused…",
            "needs root, to become nobody",
        );
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let policy = format!("thp={}", another_mode());
    let path = plan(&case, "refused", &policy, "");
    case.hugewise_as_nobody()
        .args([
            "fleet", "agent", "--once", "--unit", "web-1", "--out", "rows",
        ])
        .arg(path)
        .assert()
        .code(4)
        .stderr(contains("root"));
    assert_eq!(harness::settings(), before);
    assert!(rows(&case.path("rows")).is_empty());
}

#[test]
fn one_period_is_applied_proved_written_and_put_back() {
    if !is_root() {
        return skip("one_period_is_applied…", NEEDS_ROOT);
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let path = plan(&case, "once", "thp=never", "");
    once(&case, &path).stderr(contains("arm treated of once"));
    assert_eq!(harness::settings(), before);
    let rows = rows(&case.path("rows"));
    let of = |metric: &str| {
        let mut found = rows.iter().filter(|row| row["metric"] == metric);
        found.next().unwrap_or_else(|| panic!("{metric}: {rows:?}"))
    };
    let faults = of("huge_faults_per_second");
    assert_eq!(faults["mean"], 0.0);
    assert_eq!(
        (&faults["proof"], &faults["ending"]),
        (&"proved".into(), &"whole".into())
    );
    assert_eq!(
        (&faults["arm"], &faults["exposure"]),
        (&"treated".into(), &1.0.into())
    );
    let seconds = faults["seconds"].as_f64().expect("seconds");
    assert!((1.0..10.0).contains(&seconds), "{seconds}");
    assert!(of("available_bytes")["mean"].as_f64() > Some(1e6));
}

#[test]
fn whatever_ends_an_agent_puts_the_machine_back() {
    if !is_root() {
        return skip("whatever_ends_an_agent…", NEEDS_ROOT);
    }
    let _turn = one_at_a_time();
    let (before, mode) = (harness::settings(), another_mode());
    for signal in ["KILL", "TERM"] {
        let case = Case::new();
        let path = plan(&case, "ended", &format!("thp={mode}"), "");
        let agent = Agent::start(&case, &path);
        wait_until("the arm", || harness::thp_mode() == mode);
        agent.signal(signal);
        wait_until("the old settings", || harness::settings() == before);
    }
}

#[test]
fn settings_whose_guardian_was_killed_too_are_put_back_by_the_next_agent() {
    if !is_root() {
        return skip("settings_whose_guardian_was_killed_too…", NEEDS_ROOT);
    }
    let _turn = one_at_a_time();
    let (before, mode) = (harness::settings(), another_mode());
    let case = Case::new();
    let path = plan(&case, "left", &format!("thp={mode}"), "");
    let mut agent = Agent::start(&case, &path);
    wait_until("the arm", || harness::thp_mode() == mode);
    harness::kill_with_children(&mut agent.child);
    drop(agent);
    assert_eq!(harness::thp_mode(), mode);
    once(&case, &path)
        .stderr(contains("after a killed experiment, /sys").and(contains("arm treated of left")));
    assert_eq!(harness::settings(), before);
}

#[test]
fn a_lease_a_stop_and_a_new_plan_end_the_arm_while_the_agent_lives() {
    if !is_root() {
        return skip("a_lease_a_stop_and_a_new_plan…", NEEDS_ROOT);
    }
    let _turn = one_at_a_time();
    let (before, mode) = (harness::settings(), another_mode());
    let name = format!("stopped-{}", std::process::id());
    let policy = format!("thp={mode}");
    let case = Case::new();
    let path = plan(&case, &name, &policy, "");
    let agent = Agent::start(&case, &path);
    let back = |why: &str| {
        wait_until(why, || agent.said().contains(why));
        assert_eq!(harness::settings(), before, "{why}");
    };
    wait_until("the arm", || harness::thp_mode() == mode);
    fs::remove_file(&path).expect("no plan");
    back("its lease has ended");
    plan(&case, &name, &policy, "");
    wait_until("the arm after the lease", || harness::thp_mode() == mode);
    let _stop = StopFile::of(&name);
    back("/etc/hugewise/stop stops");
    drop(_stop);
    wait_until("the arm after the stop", || harness::thp_mode() == mode);
    plan(&case, &name, "as-is", "");
    wait_until("the control's policy", || harness::settings() == before);
    plan(&case, &name, &policy, "band = [0, 0.000001]");
    back("it is outside of");
    let out = agent.out.clone();
    agent.end();
    let endings: Vec<String> = rows(&out)
        .iter()
        .map(|row| row["ending"].to_string())
        .collect();
    assert!(
        endings.iter().any(|ending| ending == "\"stopped\""),
        "{endings:?}"
    );
}

/// The stop file of one experiment; others on this machine continue.
struct StopFile(Option<Vec<u8>>);

impl StopFile {
    fn of(name: &str) -> Self {
        let old = fs::read(STOP).ok();
        fs::create_dir_all("/etc/hugewise").expect("a folder");
        fs::write(STOP, format!("{name}\n")).expect("a stop");
        Self(old)
    }
}

impl Drop for StopFile {
    fn drop(&mut self) {
        let _ = match &self.0 {
            Some(old) => fs::write(STOP, old),
            None => fs::remove_file(STOP).and_then(|()| fs::remove_dir("/etc/hugewise").or(Ok(()))),
        };
    }
}

#[test]
fn a_guardrail_stops_the_arm_until_somebody_lifts_it() {
    if !is_root() {
        return skip("a_guardrail_stops_the_arm…", NEEDS_ROOT);
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let rails = "guardrails = {p99 = {command = ['echo', '0.5'], seconds = 0.1}}";
    let path = plan(&case, "railed", "thp=never", rails);
    once(&case, &path).stderr(contains(
        "guardrail: arm treated of railed is stopped: the p99 is 0.5 s",
    ));
    assert_eq!(harness::settings(), before);
    let written = rows(&case.path("rows"));
    assert!(!written.is_empty() && written.iter().all(|row| row["ending"] == "guardrail"));
    once(&case, &path)
        .stderr(contains("a guardrail has stopped the arm").and(contains("railed.web-1.stopped")));
    assert_eq!(rows(&case.path("rows")).len(), written.len());
}

/// Unobserved arms must not continue: an unreadable guardrail ends after the plan's lease.
#[test]
fn an_arm_whose_p99_cannot_be_read_for_its_lease_is_stopped() {
    if !is_root() {
        return skip("an_arm_whose_p99_cannot_be_read…", NEEDS_ROOT);
    }
    let _turn = one_at_a_time();
    let (before, mode) = (harness::settings(), another_mode());
    let case = Case::new();
    let rails = "guardrails = {p99 = {command = ['false'], seconds = 0.1}}";
    let path = plan(&case, "blind", &format!("thp={mode}"), rails);
    let agent = Agent::start(&case, &path);
    agent.wait_for("the arm is stopped when that lasts as long as the plan's lease");
    agent.wait_for("gave no number for the 2 s of the lease");
    wait_until("the old settings", || harness::settings() == before);
    let said = agent.end();
    assert_eq!(said.matches("the command of p99, ").count(), 1, "{said}");
}

/// If an agent loses rows, it must not exit with success.
#[test]
fn an_agent_that_loses_rows_fails() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let path = plan(&case, "lost", "as-is", "");
    fs::write(case.path("rows"), "in the way").expect("a file");
    let mut command = case.hugewise();
    command.args(["fleet", "agent", "--once", "--wait", "60s"]);
    command
        .args(["--unit", "web-1", "--out", "rows"])
        .arg(&path);
    let lost = contains("the rows of 1 period are lost");
    command.assert().code(1).stderr(lost);
}

#[test]
fn a_plan_in_which_nobody_takes_part_is_said_to_be_one() {
    let case = Case::new();
    let ask = |rest: &str, at: &str| {
        let path = plan(&case, "x", "thp=never", rest);
        let mut command = case.hugewise();
        command.args(["fleet", "assign", "--at", at]);
        command.args([&path, Path::new("web-1")]).assert().success()
    };
    ask("band = [0, 0.000001]", "2026-01-01T00:00:00Z")
        .stderr(contains("none of 1 unit takes part in x at this moment"));
    ask("", "2100-01-01T00:00:00Z").stderr(contains("x is over: `until` has passed"));
    ask("", "2026-01-01T00:00:00Z").stderr(contains("takes part").not());
}

#[test]
fn rows_that_cannot_be_written_are_kept() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let path = plan(&case, "kept", "as-is", "");
    fs::write(case.path("rows"), "in the way").expect("a file");
    let agent = Agent::start(&case, &path);
    agent.wait_for("rows cannot be written");
    std::thread::sleep(Duration::from_millis(2500));
    fs::remove_file(case.path("rows")).expect("removed");
    agent.wait_for("the rows are written again; 0 periods lost");
    let out = agent.out.clone();
    let said = agent.end();
    assert_eq!(said.matches("cannot be written").count(), 1, "{said}");
    let mut starts: Vec<i64> = rows(&out)
        .iter()
        .filter_map(|row| row["start"].as_i64())
        .collect();
    starts.dedup();
    assert!(starts.len() >= 3, "{starts:?}");
}
