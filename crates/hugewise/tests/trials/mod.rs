//! How `run` handles a workload: oracles, hooks, metrics, and misbehaving workloads.

mod arguments;
mod clashes;
mod code;
mod collapsed;
mod conduct;
mod files;
mod gaps;
mod own_acts;
mod own_tmpfs;
mod preloaded;
mod programs;
mod starts;
mod traced;
mod treatments;

use predicates::prelude::*;

use crate::harness::report::{answer, call_of, choice, doubt};
use crate::harness::{self, Case, is_root, lab, one_at_a_time, readings, skip};

#[test]
fn the_oracle_is_exact() {
    let _turn = one_at_a_time();
    let case = Case::new();
    case.oracle(case.hugewise());
}

#[test]
fn the_oracle_is_exact_for_an_ordinary_user() {
    if !is_root() {
        return skip(
            "the_oracle_is_exact_for_an_ordinary_user",
            "needs root to become somebody else",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    case.oracle(case.hugewise_as_nobody());
}

#[test]
fn a_failing_workload_is_a_row_and_exit_3() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--policy", "thp=never"])
        .args(["--max-rounds", "2"])
        .arg("--json")
        .arg(&json)
        .args(["--shell", "--", "echo the reason >&2; exit 7"])
        .assert()
        .code(3);
    let report = case.json(&json);
    let trial = &report["trials"][0];
    assert_eq!(trial["outcome"]["code"], 7, "{trial}");
    assert_eq!(answer(&report)["word"], "failed");
    let failed = doubt(&report, "failed_trials");
    assert_eq!(failed["said"], "the reason", "{failed}");
}

#[test]
fn a_timeout_kills_the_tree() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1"])
        .args(["--warmup", "0", "--json"])
        .arg(&json)
        .args(["--timeout", "300ms", "--shell", "--"])
        .args(["sleep 4321 & sleep 4321; wait"])
        .assert()
        .code(3);
    let trial = &case.json(&json)["trials"][0];
    assert_eq!(trial["outcome"]["how"], "timed_out", "{trial}");
    assert_eq!(harness::processes_with("4321"), 0, "a sleep is left");
}

#[test]
fn what_trials_print_can_be_kept() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "2"])
        .args(["--output", "keep", "--out"])
        .arg(&record)
        .args(["--shell", "--", "echo out; echo err >&2"])
        .assert()
        .success();
    for trial in ["0000", "0001"] {
        let read = |end: &str| {
            std::fs::read_to_string(case.path("run.output").join(format!("{trial}.{end}")))
        };
        assert_eq!(read("stdout").expect("kept"), "out\n");
        assert_eq!(read("stderr").expect("kept"), "err\n");
    }
}

#[test]
fn hooks_run_in_their_order() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let log = case.path("log");
    let say = |word: &str| format!("echo {word} >> {}", log.display());
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "2"])
        .args(["--warmup", "0", "--shell"])
        .args(["--setup", &say("setup"), "--prepare", &say("prepare")])
        .args([
            "--conclude",
            &say("conclude"),
            "--cleanup",
            &say("cleanup"),
            "--",
        ])
        .arg(say("trial"))
        .assert()
        .success();
    let order = std::fs::read_to_string(&log).expect("the log");
    let trial = "prepare\ntrial\nconclude\n";
    assert_eq!(order, format!("setup\n{trial}{trial}cleanup\n"));
}

#[test]
fn printed_metrics_are_read_and_judged() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--policy", "as-is"])
        .args(["--policy", "fast:env.SPEED=200", "--max-rounds", "8"])
        .args([
            "--metric",
            "speed:1/s:higher=speed ([0-9.]+)",
            "--verdict-metric",
            "speed",
        ])
        .arg("--json")
        .arg(&json)
        .args(["--shell", "--", "echo speed ${SPEED:-100}"])
        .assert()
        .success();
    let report = case.json(&json);
    assert_eq!(call_of(&report, "fast"), "better");
    assert_eq!(choice(&report), Some("fast"));
}

#[test]
fn a_gate_closes_with_5_and_stays_open_otherwise() {
    let _turn = one_at_a_time();
    for (slow, code) in [("1", 0), ("2", 5)] {
        Case::new()
            .hugewise()
            .args(["run", "--policy", "as-is", "--policy"])
            .arg(format!("other:env.COST={slow}"))
            .args([
                "--max-rounds",
                "8",
                "--metric",
                "cost::lower=cost ([0-9.]+)",
            ])
            .args(["--fail-if", "cost > +2%", "--shell", "--"])
            .args(["echo cost ${COST:-1}"])
            .assert()
            .code(code);
    }
}

#[test]
fn pages_that_cannot_be_huge_get_no_effect() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--policy", "thp=never"])
        .args(["--max-rounds", "8", "--json"])
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(["small", "--mappings", "20"])
        .assert()
        .success();
    let report = case.json(&json);
    assert_eq!(call_of(&report, "thp=never"), "same_pages");
    assert_eq!(answer(&report)["word"], "same_pages");
}

