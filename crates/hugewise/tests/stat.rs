//! `hugewise stat` as its users meet it.

#[expect(dead_code, reason = "other tests need the rest of it")]
mod harness;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::{Case, is_root, lab, skip};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// The lines of a recording.
fn lines(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    let parse = |line: &str| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(parse).collect()
}

/// Faults are counted by the kernel, whatever the hardware: all of them, and only those.
#[test]
fn stat_counts_the_faults_of_a_command_and_of_its_children() {
    let case = Case::new();
    let line = format!("{} touch --pages 23029; true", lab().display());
    let words = [
        "stat", "-I", "50ms", "--format", "json", "--", "/bin/sh", "-c", &line,
    ];
    let output = case.hugewise().args(words).assert().success();
    let lines = lines(&output.get_output().stdout);
    assert_eq!(lines[0]["format"], "hugewise-stat 1");
    assert_eq!(lines[0]["target"]["words"][0], "/bin/sh");
    let summary = lines.last().expect("a summary");
    assert_eq!(summary["line"], "summary");
    assert_eq!(summary["outcome"]["code"], 0);
    let faults = |line: &Value| line["readings"]["minor_faults_total"]["value"].as_f64();
    let all = faults(summary).expect("faults");
    assert!((23_029.0..23_029.0 + 1500.0).contains(&all), "{all}");
    let intervals = lines.iter().filter(|line| line["line"] == "interval");
    let sum: f64 = intervals.filter_map(faults).sum();
    assert!((sum - all).abs() < 0.5, "{sum} {all}");
}

/// Either the hardware counts, or the reason why not is there once, and no share is over 1.
#[test]
fn stat_never_says_zero_for_what_it_cannot_count() {
    let case = Case::new();
    let words = [
        "stat", "-I", "50ms", "--format", "json", "--", "sleep", "0.2",
    ];
    let output = case.hugewise().args(words).assert().success();
    let lines = lines(&output.get_output().stdout);
    let hardware = &lines[0]["hardware"];
    let summary = lines.last().expect("a summary");
    let derived = summary["derived"].as_object().expect("ratios");
    if hardware["missing"].is_null() {
        let cycles = summary["counts"].as_array().expect("counts");
        assert!(
            cycles.iter().any(|count| count["kind"] == "cycles"),
            "{summary}"
        );
    } else {
        assert!(
            derived
                .values()
                .all(|one| one["missing"] == hardware["missing"])
        );
    }
    for (name, reading) in derived {
        let value = reading["value"].as_f64().unwrap_or(0.0);
        assert!(!name.ends_with("_ratio") || value <= 1.0, "{name} {value}");
    }
}

