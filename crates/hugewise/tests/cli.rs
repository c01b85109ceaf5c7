//! The command line as users see it: flags and refusals here, the rest in the folders.

mod advise;
mod attribute;
mod benches;
mod containers;
mod exec;
mod export;
mod faults;
mod fleet;
mod harness;
mod host_memory;
mod hostile;
mod interrupted;
mod planted;
mod records;
mod refused;
mod requests;
mod service;
mod tracing;
mod trials;
mod watch;

use std::fs;
use std::path::Path;

use std::os::unix::fs::MetadataExt;

use harness::{Case, NOBODY, is_root, lab, one_at_a_time, readings, skip};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

#[test]
fn without_arguments_the_verbs_are_shown_on_one_screen() {
    let shown = Case::new().hugewise().assert();
    let shown = shown
        .code(2)
        .stderr(contains("run").and(contains("doctor")));
    let text = String::from_utf8_lossy(&shown.get_output().stderr).into_owned();
    assert!(text.lines().count() <= 24, "{text}");
}

#[test]
fn the_help_of_run_says_first_what_is_run() {
    let help = Case::new()
        .hugewise()
        .args(["run", "-h"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    let place = |word: &str| text.find(word).expect(word);
    assert!(place("\nArguments:") < place("\nWhat to try:"), "{text}");
    assert!(place("\nWhat to judge:") < place("\nOutput:"), "{text}");
}

#[test]
fn every_verb_has_its_manual_page() {
    for verb in [
        "run",
        "report",
        "bench",
        "trace",
        "attribute",
        "collapse",
        "inspect",
        "faults",
        "stat",
        "misses",
        "simulate",
        "exec",
        "fleet",
        "fleet agent",
        "advise",
        "doctor",
        "man",
        "completions",
        "bench-memory",
        "bench memory",
    ] {
        let name = verb.replace(' ', "-");
        Case::new()
            .hugewise()
            .args(["man", verb])
            .assert()
            .success()
            .stdout(contains(format!(".TH hugewise-{name} 1")).and(contains("\nExamples:\n  # ")));
    }
    Case::new()
        .hugewise()
        .args(["man", "bnch"])
        .assert()
        .code(2)
        .stderr(contains("did you mean `bench`?"));
}

#[test]
fn a_tip_names_a_flag_that_there_is() {
    let said = |words: &[&str]| {
        let shown = Case::new().hugewise().args(words).assert().code(2);
        String::from_utf8_lossy(&shown.get_output().stderr).into_owned()
    };
    let unknown = said(&["run", "--foo", "5", "--", "ls"]);
    assert!(
        unknown.contains("unexpected argument '--foo' found"),
        "{unknown}"
    );
    assert!(!unknown.contains("tip:"), "{unknown}");
    let part = said(&["run", "--cpu", "2", "ls"]);
    assert!(part.contains("'--service-cpus', '--load-cpus'"), "{part}");
    let slip = said(&["run", "--polcy", "thp=always", "--", "ls"]);
    assert!(
        slip.contains("'--policy'") && !slip.contains("-- --polcy"),
        "{slip}"
    );
    let key = said(&["run", "--policy", "thp", "--", "ls"]);
    assert!(
        key.contains("write thp=never|madvise|always|inherit"),
        "{key}"
    );
}

#[test]
fn all_pages_are_written_for_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let man = |folder: &Path| {
        let words = ["man".as_ref(), "--all".as_ref(), folder.as_os_str()];
        Case::new().hugewise().args(words).assert()
    };
    man(folder.path()).success();
    for page in ["hugewise", "hugewise-run", "hugewise-bench-memory"] {
        let text = fs::read_to_string(folder.path().join(format!("{page}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {page} 1")), "{text}");
    }
    let missing = folder.path().join("missing");
    man(&missing).failure().stderr(contains("/missing: "));
}

#[test]
fn the_version_names_commit_and_target() {
    let version = concat!("hugewise ", env!("CARGO_PKG_VERSION"), " (commit ");
    let target = format!(", {}-", std::env::consts::ARCH);
    let said = Case::new().hugewise().arg("--version").assert().success();
    said.stdout(starts_with(version).and(contains(target)));
}

#[test]
fn a_manual_page_keeps_the_lines_of_its_notes_and_the_text_of_every_flag() {
    let page = Case::new().hugewise().args(["man", "run"]).assert();
    let page = String::from_utf8_lossy(&page.get_output().stdout).into_owned();
    assert!(page.contains("\nRun at most N rounds"), "{page}");
    assert!(page.contains("\nSeed of the order of trials"), "{page}");
    let program = Case::new().hugewise().arg("man").assert();
    let program = String::from_utf8_lossy(&program.get_output().stdout).into_owned();
    assert!(program.contains("\nExit codes:  0 done"), "{program}");
}

#[test]
fn help_of_a_verb_is_a_verb_too() {
    Case::new()
        .hugewise()
        .args(["help", "inspect"])
        .assert()
        .success()
        .stdout(contains("--explain").and(contains("Examples:")));
    Case::new()
        .hugewise()
        .args(["completions", "bash"])
        .assert()
        .success()
        .stdout(contains("misses"));
}

#[test]
fn wrong_flags_and_policies_name_the_fix() {
    // Some mistakes show only while the machine is held.
    let _turn = one_at_a_time();
    let cases: &[(&[&str], &str)] = &[
        (&["run", "--polcy", "thp=never", "--", "true"], "--policy"),
        (&["run", "--policy", "thp=alway", "--", "true"], "always"),
        (&["run", "--policy", "tph=always", "--", "true"], "thp"),
        (&["run"], "hugewise run -- COMMAND"),
        (
            &["run", "--", "no-such-program-anywhere"],
            "no-such-program-anywhere",
        ),
        (&["run", "--max-rounds", "0", "--", "true"], "at least 1"),
        (
            &["run", "--baseline", "x", "--policy", "as-is", "--", "true"],
            "as-is",
        ),
        (
            &["run", "--fail-if", "wall_second > 2%", "--", "true"],
            "wall_seconds",
        ),
        (&["run", "--metric", "x=abc", "--", "true"], "parentheses"),
        (&["run", "no-such-file.toml"], "no-such-file.toml"),
        (
            &["report", "no-such-record.jsonl"],
            "records without --out lie in /",
        ),
        (&["run", "--shell", "--", "echo", "a"], "quotes"),
        (&["exec", "--policy", "thp=sometimes", "--", "true"], "thp"),
        (&["run", "--timeout", "0", "--", "true"], "leave it out"),
        (
            &["run", "--stdin", "no/such", "--", "true"],
            "--stdin no/such",
        ),
        (
            &["run", "--directory", "no/such", "--", "true"],
            "--directory no/such",
        ),
        (
            &["run", "--json", "no/such", "--", "true"],
            "--json no/such",
        ),
        (&["run", "--out", "no/such", "--", "true"], "--out"),
        (&["run", "--", "/etc"], "folder"),
        (&["run", "--", "/etc/passwd"], "chmod +x"),
        (&["run", "--", ""], "empty"),
        (&["run", "--shell", "--", ""], "empty"),
        (&["run", "an.toml", "true"], "experiment file"),
    ];
    for (arguments, fix) in cases {
        Case::new()
            .hugewise()
            .args(*arguments)
            .assert()
            .code(2)
            .stderr(contains(*fix));
    }
}

#[test]
fn a_name_that_is_not_known_is_told_so() {
    let cases: &[(&[&str], &str)] = &[
        (&["rnu"], "'run'"),
        (&["bench", "memry"], "'memory'"),
        (&["man", "bench", "memry"], "`bench-memory`"),
        (
            &["run", "--policy", "zzz", "--", "true"],
            "such as thp=always",
        ),
        (
            &["stat", "-p", "no-such-program"],
            "no process has that name",
        ),
        (&["collapse", "no-such-program"], "no process has that name"),
        (
            &["inspect", "-p", "no-such-program"],
            "no process has that name",
        ),
        (&["stat", "--cgroup", "no-such"], "no such cgroup"),
        (&["inspect", "--cgroup", "no-such"], "no such cgroup"),
    ];
    for (arguments, fix) in cases {
        let assert = Case::new().hugewise().args(*arguments).assert();
        assert.code(2).stderr(contains(*fix));
    }
}

/// Newcomers often type a PID instead of a command or a point.
#[test]
fn a_process_is_told_from_a_program() {
    let own = std::process::id().to_string();
    let hint = format!("write: -p {own}");
    for verb in ["stat", "faults", "misses", "trace"] {
        let case = Case::new();
        let assert = case.hugewise().args([verb, &own]).assert();
        assert.code(2).stderr(contains(&hint));
    }
}

/// All verbs use the same wording.
#[test]
fn a_process_that_is_gone_is_named_alike() {
    for verb in ["inspect", "stat", "faults", "misses", "trace", "collapse"] {
        let case = Case::new();
        let assert = case.hugewise().args([verb, "-p", "4194304"]).assert();
        assert
            .code(2)
            .stderr("hugewise: there is no process 4194304\n");
    }
}

#[test]
fn contradictions_are_refused_before_anything_runs() {
    let case = Case::new();
    let marker = case.path("ran");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "thp=never,mthp=64k:always",
            "--shell",
            "--",
        ])
        .arg(format!("touch {}", marker.display()))
        .assert()
        .code(4)
        .stderr(contains("nothing was run"));
    assert!(!marker.exists(), "the workload ran");
}

