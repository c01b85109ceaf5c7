//! `hugewise faults` against a laboratory with known faults, on the current kernel.

use std::collections::BTreeMap;
use std::process::{Child, Command as Plain, Stdio};

use assert_cmd::Command;
use serde_json::Value;

use super::harness::{Case, Restored, can_grant, is_root, lab, one_at_a_time, skip, wait_until};

mod ends;
mod rungs;
mod shapes;

/// The number of faults of each kind; all are different, so that none can be mistaken for another.
const MIX: [&str; 20] = [
    "--write",
    "1009",
    "--read",
    "1013",
    "--read-write",
    "1019",
    "--again",
    "1021",
    "--huge",
    "11",
    "--read-huge",
    "13",
    "--copy",
    "1031",
    "--file",
    "103",
    "--shared",
    "1033",
    "--major",
    "37",
];

/// The summary of the laboratory's fault-mix, and that of its bare start.
struct Mix {
    summary: Value,
    bare: Value,
}

impl Mix {
    fn of(case: &Case, hugewise: impl Fn() -> Command) -> Self {
        let copy = case.path("hugewise-lab");
        std::fs::copy(lab(), &copy).expect("a copy");
        let run = |options: &[&str]| {
            let json = case.path("faults.json");
            let mut command = hugewise();
            command
                .args(["faults", "--quiet", "--json"])
                .arg(&json)
                .arg("--")
                .arg(&copy);
            command.arg("fault-mix").args(options).assert().success();
            case.json(&json)
        };
        Self {
            bare: run(&[]),
            summary: run(&MIX),
        }
    }

    /// Faults of a kind in addition to those of the program's start.
    fn more(&self, kind: &str) -> i64 {
        kinds(&self.summary).get(kind).unwrap_or(&0) - kinds(&self.bare).get(kind).unwrap_or(&0)
    }

    /// Checks for the ordered number, except for a few more faults of the program: its own pages after a fork, and its
    /// file buffer.
    fn nearly(&self, kind: &str, ordered: i64) {
        let more = self.more(kind);
        assert!(
            (ordered..ordered + 48).contains(&more),
            "{kind}: {more} of {ordered}"
        );
    }
}

fn kinds(summary: &Value) -> BTreeMap<String, i64> {
    let rows = summary["kinds"].as_array().expect("kinds");
    let row = |row: &Value| {
        let kind = row["kind"].as_str().unwrap_or("folio").to_owned();
        (kind, row["faults"].as_i64().expect("faults"))
    };
    rows.iter().map(row).collect()
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Counted, sampled and timed faults agree, and no time is counted twice.
fn books_agree(summary: &Value) {
    let books = &summary["books"];
    assert_eq!(
        (&books["lost"], &books["unserved"]),
        (&0.into(), &0.into()),
        "{books}"
    );
    assert_eq!(books["counted"], books["sampled"], "{books}");
    assert_eq!(books["counted"], books["timed"], "{books}");
    // The laboratory has one process at a time, so that its faults cannot overlap.
    let wall = number(&summary["closing"]["wall_ns"]);
    assert!(number(&summary["total"]["time_ns"]) < wall);
    for row in summary["kinds"].as_array().expect("kinds") {
        let q = &row["latency"];
        let quantiles = ["p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns"].map(|p| number(&q[p]));
        assert!(quantiles.is_sorted() && quantiles[0] > 0, "{row}");
    }
}

/// Perf events for an ordinary user, the page size in them, and huge pages on request.
fn can_watch(name: &str) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid");
    if !is_root() && paranoid.trim().parse::<i32>().is_ok_and(|level| level > 2) {
        skip(name, "kernel.perf_event_paranoid is above 2");
        return false;
    }
    let enabled = read("/sys/kernel/mm/transparent_hugepage/enabled");
    if !enabled.contains("[always]") && !enabled.contains("[madvise]") {
        skip(name, "huge pages are switched off");
        return false;
    }
    true
}

#[test]
fn every_kind_is_counted_as_it_was_made() {
    if !can_watch("every_kind_is_counted_as_it_was_made") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let mix = Mix::of(&case, || case.hugewise());
    books_agree(&mix.summary);
    assert_eq!((mix.more("shared"), mix.more("major")), (1033, 37));
    mix.nearly("copy", 1031);
    mix.nearly("file", 103);
    mix.nearly("file_copy", 103);
    if mix.summary["conditions"]["physical"] != "yes" {
        skip("zero pages in every_kind_is_counted", "needs CAP_PERFMON");
        return;
    }
    assert_eq!((mix.more("huge"), mix.more("huge_zero")), (11, 13));
    assert_eq!((mix.more("after_zero"), mix.more("again")), (1019, 1021));
    assert_eq!(mix.more("zero_page"), 1013 + 1019);
    mix.nearly("page", 1009 + 1021 + 1031);
    let shapes = mix.summary["shapes"].as_array().expect("shapes");
    let shape = |name: &str| shapes.iter().find(|shape| shape["shape"] == name);
    let double = shape("double_fault").expect("double faults");
    assert_eq!(double["faults"], double["certain"]);
    assert_eq!(number(&double["at_site"]), 1019);
    let copies = shape("copies_after_fork").expect("copies");
    assert_eq!(number(&copies["forks"]), 1);
    // 1009, 1021 and 1031 pages hold one whole huge page each, but for the tail.
    assert_eq!(
        number(&shape("small_instead_of_huge").expect("small")["full"]),
        4
    );
}

