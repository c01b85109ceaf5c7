//! The program as its users meet it: flags, exit codes, oracles, signals and kills.

mod faults;
mod harness;
mod requests;
mod service;
mod tracing;

use std::time::Duration;

use harness::{Case, is_root, lab, one_at_a_time, readings, skip};
use predicates::prelude::*;
use predicates::str::contains;

// ---- what the user typed ----------------------------------------------------------------------

#[test]
fn without_arguments_the_verbs_are_shown() {
    Case::new()
        .hugewise()
        .assert()
        .code(2)
        .stderr(contains("run").and(contains("doctor")));
}

#[test]
fn short_help_fits_a_screen() {
    let help = Case::new().hugewise().arg("-h").assert().success();
    let text = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    assert!(text.lines().count() <= 40, "{text}");
}

#[test]
fn the_help_of_run_fits_two_screens_and_says_first_what_is_run() {
    let help = Case::new()
        .hugewise()
        .args(["run", "-h"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    assert!(text.lines().count() <= 60, "{text}");
    let place = |word: &str| text.find(word).expect(word);
    assert!(place("\nArguments:") < place("\nWhat to try:"), "{text}");
    assert!(place("\nWhat to judge:") < place("\nOutput:"), "{text}");
}

#[test]
fn every_verb_has_its_manual_page() {
    for verb in [
        "run", "report", "bench", "trace", "collapse", "inspect", "faults", "stat", "exec",
        "doctor",
    ] {
        Case::new()
            .hugewise()
            .args(["man", verb])
            .assert()
            .success()
            .stdout(contains(format!(".TH hugewise-{verb} 1")));
    }
}

#[test]
fn wrong_flags_and_policies_name_the_fix() {
    // Some mistakes show only when the machine is held.
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
        (&["report", "no-such-record.jsonl"], "no-such-record.jsonl"),
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

/// The pages beneath are the oracle: what the policy names is what the kernel says it gave.
#[test]
fn a_bench_measures_cells_and_proves_their_pages() {
    let _turn = one_at_a_time();
    assert!(lab().exists());
    let case = Case::new();
    let (out, json) = (case.path("record.jsonl"), case.path("report.json"));
    case.hugewise()
        .args(["bench", "memory", "--sizes", "64K", "--ops", "copy"])
        .args(["--pages", "4k", "--max-rounds", "2", "--out"])
        .arg(&out)
        .arg("--json")
        .arg(&json)
        .assert()
        .success()
        .stdout(contains("GB/s").and(contains("base pages, in every cell")));
    let text = std::fs::read(&json).expect("a report");
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
        .arg("report")
        .arg(&out)
        .assert()
        .success()
        .stdout(contains("base pages, in every cell"));
}

/// What the processor says of itself is in the record, and the curves are drawn from it again.
#[test]
fn a_bench_of_latency_is_a_curve() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (out, json) = (case.path("record.jsonl"), case.path("report.json"));
    let (first, second) = (case.path("first.svg"), case.path("second.svg"));
    case.hugewise()
        .args(["bench", "latency", "--to", "16K", "--pages", "4k"])
        .args(["--max-rounds", "2", "--out"])
        .arg(&out)
        .arg("--json")
        .arg(&json)
        .arg("--svg")
        .arg(&first)
        .assert()
        .success()
        .stdout(contains("16 KiB").and(contains("Levels, 4k: not read off")));
    let text = std::fs::read(&json).expect("a report");
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
    let [first, second] = [first, second].map(|path| std::fs::read_to_string(path).expect("svg"));
    assert_eq!(first, second);
    assert_eq!(first.matches("<circle").count(), 9);
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
    let text = std::fs::read(&json).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let page = report["host"]["page_bytes"].as_f64();
    let pages = (8 << 20) as f64 / page.unwrap_or(4096.0);
    for (method, later) in [("load", pages), ("store", 0.0)] {
        let name = format!("bench/{method}/8388608/1/later_faults_total");
        assert_eq!(readings(&report, "4k", &name), [later], "{method}");
    }
}

// ---- what the workload does -------------------------------------------------------------------

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
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "thp=never",
            "--max-rounds",
            "2",
        ])
        .arg("--json")
        .arg(&json)
        .args(["--shell", "--", "echo the reason >&2; exit 7"])
        .assert()
        .code(3)
        .stdout(contains("exit status 7"))
        .stdout(contains("the reason"));
    let report = case.json(&json);
    let trial = &report["trials"][0];
    assert_eq!(trial["outcome"]["code"], 7, "{trial}");
}