#[test]
fn words_that_are_no_text_are_handed_on_as_they_are() {
    use std::os::unix::ffi::OsStrExt;
    let _turn = one_at_a_time();
    let case = Case::new();
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1", "--shell"])
        .args(["--warmup", "0", "--"])
        .arg(std::ffi::OsStr::from_bytes(b"printf 'a\xff' > odd"))
        .assert()
        .success();
    assert_eq!(std::fs::read(case.path("odd")).expect("odd"), b"a\xff");
}

#[test]
fn odd_workloads_end_as_they_end() {
    let _turn = one_at_a_time();
    let cases = [
        ("kill -SEGV $$", "signalled"),
        ("kill -STOP $$", "timed_out"),
        ("trap '' TERM INT; while :; do sleep 1; done", "timed_out"),
        ("for i in $(seq 200); do sleep 0.01 & done; wait", "exited"),
        ("yes | head -c 5000000 >&2", "exited"),
        ("exec 0<&- 1>&- 2>&-; true", "exited"),
        ("strace -o /dev/null true || true", "exited"),
    ];
    for (line, how) in cases {
        let case = Case::new();
        let json = case.path("report.json");
        let run = case
            .hugewise()
            .args(["run", "--policy", "as-is", "--max-rounds", "1"])
            .args(["--warmup", "0", "--timeout", "2s", "--json"])
            .arg(&json)
            .args(["--shell", "--", line])
            .assert();
        let code = if how == "exited" { 0 } else { 3 };
        run.code(code);
        let report = case.json(&json);
        assert_eq!(report["trials"][0]["outcome"]["how"], how, "{line}");
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let _turn = one_at_a_time();
    let order = || {
        let case = Case::new();
        let json = case.path("report.json");
        case.hugewise()
            .args(["run", "--seed", "5", "--policy", "as-is", "--policy"])
            .args(["a:env.X=1", "--policy", "b:env.X=2", "--max-rounds", "4"])
            .args(["--warmup", "0", "--json"])
            .arg(&json)
            .args(["--", "true"])
            .assert()
            .success();
        let report = case.json(&json);
        let trials = report["trials"].as_array().expect("trials");
        let policies = trials.iter().map(|trial| trial["policy"].to_string());
        policies.collect::<Vec<_>>()
    };
    assert_eq!(order(), order());
}

#[test]
fn folios_of_an_asked_size_are_counted_exactly() {
    const FOLIO: f64 = 65_536.0;
    let setting = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
    if !is_root() || !std::path::Path::new(setting).exists() {
        return skip("folios_of_an_asked_size…", "needs root and 64 KiB folios");
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--system", "--policy", "folios:mthp=64k:always"])
        .args(["--max-rounds", "2", "--warmup", "0", "--json"])
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(["touch", "--pages", "4096"])
        .assert()
        .success();
    assert_eq!(harness::settings(), before);
    let report = case.json(&json);
    let at_exit = readings(&report, "folios", "mthp_64kib_exit_bytes");
    let peaks = readings(&report, "folios", "mthp_64kib_peak_bytes");
    let touched = 4096.0 * report["host"]["page_bytes"].as_f64().expect("a page");
    // Three runs in the first round, two in the second.
    assert_eq!((at_exit.len(), peaks.len()), (5, 5));
    for (at_exit, peak) in at_exit.into_iter().zip(peaks) {
        // A folio or two may belong to the program's own heap and stack.
        let own = (at_exit - touched) / FOLIO;
        assert!((0.0..=4.0).contains(&own), "{at_exit} of {touched}");
        assert!(peak >= at_exit, "{peak} is less than {at_exit}");
    }
}

#[test]
fn under_sudo_all_belongs_to_the_invoking_user() {
    use std::os::unix::fs::MetadataExt;
    if !is_root() {
        return skip("under_sudo…", "needs root to become somebody else");
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    case.hugewise()
        .env("SUDO_UID", "65534")
        .args(["run", "--policy", "as-is", "--max-rounds", "1"])
        .args(["--shell", "--", "id -u > who"])
        .assert()
        .success();
    let who = std::fs::read_to_string(case.path("who")).expect("who");
    assert_eq!(who.trim(), "65534");
    let records = std::fs::read_dir(case.path("state/hugewise")).expect("records");
    for record in records {
        let owner = record.expect("a record").metadata().expect("its owner");
        assert_eq!(owner.uid(), 65_534);
    }
    for folder in ["state", "state/hugewise"] {
        let folder = std::fs::metadata(case.path(folder)).expect("a folder");
        assert_eq!(folder.uid(), 65_534);
    }
}

/// If a command fails without the hold as well, the hold is not blamed.
#[test]
fn a_command_that_fails_anyway_is_not_spared_the_hold() {
    let _turn = one_at_a_time();
    let case = Case::new();
    for hold in [&[][..], &["--exit-hold", "on"], &["--exit-hold", "off"]] {
        case.hugewise()
            .args(["run", "--policy", "as-is", "--max-rounds", "1"])
            .args(hold)
            .args(["--shell", "--"])
            .arg("echo 'does not work under ptrace' >&2; exit 23")
            .assert()
            .code(3)
            .stderr(predicate::str::contains("--exit-hold").not());
    }
}