#[test]
fn an_ordinary_user_sees_the_same_faults_with_less_known_of_each() {
    const NAME: &str = "an_ordinary_user_sees_the_same_faults";
    if !is_root() {
        return skip(NAME, "needs root, to become somebody else");
    }
    let _turn = one_at_a_time();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    if paranoid.is_ok_and(|level| level.trim().parse().is_ok_and(|level: i32| level != 2)) {
        return skip(NAME, "kernel.perf_event_paranoid is not 2");
    }
    let case = Case::new();
    let mix = Mix::of(&case, || case.hugewise_as_nobody());
    books_agree(&mix.summary);
    assert_eq!(mix.summary["conditions"]["modes"], "user");
    assert_eq!((mix.more("shared"), mix.more("major")), (1033, 37));
    // Kinds that only the physical address can distinguish are combined, and their names show that.
    assert_eq!(
        (mix.more("huge"), mix.more("again")),
        (11 + 13, 1019 + 1021)
    );
    mix.nearly("page", 1009 + 1013 + 1019 + 1021 + 1031);
    let shapes = mix.summary["shapes"].as_array().expect("shapes");
    let double = shapes.iter().find(|shape| shape["shape"] == "double_fault");
    assert_eq!(number(&double.expect("double faults")["certain"]), 0);
}

#[test]
fn one_capability_shows_what_root_sees() {
    const NAME: &str = "one_capability_shows_what_root_sees";
    if !can_grant(NAME) || !can_watch(NAME) {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let mix = Mix::of(&case, || case.hugewise_with("+perfmon"));
    books_agree(&mix.summary);
    assert_ne!(mix.summary["conditions"]["modes"], "user");
    // The physical address identifies zero pages, and the faults after them.
    assert_eq!((mix.more("huge"), mix.more("huge_zero")), (11, 13));
    assert_eq!((mix.more("after_zero"), mix.more("again")), (1019, 1021));

    let mut other = case.hugewise_with("+perfmon");
    let pid = std::process::id().to_string();
    other.args(["faults", "-p", &pid, "--duration", "50ms"]);
    other.assert().success();
    let mut without = case.hugewise_with("+bpf");
    without.args(["faults", "-p", &pid, "--duration", "50ms"]);
    without.assert().code(4);
}

/// If the kernel drops events, unseen faults are not reported as zero.
#[test]
fn a_set_user_id_program_is_not_without_faults() {
    const NAME: &str = "a_set_user_id_program_is_not_without_faults";
    if !is_root() {
        return skip(NAME, "needs root, to make a set-user-ID program");
    }
    if !can_watch(NAME) {
        return;
    }
    let case = Case::new();
    let (copy, json) = (case.path("hugewise-lab"), case.path("faults.json"));
    std::fs::copy(lab(), &copy).expect("a copy");
    std::os::unix::fs::chown(&copy, Some(65_534), None).expect("another owner");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&copy, mode).expect("permissions");
    let watch = |words: &[&str], code: i32| {
        let mut command = case.hugewise();
        command.args(["faults", "--quiet", "--json"]).arg(&json);
        command.arg("--").args(words).assert().code(code);
        case.json(&json)
    };
    let path = copy.to_str().expect("a path");
    let alone = watch(&[path, "touch", "--pages", "1009"], 4);
    assert_eq!(alone["books"]["counted"], 0);
    assert!(alone["books"]["without_event"].as_i64() > Some(1009));
    assert_eq!(alone["unwatched"][0]["program"], "hugewise-lab");
    let script = format!("{path} touch --pages 1009; {path} touch --pages 1009; true");
    let below = watch(&["sh", "-c", &script], 0);
    assert_eq!(below["unwatched"][0]["processes"], 2);
    assert!(number(&below["books"]["counted"]) > 0);
}