#[test]
fn a_setting_of_the_machine_needs_system() {
    let case = Case::new();
    case.hugewise()
        .args([
            "run",
            "--policy",
            "khugepaged.scan_sleep_millisecs=123",
            "--",
            "true",
        ])
        .assert()
        .code(4)
        .stderr(contains("--system"));
}

#[test]
fn who_may_write_no_setting_is_told_so_before_anything_runs() {
    if !is_root() {
        return skip(
            "who_may_write_no_setting…",
            "needs root, to be another user",
        );
    }
    let case = Case::new();
    let mut asked = case.hugewise_as_nobody();
    let asked = asked.args(["run", "--system", "--max-rounds", "1", "--", "true"]);
    let refused = asked.assert().code(4).stdout("");
    refused.stderr(contains("run it with sudo, or leave --system out"));
}

#[test]
fn who_only_looks_for_records_leaves_no_folder() {
    if !is_root() {
        return skip("who_only_looks…", "needs root, to be a user without a home");
    }
    let case = Case::new();
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/records/python-dict.jsonl"
    );
    let copy = case.path("record.jsonl");
    fs::copy(record, &copy).expect("a record");
    let folder = case.path(&format!("hugewise-user-{NOBODY}"));
    let without_home = |words: &[&str]| {
        let mut command = case.hugewise_as_nobody();
        command
            .env_remove("XDG_STATE_HOME")
            .env("HOME", "/nonexistent");
        command
            .env("TMPDIR", folder.parent().expect("a folder"))
            .args(words);
        command.assert().success()
    };
    without_home(&["history"]);
    without_home(&["report", copy.to_str().expect("a path")]);
    assert!(!folder.exists(), "{}", folder.display());
    let _turn = one_at_a_time();
    let run = [
        "run",
        "--wait",
        "60s",
        "--max-rounds",
        "1",
        "--policy",
        "as-is",
    ];
    let ran = without_home(&[&run[..], &["--", "true"]].concat());
    let place = folder.display();
    ran.stdout(contains(format!("hugewise report -v {place}/hugewise/")))
        .stderr(contains("--out FILE").and(contains(format!("the record is {place}/"))));
    let mode = folder.metadata().expect("a folder for the record").mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_bench_that_cannot_be_is_refused_with_what_could() {
    let cases: &[(&[&str], &str)] = &[
        (&["memory", "--ops", "swap"], "copy, fill, read"),
        (&["memory", "--ops", "copy", "--kernels", "mmx"], "libc"),
        (&["memory", "--sizes", "4096T"], "would fit"),
        (&["memory", "--sizes", "60"], "multiple of 8"),
        (&["memory", "--pages", "3k"], "there are"),
        (
            &["memory", "--ops", "fill", "--source", "untouched"],
            "copy",
        ),
        (&["memory", "--sizes", "64K", "--svg", "x.svg"], "two sizes"),
        (&["latency", "--sizes", "1K"], "at least 4 KiB"),
        (&["latency", "--sizes", "4097"], "multiple of 256"),
        (&["latency", "--to", "4096T"], "would fit"),
        (&["latency", "--to", "2K"], "at least 4 KiB"),
        (
            &["latency", "--to", "1M", "--sizes", "4K"],
            "cannot be used with",
        ),
        (&["prefault", "--methods", "pray"], "populate-write"),
        (&["prefault", "--sizes", "5K"], "multiples of"),
        (&["memory", "--ops", "fill", "--source", "zeroed"], "zeroed"),
        (&["fork", "--sizes", "0"], "--sizes 0"),
        (&["heap", "--heap", "0"], "--heap 0"),
        (&["growth", "--steps", "3M", "--heap", "2M"], "--heap 6M"),
    ];
    for (arguments, fix) in cases {
        let case = Case::new();
        let out = case.path("record.jsonl");
        case.hugewise()
            .arg("bench")
            .args(*arguments)
            .arg("--out")
            .arg(&out)
            .assert()
            .code(2)
            .stderr(contains(*fix));
        assert!(!out.exists(), "{arguments:?}");
    }
}