#[test]
fn a_timeout_kills_the_tree() {
    let _turn = one_at_a_time();
    let case = Case::new();
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "1",
            "--warmup",
            "0",
        ])
        .args([
            "--timeout",
            "300ms",
            "--shell",
            "--",
            "sleep 4321 & sleep 4321; wait",
        ])
        .assert()
        .code(3)
        .stdout(contains("timed out"));
    assert_eq!(harness::processes_with("4321"), 0, "a sleep is left");
}

#[test]
fn what_trials_print_can_be_kept() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.hugewise()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "2",
            "--output",
            "keep",
            "--out",
        ])
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
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "2",
            "--warmup",
            "0",
            "--shell",
        ])
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
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "fast:env.SPEED=200",
            "--max-rounds",
            "8",
        ])
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
    assert_eq!(
        report["verdict"]["policies"]["fast"], "better",
        "{}",
        report["verdict"]
    );
    assert_eq!(report["verdict"]["best"], "fast");
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
            .args([
                "--fail-if",
                "cost > +2%",
                "--shell",
                "--",
                "echo cost ${COST:-1}",
            ])
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
        .args([
            "run",
            "--policy",
            "as-is",
            "--policy",
            "thp=never",
            "--max-rounds",
            "8",
            "--json",
        ])
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(["small", "--mappings", "20"])
        .assert()
        .success()
        .stdout(contains("no effect"));
    let report = case.json(&json);
    assert_eq!(
        report["verdict"]["policies"]["thp=never"], "no_effect",
        "{}",
        report["verdict"]
    );
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
    assert_eq!((at_exit.len(), peaks.len()), (2, 2));
    for (at_exit, peak) in at_exit.into_iter().zip(peaks) {
        // A folio or two may be of the program's own heap and stack.
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

// ---- the record -------------------------------------------------------------------------------

#[test]
fn a_record_cut_in_half_is_still_a_record() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.quick_run(&record);
    let bytes = std::fs::read(&record).expect("the record");
    let cut = case.path("cut.jsonl");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).expect("a shorter record");
    case.hugewise()
        .arg("report")
        .arg(&cut)
        .assert()
        .success()
        .stdout(contains("ends in the middle"));
}

#[test]
fn a_record_is_reported_in_every_form() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    case.quick_run(&record);
    for (form, sign) in [
        ("text", "minor faults"),
        ("json", "\"comparisons\""),
        ("csv", "wall_seconds"),
        ("markdown", "| "),
    ] {
        case.hugewise()
            .arg("report")
            .arg(&record)
            .args(["--format", form])
            .assert()
            .success()
            .stdout(contains(sign));
    }
}

#[test]
fn what_a_report_cannot_do_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (one, two) = (case.path("one.jsonl"), case.path("two.jsonl"));
    case.quick_run(&one);
    std::fs::copy(&one, &two).expect("a second record");
    let cases: &[(&[&str], &str)] = &[
        (&["--fail-if", "wall_second > +2%"], "wall_seconds"),
        (&["two.jsonl", "--baseline", "as-is"], "--baseline"),
        (&["two.jsonl", "--threshold", "5%"], "--threshold"),
        (
            &["two.jsonl", "--verdict-metric", "user_seconds"],
            "--verdict-metric",
        ),
    ];
    for (arguments, reason) in cases {
        case.hugewise()
            .args(["report", "one.jsonl"])
            .args(*arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(*reason));
    }
}

#[test]
fn a_leak_checker_is_told_the_way_out() {
    let _turn = one_at_a_time();
    let case = Case::new();
    for (hold, told) in [("on", true), ("off", false)] {
        case.hugewise()
            .args(["run", "--policy", "as-is", "--max-rounds", "1"])
            .args(["--exit-hold", hold, "--shell", "--"])
            .arg("echo 'does not work under ptrace' >&2; exit 23")
            .assert()
            .code(3)
            .stderr(predicate::function(|text: &str| {
                text.contains("--exit-hold off") == told
            }));
    }
}

#[test]
fn records_are_never_overwritten() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let record = case.path("run.jsonl");
    std::fs::write(&record, "precious").expect("a file");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "1", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains("--out"));
    assert_eq!(
        std::fs::read_to_string(&record).expect("the file"),
        "precious"
    );
}