#[test]
fn processes_that_are_left_running_are_told() {
    const NAME: &str = "processes_that_are_left_running_are_told";
    if !can_watch(NAME) {
        return;
    }
    let case = Case::new();
    let json = case.path("faults.json");
    let mut command = case.hugewise();
    command.args(["faults", "--quiet", "--json"]).arg(&json);
    let left = ["--", "sh", "-c", "sleep 300 & sleep 300 & true"];
    command.args(left).assert().success();
    assert_eq!(case.json(&json)["closing"]["outlived"], 2);
}

#[test]
fn folios_between_a_page_and_a_huge_page_are_told_by_their_size() {
    const NAME: &str = "folios_between_a_page_and_a_huge_page";
    const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
    if !is_root() || !std::path::Path::new(SETTING).exists() {
        return skip(NAME, "needs root and folios of 64 KiB");
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let restored = Restored::of(SETTING);
    std::fs::write(SETTING, "always").expect("the setting");
    let json = case.path("faults.json");
    let mut command = case.hugewise();
    command
        .args(["faults", "--json"])
        .arg(&json)
        .arg("--")
        .arg(lab());
    // The program holds its memory for a while, so that its folios can be read.
    command
        .args(["touch", "--pages", "4096", "--hold", "200"])
        .assert()
        .success();
    drop(restored);
    let summary = case.json(&json);
    let rows = summary["kinds"].as_array().expect("kinds");
    let folio = |row: &&Value| row["kind"]["folio"] == 65_536;
    let folios = rows
        .iter()
        .find(folio)
        .map_or(0, |row| number(&row["faults"]));
    let page = number(&summary["conditions"]["page_bytes"]);
    let expected = 4096 * page / 65_536;
    // The program's own memory may use folios too.
    assert!(
        (expected..expected + 16).contains(&folios),
        "{folios} of {expected}"
    );
}

#[test]
fn a_replay_says_what_was_said_live() {
    if !can_watch("a_replay_says_what_was_said_live") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let (recording, live, again) = (
        case.path("faults.jsonl"),
        case.path("live.json"),
        case.path("again.json"),
    );
    let (flame, folded) = (case.path("flame.svg"), case.path("folded.txt"));
    let mut command = case.hugewise();
    command
        .args(["faults", "--json"])
        .arg(&live)
        .arg("--out")
        .arg(&recording)
        .arg("--");
    command
        .arg(lab())
        .args(["touch", "--pages", "5003"])
        .assert()
        .success();
    let mut command = case.hugewise();
    command
        .args(["faults", "--json"])
        .arg(&again)
        .arg("--replay")
        .arg(&recording);
    command
        .arg("--flame")
        .arg(&flame)
        .arg("--folded")
        .arg(&folded)
        .assert()
        .success();
    assert_eq!(case.json(&live), case.json(&again));
    let svg = std::fs::read_to_string(flame).expect("a drawing");
    assert!(svg.contains("Region::write"), "{svg}");
    let folded = std::fs::read_to_string(folded).expect("chains");
    let weights = folded
        .lines()
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    assert_eq!(
        weights.sum::<u64>(),
        number(&case.json(&live)["total"]["time_ns"])
    );

    // A truncated recording is reported as such, wherever it was cut.
    let whole = std::fs::read(&recording).expect("the recording");
    for bytes in [whole.len() - 5, whole.len() / 2, 10, 0] {
        std::fs::write(&recording, &whole[..bytes]).expect("a cut");
        let mut command = case.hugewise();
        command
            .args(["faults", "--replay"])
            .arg(&recording)
            .assert()
            .code(2);
    }
}

#[test]
fn one_in_many_is_counted_whole_and_not_timed() {
    if !can_watch("one_in_many_is_counted_whole") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("faults.json");
    let mut command = case.hugewise();
    command
        .args(["faults", "--every", "100", "--json"])
        .arg(&json)
        .arg("--")
        .arg(lab());
    command
        .args(["touch", "--pages", "50000", "--small"])
        .assert()
        .success();
    let summary = case.json(&json);
    let books = &summary["books"];
    assert!(number(&books["counted"]) >= 50_000, "{books}");
    // One in a hundred on each processor, and the remainder on each.
    let sampled = number(&books["sampled"]);
    assert!((490..=510).contains(&sampled), "{books}");
    assert_eq!(number(&summary["total"]["timed"]), 0);
}

#[test]
fn a_full_ring_is_said_and_the_faults_are_counted() {
    if !can_watch("a_full_ring_is_said") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let (json, go) = (case.path("faults.json"), case.path("go"));
    let line = format!(
        "touch {}; until [ -e {} ]; do sleep 0.02; done; \
         {} touch --pages 300000 --small; touch {}",
        case.path("begun").display(),
        go.display(),
        lab().display(),
        case.path("done").display()
    );
    let mut child = case
        .plain()
        .args(["faults", "--json"])
        .arg(&json)
        .args(["--", "sh", "-c", &line])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("hugewise");
    wait_until("the command runs", || case.path("begun").exists());
    signal(&child, "STOP");
    std::fs::write(go, "").expect("a file");
    wait_until("the laboratory is done", || case.path("done").exists());
    signal(&child, "CONT");
    assert!(child.wait().expect("its end").success());
    let summary = case.json(&json);
    let books = &summary["books"];
    let [counted, sampled, lost] = ["counted", "sampled", "lost"].map(|name| number(&books[name]));
    assert!(counted >= 300_000 && sampled < counted, "{books}");
    assert!(lost >= counted - sampled, "{books}");
    let remarks = books["remarks"].to_string();
    assert!(remarks.contains("found the ring full"), "{remarks}");
}

fn signal(child: &Child, name: &str) {
    let status = Plain::new("kill")
        .arg(format!("-{name}"))
        .arg(child.id().to_string())
        .status();
    assert!(status.expect("kill").success());
}

#[test]
fn a_process_is_watched_with_its_children_until_it_is_gone() {
    if !can_watch("a_process_is_watched_with_its_children") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let (json, go) = (case.path("faults.json"), case.path("go"));
    let line = format!(
        "until [ -e {} ]; do sleep 0.02; done; {} touch --pages 7001 --small; true",
        go.display(),
        lab().display()
    );
    let mut shell = Plain::new("sh")
        .args(["-c", &line])
        .stdout(Stdio::null())
        .spawn()
        .expect("sh");
    let mut watcher = case
        .plain()
        .args(["faults", "--json"])
        .arg(&json)
        .args(["-p", &shell.id().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hugewise");
    // It reports when it starts to watch.
    let mut said = [0_u8; 8];
    let stderr = watcher.stderr.as_mut().expect("its stderr");
    std::io::Read::read_exact(stderr, &mut said).expect("a line");
    std::fs::write(go, "").expect("a file");
    assert!(shell.wait().expect("its end").success());
    assert!(watcher.wait().expect("its end").success());
    let summary = case.json(&json);
    assert!(
        *kinds(&summary).get("page").unwrap_or(&0) >= 7001,
        "{}",
        summary["kinds"]
    );
    assert!(number(&summary["books"]["counted"]) >= 7001);

    let gone = shell.id().to_string();
    let refused = case
        .hugewise()
        .args(["faults", "-p", &gone])
        .assert()
        .code(2);
    let stderr = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(stderr.contains("there is no process"), "{stderr}");
}

#[test]
fn what_may_not_be_watched_is_refused_with_the_least_grant() {
    if !is_root() {
        return skip(
            "what_may_not_be_watched",
            "needs root, to become somebody else",
        );
    }
    let case = Case::new();
    let refused = case
        .hugewise_as_nobody()
        .args(["faults", "-p", "1"])
        .assert()
        .code(4);
    let stderr = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(stderr.contains("CAP_PERFMON"), "{stderr}");
}

#[test]
fn nothing_is_left_when_the_watcher_is_killed() {
    if !can_watch("nothing_is_left_when_the_watcher_is_killed") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    for (signal_name, marker) in [("KILL", "60901"), ("INT", "60902"), ("TERM", "60903")] {
        let mut child = case
            .plain()
            .args(["faults", "--", "sleep", marker])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("hugewise");
        let running = || super::harness::processes_with(marker) > 0;
        wait_until("the command runs", running);
        signal(&child, signal_name);
        let status = child.wait().expect("its end");
        wait_until("the command is gone", || !running());
        if signal_name != "KILL" {
            assert_eq!(status.code(), Some(130));
        }
    }
}

#[test]
fn wrong_words_and_failing_commands_are_told_apart() {
    let _turn = one_at_a_time();
    let case = Case::new();
    for (words, code) in [
        (&["faults"][..], 2),
        (&["faults", "-p", "1", "--", "true"], 2),
        (&["faults", "--every", "0", "--", "true"], 2),
        (
            &["faults", "--every", "2", "--weigh", "time", "--", "true"],
            2,
        ),
        (&["faults", "--duration", "0", "--", "true"], 2),
        (&["faults", "--", "there-is-no-such-program"], 2),
        (&["faults", "--", "/"], 2),
        (&["faults", "--replay", "/dev/null"], 2),
        (&["faults", "--out", "/nowhere/at/all", "--", "true"], 2),
        (&["faults", "--flame", "/nowhere/x", "--", "true"], 2),
        (&["faults", "--json", "/nowhere/x", "--", "true"], 2),
        (&["faults", "--stdin", "/nowhere/x", "--", "true"], 2),
        (&["faults", "--", "false"], 3),
        (&["faults", "--", "true"], 0),
    ] {
        case.hugewise().args(words).assert().code(code);
    }
}