/// The actual pages are the oracle: the kernel must report what the policy names.
#[test]
fn a_bench_measures_cells_and_proves_their_pages() {
    let _turn = one_at_a_time();
    assert!(lab().exists());
    let case = Case::new();
    let (out, json) = (case.path("record.jsonl"), case.path("report.json"));
    case.hugewise()
        .args(["bench", "memory", "--sizes", "64K", "--ops", "copy"])
        .args(["--pages", "4k", "--max-rounds", "2", "-v", "--out"])
        .arg(&out)
        .arg("--json")
        .arg(&json)
        .assert()
        .success()
        .stdout(contains("GB/s").and(contains("base pages in every cell")));
    let text = fs::read(&json).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let cell = |metric: &str| {
        readings(
            &report,
            "4k",
            &format!("bench/copy/libc/65536/written/1/{metric}"),
        )
    };
    assert_eq!(cell("source_small_bytes"), [65_536.0, 65_536.0]);
    assert!(cell("rate_bytes_per_second").iter().all(|&rate| rate > 1e6));
    case.hugewise()
        .args(["report", "-v"])
        .arg(&out)
        .assert()
        .success()
        .stdout(contains("base pages in every cell"));
}

/// The processor's own data are in the record, and the curves can be drawn from it again.
#[test]
fn a_bench_of_latency_is_a_curve() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (out, json) = (case.path("record.jsonl"), case.path("report.json"));
    let (first, second) = (case.path("first.svg"), case.path("second.svg"));
    case.hugewise()
        .args(["bench", "latency", "--to", "16K", "--pages", "4k"])
        .args(["--max-rounds", "2", "-v", "--out"])
        .arg(&out)
        .arg("--json")
        .arg(&json)
        .arg("--svg")
        .arg(&first)
        .assert()
        .success()
        .stdout(contains("16 KiB").and(contains("Levels, 4k: too few rounds")));
    let text = fs::read(&json).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    for bytes in [4096, 5120, 16_384] {
        let of = |metric: &str| readings(&report, "4k", &format!("bench/{bytes}/{metric}"));
        let latency = of("latency_seconds");
        assert!(latency.len() == 2 && latency.iter().all(|&it| it > 1e-11 && it < 1e-3));
        assert!(
            of("lines_small_bytes")
                .iter()
                .all(|&it| it >= f64::from(bytes))
        );
    }
    assert!(report["plan"]["bench"]["processor"].is_object(), "{report}");
    case.hugewise()
        .arg("report")
        .arg(&out)
        .arg("--svg")
        .arg(&second)
        .assert()
        .success();
    let [first, second] = [first, second].map(|path| fs::read_to_string(path).expect("svg"));
    assert_eq!(first, second);
    // Nine sizes, and the mark in the legend.
    assert_eq!(first.matches("<circle").count(), 10);
}

#[test]
fn a_bench_of_prefaulting_counts_every_fault() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args([
            "bench",
            "prefault",
            "--sizes",
            "8M",
            "--methods",
            "load,store",
        ])
        .args(["--pages", "4k", "--max-rounds", "1", "--json"])
        .arg(&json)
        .assert()
        .success();
    let text = fs::read(&json).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let page = report["host"]["page_bytes"].as_f64();
    let pages = (8 << 20) as f64 / page.unwrap_or(4096.0);
    for (method, later) in [("load", pages), ("store", 0.0)] {
        let name = format!("bench/{method}/8388608/1/later_faults_total");
        assert_eq!(readings(&report, "4k", &name), [later], "{method}");
    }
}
