//! `hugewise inspect` as users see it, on processes with known memory.

#[expect(dead_code, reason = "other tests need the rest of it")]
mod harness;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harness::{Case, is_root, lab, skip};
use hugewise_observe::inspect::reasons::Code;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// A process of the laboratory that holds its memory.
struct Held(Child);

impl Held {
    /// Starts it, and waits until it reports that its memory is ready.
    fn new(arguments: &[&str]) -> Self {
        Self::of(&lab(), arguments)
    }

    /// The same with a copy of the laboratory.
    fn of(program: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .args(["--hold", "60000"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the laboratory");
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("its stdout"));
        lines.read_line(&mut line).expect("a line");
        assert!(line.starts_with("pages"), "{line}");
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn page_and_huge_bytes() -> Option<(u64, u64)> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).ok();
    let enabled = read("enabled")?;
    let huge = read("hpage_pmd_size")?.trim().parse().ok()?;
    (!enabled.contains("[never]")).then_some((4096, huge))
}

/// The judgements with a code, and the sum of their ranges and memory.
fn of_code(inspection: &Value, code: &str) -> (u64, u64) {
    let reasons = inspection["summary"]["reasons"]
        .as_array()
        .expect("reasons");
    reasons
        .iter()
        .find(|reason| reason["code"] == code)
        .map_or((0, 0), |reason| {
            let number = |name: &str| reason[name].as_u64().expect(name);
            (number("ranges"), number("resident"))
        })
}

#[test]
fn advised_memory_is_huge_to_the_last_range() {
    let name = "advised_memory_is_huge_to_the_last_range";
    let Some((page, huge)) = page_and_huge_bytes() else {
        return skip(name, "no transparent huge pages here");
    };
    let (ranges, tail) = (20, 100);
    let pages = ranges * huge / page + tail;
    let held = Held::new(&["touch", "--huge", "--pages", &pages.to_string()]);
    let case = Case::new();
    let json = case.path("inspection.json");
    case.hugewise()
        .args(["inspect", "-v", &held.pid(), "--json"])
        .arg(&json)
        .assert()
        .success()
        .stdout(contains("ALREADY_PMD").and(contains("VMA_SMALL")));
    let inspection = case.json(&json);
    assert_eq!(of_code(&inspection, "ALREADY_PMD"), (ranges, ranges * huge));
    assert_eq!(inspection["summary"]["huge_anonymous"], ranges * huge);
    assert_eq!(inspection["summary"]["could_be_huge"], 0);

    // The written inspection can be judged again, with the same result.
    let again = case
        .hugewise()
        .args(["inspect", "--format", "json", "--from"])
        .arg(&json)
        .output()
        .expect("the program");
    assert!(again.status.success());
    assert_eq!(again.stdout, std::fs::read(&json).expect("the file"));
}

/// One byte in each huge page, and one in each of their pages.
#[test]
fn zeros_in_huge_pages_are_estimated() {
    let name = "zeros_in_huge_pages_are_estimated";
    let Some((page, huge)) = page_and_huge_bytes() else {
        return skip(name, "no transparent huge pages here");
    };
    let (ranges, step) = (40, huge / page);
    let whole = ranges * huge;
    let estimate = |pages: u64, step: u64| {
        let (pages, step) = (pages.to_string(), step.to_string());
        let held = Held::new(&["touch", "--huge", "--pages", &pages, "--step", &step]);
        let case = Case::new();
        let run = |flags: &[&str]| {
            let mut inspect = case.hugewise();
            inspect.args(["inspect", &held.pid(), "--format", "json"]);
            let done = inspect.args(flags).assert().success();
            serde_json::from_slice::<Value>(&done.get_output().stdout).expect("JSON")
        };
        assert!(run(&["--contents", "off"])["summary"]["empty_huge"].is_null());
        let inspection = run(&[]);
        if inspection["space"]["contents"]["missing"].is_object() {
            skip(name, "the memory of a child may not be read here");
            return None;
        }
        let empty = &inspection["summary"]["empty_huge"];
        assert!(inspection["space"]["contents"]["read"].as_u64() <= Some(1024));
        Some(["low", "bytes", "high"].map(|it| empty[it].as_u64().expect("bytes")))
    };
    if let Some([low, bytes, high]) = estimate(ranges, step) {
        assert!(low <= bytes && bytes <= high && high <= whole);
        assert!(low > whole / 100 * 97, "{low} to {high} of {whole}");
    }
    if let Some([low, bytes, high]) = estimate(ranges * step, 1) {
        assert_eq!((low, bytes), (0, 0));
        assert!(high < whole / 100, "{high} of {whole}");
    }
}

#[test]
fn small_pages_have_the_reason_that_made_them_small() {
    let held = Held::new(&["touch", "--small", "--pages", "4096"]);
    let case = Case::new();
    let shown = case
        .hugewise()
        .args(["inspect", "-v", "-p", &held.pid()])
        .assert()
        .success()
        .stdout(contains("MADV_NOHUGEPAGE").and(contains("VmFlags has nh")));
    let text = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for arguments in [
        &["--map"][..],
        &["--format", "csv"],
        &["--format", "markdown"],
        &["--mapping", "anonymous"],
        &["--verbose"],
        &["--watch", "20ms", "--duration", "50ms"],
    ] {
        case.hugewise()
            .args(["inspect", &held.pid()])
            .args(arguments)
            .assert()
            .success()
            .stdout(predicate::str::is_empty().not());
    }
    case.hugewise()
        .args(["inspect", &held.pid(), "--mapping", "no-such-file"])
        .assert()
        .success()
        .stdout(contains("No mapping"));
}

/// Memory cannot show whether huge pages help, so the report names other sources and the command that measures it.
#[test]
fn what_makes_memory_huge_is_no_advice() {
    let case = Case::new();
    let server = case.path("tikv-server");
    std::fs::copy(lab(), &server).expect("a copy of the laboratory");
    let held = Held::of(&server, &["touch", "--small", "--pages", "4096"]);
    let shown = case.hugewise().args(["inspect", &held.pid()]).assert();
    let text = String::from_utf8_lossy(&shown.success().get_output().stdout).into_owned();
    let lines = [
        "\nto make it huge  ",
        "\nagainst it       TiKV (vendor, 2020-11-27): ",
        &format!("hugewise advise {}", held.pid()),
        "\ndoes it help?    hugewise run -- COMMAND; a server: hugewise run --service\n",
    ];
    let places = lines.map(|line| text.find(line));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    assert!(!text.contains("\nfix"), "{text}");
}

#[test]
fn a_forecast_stands_in_every_form_that_has_room_for_it() {
    let held = Held::new(&["touch", "--small", "--pages", "4096"]);
    let case = Case::new();
    for form in ["text", "markdown", "json"] {
        let wanted = if form == "json" {
            contains("\"forecast\"")
        } else {
            contains("Forecast: TLB reach")
        };
        case.hugewise()
            .args(["inspect", &held.pid(), "--forecast", "--format", form])
            .assert()
            .success()
            .stdout(wanted);
    }
}

/// Without counters on this machine, the report says so and does not wait.
#[test]
fn page_walks_are_counted_while_the_process_is_watched() {
    let held = Held::new(&["touch", "--small", "--pages", "4096"]);
    let case = Case::new();
    let forecast = |flags: &[&str]| -> Value {
        let mut inspect = case.hugewise();
        inspect.args(["inspect", &held.pid(), "--forecast", "--format", "json"]);
        let done = inspect.args(flags).assert().success();
        let told: Value = serde_json::from_slice(&done.get_output().stdout).expect("JSON");
        told["forecast"]["worth"].clone()
    };
    let watched = forecast(&["--duration", "200ms", "--touch-bits"]);
    let seconds = watched["extent"]["seconds"].as_f64().expect("a time");
    assert!(seconds >= 0.2, "{watched}");
    let missing = |share: &Value| !share["missing"].is_null();
    let alone = forecast(&["--duration", "200ms"]);
    for share in [&watched["walk_share"], &alone["walk_share"]] {
        let known = |at_most| (0.0..=1.0).contains(&at_most);
        let at_most = share["at_most"].as_f64();
        assert!(missing(share) || at_most.is_some_and(known), "{share}");
    }
    assert!(missing(&forecast(&[])["walk_share"]));
}

#[test]
fn a_duration_belongs_to_what_takes_time() {
    let refused = Case::new()
        .hugewise()
        .args(["inspect", "1", "--duration", "1s"])
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("--watch or --forecast"), "{said}");
}