#[test]
fn a_full_disk_loses_nothing_that_was_measured() {
    if !is_root() {
        return skip(
            "a_full_disk_loses_nothing_that_was_measured",
            "needs root to mount a small tmpfs",
        );
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(disk) = harness::SmallDisk::mount(&case.path("disk"), "16k") else {
        return skip(
            "a_full_disk_loses_nothing_that_was_measured",
            "tmpfs cannot be mounted here",
        );
    };
    let record = disk.path().join("run.jsonl");
    case.hugewise()
        .args(["run", "--policy", "as-is", "--max-rounds", "8", "--out"])
        .arg(&record)
        .args(["--", "true"])
        .assert()
        .code(1)
        .stdout(contains("wall time"))
        .stderr(contains("space"));
    let report = case
        .hugewise()
        .arg("report")
        .arg(&record)
        .assert()
        .success();
    drop(report);
}

// ---- signals, kills, and other experiments ------------------------------------------------------

#[test]
fn an_interrupt_reports_what_was_measured() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run",
        "--policy",
        "as-is",
        "--policy",
        "thp=never",
        "--",
        "sleep",
        "0.1237",
    ]);
    running.wait_for_rounds(2);
    running.signal("INT");
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    assert_eq!(harness::processes_with("0.1237"), 0);
}

#[test]
fn an_interrupt_still_tidies_up() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let log = case.path("log");
    let say = |word: &str| format!("sleep 0.1; echo {word} >> {}", log.display());
    let (conclude, cleanup) = (say("conclude"), say("cleanup"));
    let mut running = case.spawn(&[
        "run",
        "--policy",
        "as-is",
        "--warmup",
        "0",
        "--conclude",
        &conclude,
        "--cleanup",
        &cleanup,
        "--",
        "sleep",
        "0.2",
    ]);
    running.wait_for_rounds(1);
    // Struck twice: the second is no new decision.
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(20));
    running.signal("INT");
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let log = std::fs::read_to_string(&log).expect("the log");
    assert!(log.ends_with("conclude\ncleanup\n"), "{log}");
}

#[test]
fn an_interrupt_of_the_setup_is_an_interrupt() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run", "--policy", "as-is", "--setup", "sleep 9", "--", "true",
    ]);
    harness::wait_until("the record is there", || {
        case.path("running.jsonl").exists()
    });
    std::thread::sleep(Duration::from_millis(100));
    running.signal("TERM");
    assert_eq!(running.end(Duration::from_secs(60)).code, Some(130));
}

#[test]
fn a_quit_puts_the_machine_back() {
    if !is_root() {
        return skip("a_quit…", "needs root to write the machine's settings");
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run",
        "--system",
        "--policy",
        "thp=always",
        "--warmup",
        "0",
        "--",
        "sleep",
        "0.3",
    ]);
    running.wait_for_rounds(1);
    running.signal("QUIT");
    assert_eq!(running.end(Duration::from_secs(60)).code, Some(130));
    assert_eq!(harness::settings(), before);
}