/// The process ends when it is known to be observed: a busy machine may take long to get there.
#[test]
fn stat_follows_a_process_until_it_ends() {
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = sleeper.id().to_string();
    let began = Instant::now();
    let case = Case::new();
    let mut command = case.plain();
    command.args(["stat", "-p", &pid, "-I", "100ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("hugewise");
    let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut lines = stdout.lines().map_while(Result::ok);
    let head = lines.next().expect("a first line");
    assert!(head.contains(&format!("Process {pid} (sleep)")), "{head}");
    sleeper.kill().expect("our own child");
    // Reaped, as a shell would.
    sleeper.wait().expect("our own child");
    assert!(lines.any(|line| line.contains("page faults")));
    lines.for_each(drop);
    assert!(child.wait().expect("its end").success());
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// What a process did in the interval in which it ended is known but for its last moments.
#[test]
fn stat_counts_the_faults_of_the_interval_in_which_a_process_ended() {
    let line = format!(
        "read word; exec {} touch --pages 23029 --hold 2000",
        lab().display()
    );
    let mut shell = Command::new("/bin/sh")
        .args(["-c", &line])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let pid = shell.id().to_string();
    let case = Case::new();
    let mut command = case.plain();
    command.args(["stat", "-p", &pid, "-I", "1h", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("hugewise");
    let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut said = stdout.lines().map_while(Result::ok);
    let header = said.next().expect("a header");
    assert!(header.contains(&pid), "{header}");
    let mut stdin = shell.stdin.take().expect("its stdin");
    stdin.write_all(b"\n").expect("a word");
    shell.wait().expect("our own child");
    let last = said.last().expect("a summary");
    let summary: Value = serde_json::from_str(&last).expect("a line of JSON");
    let faults = summary["readings"]["minor_faults_total"]["value"].as_f64();
    let faults = faults.expect("faults");
    assert!((23_029.0..23_029.0 + 1500.0).contains(&faults), "{faults}");
    assert!(child.wait().expect("its end").success());
}

#[test]
fn stat_as_an_ordinary_user_still_counts_faults() {
    if !is_root() {
        return skip(
            "stat_as_an_ordinary_user",
            "needs root to become another user",
        );
    }
    let case = Case::new();
    case.hugewise_as_nobody()
        .args(["stat", "-I", "100ms", "--duration", "200ms"])
        .assert()
        .success()
        .stdout(contains("in 2 intervals").and(contains("page faults")));
}

#[test]
fn stat_names_what_was_typed_wrong() {
    for (words, said) in [
        (&["-p", "4294967294"][..], "there is no such process"),
        (&["--cgroup", "no/such/group"], "no such folder"),
        (
            &["-e", "no_such_event"],
            "no_such_event: this processor has no such event",
        ),
        (&["-I", "1ms"], "shortest interval"),
        (&["-p", "1", "-a"], "cannot be used with"),
        (&["--replay", "/dev/null"], "it is a device"),
        (&["--replay", "/proc/self/maps"], "not a recording of stat"),
        (
            &["--", "no-such-program"],
            "`no-such-program` on the PATH; a shell line needs -- sh -c 'LINE'",
        ),
    ] {
        let assert = Case::new().hugewise().arg("stat").args(words).assert();
        assert.code(2).stderr(contains(said));
    }
}

#[test]
fn stat_draws_a_recording_as_it_drew_it_live() {
    let case = Case::new();
    let file = case.path("recording.jsonl");
    let json = file.to_str().expect("a path");
    let words = ["stat", "-I", "50ms", "--json", json, "--", "sleep", "0.2"];
    let live = case.hugewise().args(words).assert().success();
    let again = ["stat", "--replay", json];
    let replayed = case.hugewise().args(again).assert().success();
    let text = |assert: &assert_cmd::assert::Assert| {
        String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
    };
    assert_eq!(text(&live), text(&replayed));
    let bytes = std::fs::read(&file).expect("the recording");
    let piped = ["stat", "--replay", "/dev/stdin"];
    let replayed = case.hugewise().args(piped).write_stdin(bytes).assert();
    assert_eq!(text(&live), text(&replayed));
    let lost = [&again[..], &["--json", json]].concat();
    case.hugewise().args(lost).assert().code(2);
}

#[test]
fn stat_fits_eighty_columns() {
    let case = Case::new();
    for words in [
        &["stat", "--list"][..],
        &["stat", "-v", "-I", "50ms", "--", "sleep", "0.1"],
        &["stat", "-I", "50ms", "--duration", "100ms"],
    ] {
        let output = case.hugewise().args(words).assert().success();
        let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{words:?}");
    }
}

#[test]
fn stat_ends_a_command_with_the_signal_that_ends_it() {
    let case = Case::new();
    let mut command = case.plain();
    command.args(["stat", "--", "sleep", "33.5"]);
    let mut child = command.stdout(Stdio::null()).spawn().expect("hugewise");
    harness::wait_until("the command", || harness::processes_with("33.5") == 1);
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("kill").success());
    let status = child.wait().expect("an end");
    assert_eq!(status.code(), Some(130));
    harness::wait_until("no command", || harness::processes_with("33.5") == 0);
}

/// Whether commands can be traced here; says so where not.
fn tracer(name: &str) -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if !found {
        skip(name, "there is no valgrind");
    }
    found
}

/// The simulated run of a command on a Skylake.
fn simulated(words: &[&str]) -> Value {
    let case = Case::new();
    let lead = ["stat", "--simulate", "--cpu", "skylake", "--format", "json"];
    let output = case.hugewise().args(lead).args(words).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("a document")
}

/// Data misses of the first level and walks, by page size, that rounds of `stride` add.
fn added(pages: u64, step: u64, rounds: u64) -> Vec<(u64, u64, u64)> {
    let lab = lab();
    let of = |rounds: u64| {
        let [pages, step, rounds] = [pages, step, rounds].map(|number| number.to_string());
        let program = lab.to_str().expect("a path");
        let options = ["--pages", &pages, "--step", &step, "--rounds", &rounds];
        let words = [&["--", program, "stride"], &options[..]].concat();
        let columns = simulated(&words)["columns"].clone();
        columns.as_array().expect("columns").clone()
    };
    let number = |column: &Value, name: &str| column["data"][name].as_u64().expect("a number");
    let (few, many) = (of(1), of(1 + rounds));
    few.iter()
        .zip(&many)
        .map(|(few, many)| {
            let more = |name| number(many, name) - number(few, name);
            let size = many["page_bytes"].as_u64().expect("a size");
            (size, more("first_level_misses"), more("walks"))
        })
        .collect()
}

/// What Skylake's 64 entries (4 ways) and 1536 (12 ways) do with rounds over N pages. Each round
/// may touch the stack and the program besides, four pages of them at most.
#[test]
fn simulated_rounds_over_pages_miss_as_the_geometry_says() {
    if !tracer("simulated_rounds_over_pages_miss_as_the_geometry_says") {
        return;
    }
    let rounds = 4;
    let about = |seen: u64, pages: u64, what: &str| {
        let least = rounds * pages;
        assert!(
            (least..=least + 4 * rounds).contains(&seen),
            "{what}: {seen} against {least}"
        );
    };
    // Found in the second level.
    let within = added(512, 1, rounds);
    assert_eq!(within[0].0, 4096);
    about(within[0].1, 512, "first level, 512 pages");
    about(within[0].2, 0, "walks, 512 pages");
    // In neither: each set of 12 gets 16 pages.
    let beyond = added(2048, 1, rounds);
    about(beyond[0].1, 2048, "first level, 2048 pages");
    about(beyond[0].2, 2048, "walks, 2048 pages");
    let (size, _, walks) = beyond[beyond.len() - 1];
    assert_eq!(size, 2 << 20);
    about(walks, 0, "walks of four huge pages");
    // A stride of the 128 sets: 13 pages are one too many for 12 ways, 12 are not.
    about(
        added(13, 128, rounds)[0].2,
        13,
        "walks of one set, overfull",
    );
    about(added(12, 128, rounds)[0].2, 0, "walks of one set, full");
}

/// A cyclic pass over four times what the second level holds walks at every page, and all those
/// walks are in the one mapping that is passed over.
#[test]
fn a_simulation_says_whose_walks_they_are() {
    const NAME: &str = "a_simulation_says_whose_walks_they_are";
    if !tracer(NAME) {
        return;
    }
    let lab = lab();
    let lab = lab.to_str().expect("a path");
    let words = ["--", lab, "stride", "--pages", "8192", "--rounds", "3"];
    let seen = simulated(&words);
    let rows = seen["mappings"].as_array().expect("mappings");
    let walks = |row: &Value| row["walks"][0].as_u64().expect("walks");
    let most = &rows[0];
    assert_eq!(walks(most) / 8192, 3, "{most}");
    assert!(walks(most) % 8192 < 100, "{most}");
    let name = most["name"].as_str().expect("a name");
    assert!(name.starts_with("anonymous 32 MiB"), "{name}");
    let total: u64 = rows.iter().map(walks).sum();
    let column = &seen["columns"][0];
    let counted = |stream: &str| column[stream]["walks"].as_u64().expect("walks");
    assert_eq!(total, counted("data") + counted("code"));
    let unknown = rows
        .iter()
        .find(|row| row["name"] == "not known")
        .map_or(0, walks);
    assert!(unknown * 100 < total, "{unknown} of {total}");
}

/// Sixteen huge pages, one byte written to each: they are huge under the tracer too.
#[test]
fn a_simulation_sees_the_pages_that_the_kernel_gave() {
    const NAME: &str = "a_simulation_sees_the_pages_that_the_kernel_gave";
    let enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
    let modes = std::fs::read_to_string(enabled).unwrap_or_default();
    if modes.is_empty() || modes.contains("[never]") {
        return skip(NAME, "huge pages are not given here");
    }
    if !tracer(NAME) {
        return;
    }
    let lab = lab();
    let lab = lab.to_str().expect("a path");
    let seen = simulated(&["--", lab, "sparse", "--huge-pages", "16"]);
    let pages = &seen["as_mapped"];
    if !pages["missing"].is_null() {
        return skip(NAME, &pages["missing"].to_string());
    }
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(number(&pages["huge_ranges"]), 16, "{pages}");
    assert!(number(&pages["ranges"]) > 16, "{pages}");
    let accesses = |stream: &str| number(&pages["streams"][stream]["accesses"]);
    assert_eq!(accesses("code"), number(&seen["accesses"]["fetches"]));
    let data = &seen["accesses"];
    let both = number(&data["loads"]) + number(&data["stores"]);
    assert_eq!(accesses("data"), both);
}

#[test]
fn a_simulation_is_cut_where_it_was_told_and_says_so() {
    if !tracer("a_simulation_is_cut_where_it_was_told_and_says_so") {
        return;
    }
    let seen = simulated(&["--max-accesses", "10000", "--", "sleep", "60"]);
    let accesses = |name: &str| seen["accesses"][name].as_u64().expect("a number");
    assert_eq!(
        accesses("fetches") + accesses("loads") + accesses("stores"),
        10_000
    );
    assert_eq!(seen["format"], "hugewise-simulation 1");
    assert_eq!(seen["cut"], "at_most");
    assert!(seen["outcome"].is_null());
}

#[test]
fn simulations_that_cannot_be_are_refused_with_the_way_out() {
    let case = Case::new();
    let refused = |words: &[&str], code: i32, said: &str| {
        let result = case.hugewise().args(words).assert();
        result.code(code).stderr(contains(said));
    };
    refused(&["stat", "--simulate"], 2, "--simulate -- COMMAND");
    let unknown = ["stat", "--simulate", "--cpu", "z80", "--", "true"];
    refused(&unknown, 2, "skylake");
    refused(&["stat", "--cpu", "skylake", "--", "true"], 2, "--simulate");
    let mut bare = case.hugewise();
    bare.env("PATH", "/nowhere");
    bare.args(["stat", "--simulate", "--", "/bin/true"]);
    bare.assert()
        .code(4)
        .stderr(contains("apt install valgrind"));
}

/// A recording of misses, made by hand; crates/model/tests/misses.rs knows what is in it.
fn recorded_misses() -> String {
    let sources = env!("CARGO_MANIFEST_DIR");
    format!("{sources}/../../fixtures/misses/server.jsonl")
}

/// Either addresses can be sampled here, or the reason is the result, nothing is run for it, and
/// every form says the same.
#[test]
fn stat_where_tells_or_says_why_it_cannot() {
    let case = Case::new();
    let mark = case.path("ran");
    let touch = ["--", "touch", mark.to_str().expect("a path")];
    let run = |words: &[&str]| {
        let words = [&["stat", "--where"], words, &touch].concat();
        let output = case.hugewise().args(words).output().expect("hugewise");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    };
    let (code, json) = run(&["--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    if json["missing"].is_null() {
        assert_eq!((code, mark.exists()), (Some(0), true), "{json}");
        assert_eq!(json["conditions"]["subject"], touch[1..].join(" "));
        return;
    }
    assert_eq!((code, mark.exists()), (Some(4), false), "{json}");
    assert!(!json["helps"].as_array().expect("helps").is_empty());
    let (code, text) = run(&[]);
    assert_eq!(code, Some(4));
    assert!(
        text.starts_with("Cannot tell where misses come from"),
        "{text}"
    );
    assert!(text.contains("stat --simulate"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let (_, csv) = run(&["--format", "csv"]);
    assert_eq!(csv.lines().count(), 2, "{csv}");
}

#[test]
fn stat_where_draws_a_recording() {
    let case = Case::new();
    let file = recorded_misses();
    let text =
        std::fs::read_to_string(file.replace("misses/server.jsonl", "golden/where-server.txt"));
    case.hugewise()
        .args(["stat", "--replay", &file])
        .env("COLUMNS", "80")
        .assert()
        .success()
        .stdout(text.expect("a golden file"));
    let whole = std::fs::read_to_string(&file).expect("a recording");
    let torn = case.path("torn.jsonl");
    let last = whole.trim_end().rfind('\n').expect("lines");
    std::fs::write(&torn, &whole[..=last]).expect("a file");
    let words = ["stat", "--replay", torn.to_str().expect("a path")];
    let assert = case.hugewise().args(words).assert();
    assert.code(2).stderr(contains("cut short"));
    let wrong = whole.replacen(
        "\"page_bytes\":4096,\"refill",
        "\"page_bytes\":-1,\"refill",
        1,
    );
    std::fs::write(&torn, wrong).expect("a file");
    let assert = case.hugewise().args(words).assert();
    assert
        .code(2)
        .stderr(contains("line 1").and(contains("column")));
}

#[test]
fn stat_where_names_what_was_typed_wrong() {
    for (words, said) in [
        (
            &["--where", "-p", "4294967294"][..],
            "there is no such process",
        ),
        (&["--where", "--", "no-such-program"], "no-such-program"),
        (
            &["--where", "--simulate", "--", "true"],
            "cannot be used with",
        ),
        (&["--out", "x", "--", "true"], "--where"),
        (&["--where", "--every", "0", "--", "true"], "--every"),
    ] {
        let assert = Case::new().hugewise().arg("stat").args(words).assert();
        assert.code(2).stderr(contains(said));
    }
}