#[test]
fn a_watched_process_that_ends_ends_the_watch() {
    let mut held = Held::new(&["touch", "--pages", "10"]);
    let case = Case::new();
    let mut watch = case.plain();
    watch.args(["inspect", &held.pid(), "--watch", "10ms"]);
    let mut watching = watch
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut first = String::new();
    let mut lines = BufReader::new(watching.stdout.take().expect("its stdout"));
    lines.read_line(&mut first).expect("a line");
    held.0.kill().expect("a kill");
    held.0.wait().expect("its end");
    std::io::copy(&mut lines, &mut std::io::sink()).expect("the rest");
    let done = watching.wait_with_output().expect("its end");
    assert!(done.status.success());
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("has ended"), "{said}");
}

#[test]
fn other_users_processes_need_a_right_that_is_named() {
    let name = "other_users_processes_need_a_right_that_is_named";
    if !is_root() {
        return skip(name, "needs root, to be another user");
    }
    let held = Held::new(&["touch", "--pages", "10"]);
    let case = Case::new();
    case.hugewise_as_nobody()
        .args(["inspect", &held.pid()])
        .assert()
        .code(4)
        .stdout(predicate::str::is_empty())
        .stderr(contains("CAP_SYS_PTRACE"));
    case.hugewise_as_nobody()
        .args(["inspect", "--all"])
        .assert()
        .success()
        .stderr(contains("not read: ").and(contains("CAP_SYS_PTRACE")));
}