#[test]
fn a_lost_keeper_costs_one_trial_and_no_result() {
    if !is_root() {
        return skip(
            "a_lost_keeper…",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let mut running = case.spawn(&[
        "run",
        "--system",
        "--policy",
        "thp=always",
        "--warmup",
        "0",
        "--",
        "sleep",
        "0.3",
    ]);
    running.wait_for_rounds(1);
    std::thread::sleep(Duration::from_millis(100));
    running.kill_children();
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("killed the keeper"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    assert_eq!(harness::settings(), before);
}

#[test]
fn what_somebody_else_changes_meanwhile_stays_and_ends_the_experiment() {
    const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
    if !is_root() {
        return skip(
            "what_somebody_else_changes…",
            "needs root to change a setting",
        );
    }
    let _turn = one_at_a_time();
    let restored = harness::Restored::of(DEFRAG);
    let case = Case::new();
    let mut running = case.spawn(&[
        "run",
        "--system",
        "--policy",
        "defrag=defer",
        "--warmup",
        "0",
        "--",
        "sleep",
        "0.3",
    ]);
    running.wait_for_rounds(1);
    std::fs::write(DEFRAG, "never").expect("a setting");
    let ended = running.end(Duration::from_secs(60));
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("somebody else"), "{}", ended.stderr);
    assert!(ended.stdout.contains("wall time"), "{}", ended.stdout);
    let now = std::fs::read_to_string(DEFRAG).expect("a setting");
    assert!(now.contains("[never]"), "{now}");
    drop(restored);
}

#[test]
fn nothing_said_on_stderr_can_end_an_experiment() {
    let _turn = one_at_a_time();
    let before = harness::settings();
    let case = Case::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let status = case
        .plain()
        .args(["run", "--policy", "as-is", "--max-rounds", "1"])
        .args(["--cleanup", "exit 1", "--", "false"])
        .stdout(std::process::Stdio::null())
        .stderr(full)
        .status();
    assert_eq!(status.expect("hugewise").code(), Some(3));
    assert_eq!(harness::settings(), before);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut child = case
        .plain()
        .args([
            "run",
            "--policy",
            "as-is",
            "--max-rounds",
            "1",
            "--",
            "true",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("hugewise");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("its end").code(), Some(0));
}

#[test]
fn a_second_experiment_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let mut first = case.spawn(&["run", "--policy", "as-is", "--", "sleep", "0.1"]);
    first.wait_for_rounds(1);
    case.hugewise()
        .args(["run", "--policy", "as-is", "--", "true"])
        .assert()
        .code(4)
        .stderr(contains(first.id().to_string()));
    first.signal("TERM");
    first.end(Duration::from_secs(60));
}

#[test]
fn a_killed_experiment_leaves_no_process_and_undo_restores_the_machine() {
    if !is_root() {
        return skip(
            "a_killed_experiment…",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let before = harness::settings();
    for delay_ms in [5, 20, 40, 60, 80, 100, 130, 170, 220, 300] {
        let case = Case::new();
        let mut running = case.spawn(&[
            "run",
            "--system",
            "--policy",
            "thp=never",
            "--policy",
            "thp=always,defrag=defer",
            "--policy",
            "khugepaged.scan_sleep_millisecs=12345",
            "--warmup",
            "0",
            "--",
            "sleep",
            "0.02765",
        ]);
        std::thread::sleep(Duration::from_millis(delay_ms));
        running.signal("KILL");
        running.end(Duration::from_secs(60));
        harness::wait_until("no sleep is left", || {
            harness::processes_with("0.02765") == 0
        });
        if harness::settings() != before {
            case.hugewise_as_nobody()
                .args(["run", "--policy", "as-is", "--", "true"])
                .assert()
                .code(4)
                .stderr(contains("sudo hugewise doctor --undo"));
            case.hugewise()
                .arg("doctor")
                .assert()
                .success()
                .stderr(contains("doctor --undo"));
        }
        case.hugewise()
            .args(["doctor", "--undo"])
            .assert()
            .success();
        assert_eq!(harness::settings(), before, "after a kill at {delay_ms} ms");
    }
}

// ---- exec ---------------------------------------------------------------------------------------

#[test]
fn exec_becomes_the_command() {
    Case::new()
        .hugewise()
        .args([
            "exec",
            "--policy",
            "thp=never,env.GREETING=hello",
            "--",
            "sh",
            "-c",
        ])
        .arg("echo $GREETING; grep THP_enabled /proc/self/status; exit 9")
        .assert()
        .code(9)
        .stdout(contains("hello").and(contains(THP_DISABLED)));
}

#[test]
fn exec_keeps_its_input_and_what_nohup_switched_off() {
    let systems: &[&[&str]] = if is_root() {
        &[&[], &["--system"]]
    } else {
        &[&[]]
    };
    for system in systems {
        let _turn = one_at_a_time();
        let policy = if system.is_empty() {
            "thp=never"
        } else {
            "thp=always"
        };
        Case::new()
            .hugewise()
            .arg("exec")
            .args(*system)
            .args(["--policy", policy, "--", "cat"])
            .write_stdin("from outside")
            .assert()
            .success()
            .stdout("from outside");
    }
    let line = format!(
        "trap '' HUP; {} exec -- grep SigIgn /proc/self/status",
        harness::HUGEWISE
    );
    let ignored = std::process::Command::new("sh")
        .args(["-c", &line])
        .output();
    let ignored = String::from_utf8(ignored.expect("sh").stdout).expect("text");
    let set = ignored.rsplit('\t').next().map(str::trim).expect("a set");
    let set = u64::from_str_radix(set, 16).expect("a set of signals");
    let (hup, pipe) = (1 << 0, 1 << 12);
    assert!(set & hup != 0 && set & pipe == 0, "{ignored}");
}

#[test]
fn exec_tells_absence_from_refusal_as_env_does() {
    for (command, code) in [("no-such-program", 127), ("/etc/passwd", 126)] {
        Case::new()
            .hugewise()
            .args(["exec", "--", command])
            .assert()
            .code(code)
            .stderr(contains(command));
    }
}

/// How /proc/PID/status shows `PR_SET_THP_DISABLE`.
const THP_DISABLED: &str = "THP_enabled:\t0";