#[test]
fn what_cannot_be_inspected_is_said_with_the_fix() {
    let case = Case::new();
    for (arguments, word) in [
        (&["4294967295"][..], "there is no process 4294967295"),
        (&["no-such-program-runs"], "no process has that name"),
        (&["--cgroup", "/no/such/group"], "there is no such cgroup"),
        (
            &["--explain", "NO_SUCH"],
            "--explain without a name lists them",
        ),
        (&["--from", "no/such"], "--from no/such"),
        (&["--all", "--watch", "1s"], "name one"),
        (&["--all", "--map"], "name one"),
        (&["1", "--watch", "soon"], "is not a duration"),
        (&["1", "--watch", "0"], "shortest interval"),
    ] {
        case.hugewise()
            .arg("inspect")
            .args(arguments)
            .assert()
            .code(2)
            .stdout(predicate::str::is_empty())
            .stderr(contains(word));
    }
}

#[test]
fn all_processes_are_a_line_each() {
    let held = Held::new(&["touch", "--pages", "10"]);
    let case = Case::new();
    for arguments in [&["inspect"][..], &["inspect", "--all", "--quiet"]] {
        let shown = case.hugewise().args(arguments).assert().success();
        let text = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
        let pid = held.pid();
        let own = text.lines().filter(|line| {
            line.split_whitespace().next() == Some(&pid) && line.contains("hugewise-lab")
        });
        assert_eq!(own.count(), 1, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}

#[test]
fn every_reason_is_explained() {
    let case = Case::new();
    let list = case
        .hugewise()
        .args(["inspect", "--explain"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&list.get_output().stdout).into_owned();
    assert_eq!(text.lines().count(), Code::all().len(), "{text}");
    for line in text.lines() {
        let code = line.split_whitespace().next().expect("a reason");
        case.hugewise()
            .args(["inspect", "--explain", &code.to_lowercase()])
            .assert()
            .success()
            .stdout(contains(code).and(contains("To make it huge")));
    }
}
