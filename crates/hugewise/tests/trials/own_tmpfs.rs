//! `tmpfs=`: an own tmpfs over a mounted one.

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::harness::report::call_of;
use crate::harness::{self, Case, is_root, lab, one_at_a_time, readings, skip};

const SHM: &str = "/dev/shm";
const NEVER: &str = "tmpfs=/dev/shm:never";
const ALWAYS: &str = "tmpfs=/dev/shm:always";
const MIB: f64 = 1048576.0;

/// The file that trials leave in their tmpfs.
const OWN: &str = "/dev/shm/hugewise-own-tmpfs";

/// The mount table of this process, and whether the file of a trial is in the tmpfs of the machine.
fn machine() -> (String, bool) {
    let table = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    (table, Path::new(OWN).exists())
}

/// Returns true if the test cannot run: the tmpfs is missing, or its mode is overridden.
fn is_missing(name: &str) -> bool {
    let mode = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    let mode = std::fs::read_to_string(mode).unwrap_or_default();
    let is_tmpfs = machine().0.contains(" /dev/shm ") && Path::new(SHM).is_dir();
    let can = is_root() && is_tmpfs && !mode.is_empty();
    let is_free = !mode.contains("[deny]") && !mode.contains("[force]");
    if !can || !is_free {
        skip(name, "needs root, a tmpfs at /dev/shm, and shmem_enabled");
    }
    !can || !is_free
}

/// Three rounds of both modes, as JSON.
fn report(case: &Case, mut hugewise: Command, command: &[&str]) -> Value {
    let json = case.path("report.json");
    hugewise
        .args(["run", "--wait", "2m", "--warmup", "0", "--max-rounds", "3"])
        .args(["--policy", NEVER, "--policy", ALWAYS])
        .arg("--json")
        .arg(&json)
        .arg("--")
        .args(command)
        .assert()
        .success();
    case.json(&json)
}

/// Checks that a file of 90 MiB is mapped by small and by huge pages.
fn is_mapped(seen: &Value) {
    let huge = |policy| readings(seen, policy, "huge_shmem_peak_bytes");
    let is_each = |values: &[f64], bytes| values.len() >= 3 && values.iter().all(|it| *it == bytes);
    assert!(is_each(&huge(NEVER), 0.0), "{:?}", huge(NEVER));
    assert!(is_each(&huge(ALWAYS), 90.0 * MIB), "{:?}", huge(ALWAYS));
    let faults = |policy| readings(seen, policy, "minor_faults_total");
    for (small, huge) in faults(NEVER).iter().zip(faults(ALWAYS)) {
        // 23,040 small pages, or 45 huge ones.
        assert!((*small - huge - 22_995.0).abs() < 100.0, "{small} {huge}");
    }
    let trials = seen["trials"].as_array().expect("trials");
    for trial in trials {
        let wanted = trial["policy"].as_str().and_then(|it| it.split(':').nth(1));
        assert_eq!(trial["read_back"]["tmpfs"].as_str(), wanted, "{trial:#}");
        let mut marks = trial["marks"].as_array().into_iter().flatten();
        assert!(marks.all(|it| it["hazard"] != "not_applied"), "{trial:#}");
    }
}

#[test]
fn each_mode_has_its_pages() {
    if is_missing("each_mode_has_its_pages") {
        return;
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), machine());
    let lab = lab();
    let workload = [lab.to_str().expect("a path"), "shared"];
    let workload = [&workload[..], &["--folder", SHM, "--pages", "23040"]].concat();
    let workload = [&workload[..], &["--hold", "100"]].concat();
    is_mapped(&report(&case, case.hugewise(), &workload));
    assert_eq!(machine(), before);
}

#[test]
fn an_ordinary_user_has_each_mode_too() {
    let name = "an_ordinary_user_has_each_mode_too";
    if is_missing(name) {
        return;
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), machine());
    let copy = case.path("lab");
    std::fs::copy(lab(), &copy).expect("a copy");
    let tried = case
        .hugewise_as_nobody()
        .args(["exec", "--policy", ALWAYS, "--", "true"])
        .output()
        .expect("a result");
    if !tried.status.success() {
        let refusal = String::from_utf8_lossy(&tried.stderr);
        assert!(refusal.contains("user.max_user_namespaces"), "{refusal}");
        return skip(name, "this kernel gives users no namespace");
    }
    let workload = [copy.to_str().expect("a path"), "shared", "--folder", SHM];
    let workload = [&workload[..], &["--pages", "23040", "--hold", "100"]].concat();
    is_mapped(&report(&case, case.hugewise_as_nobody(), &workload));
    assert_eq!(machine(), before);
}

#[test]
fn files_that_no_process_maps_count_too() {
    if is_missing("files_that_no_process_maps_count_too") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let line = "head -c 64M /dev/zero > /dev/shm/hugewise-own-tmpfs";
    let seen = report(&case, case.hugewise(), &["sh", "-c", line]);
    let made = |policy| readings(&seen, policy, "thp_file_alloc_total");
    assert!(made(ALWAYS).iter().all(|&pages| pages >= 32.0), "{seen:#}");
    assert_ne!(call_of(&seen, ALWAYS), "same_pages");
}

/// Prints the mode and owner of the tmpfs and the sum of its options, and leaves a file in it.
const LOOK: &str = "stat -c %a:%u:%g /dev/shm; ls -A /dev/shm | wc -l; \
                    tail -1 /proc/self/mountinfo | grep -c 'huge=within_size'; \
                    df --output=size /dev/shm | tail -1; echo 1 > /dev/shm/hugewise-own-tmpfs; exit 9";

#[test]
fn exec_mounts_it_like_the_one_below_and_leaves_nothing() {
    let _turn = one_at_a_time();
    if is_missing("exec_mounts_it_like_the_one_below_and_leaves_nothing") {
        return;
    }
    let (case, before) = (Case::new(), machine());
    let below = std::process::Command::new("sh")
        .args([
            "-c",
            "stat -c %a:%u:%g /dev/shm; df --output=size /dev/shm | tail -1",
        ])
        .output()
        .expect("a result");
    let below = String::from_utf8(below.stdout).expect("text");
    let (owner, size) = below.split_once('\n').expect("two lines");
    let policy = "tmpfs=/dev/shm:within_size";
    // Alone, with a tracer, and with a cgroup.
    for others in ["", ",tracer=idle", ",memory-max=256M"] {
        if !others.is_empty() && harness::cgroups().is_none() {
            continue;
        }
        case.hugewise()
            .args(["exec", "--policy", &format!("{policy}{others}"), "--"])
            .args(["sh", "-c", LOOK])
            .assert()
            .code(9)
            .stdout(format!("{owner}\n0\n1\n{size}"));
        assert_eq!(machine(), before, "{others}");
    }
}

#[test]
fn a_kill_leaves_no_mount() {
    if is_missing("a_kill_leaves_no_mount") {
        return;
    }
    let _turn = one_at_a_time();
    let (case, before) = (Case::new(), machine());
    let command = [
        "--",
        "sh",
        "-c",
        "echo 1 > /dev/shm/hugewise-own-tmpfs; exec sleep 60.27",
    ];
    let run = [
        "run", "--warmup", "0", "--policy", ALWAYS, "--policy", NEVER,
    ];
    let mut running = case.spawn(&[&run[..], &command].concat());
    let began = std::time::Instant::now();
    while harness::processes_with("60.27") == 0 && began.elapsed() < Duration::from_secs(150) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(harness::processes_with("60.27"), 1);
    running.signal("KILL");
    running.end(Duration::from_secs(60));
    harness::wait_until("the program is gone", || {
        harness::processes_with("60.27") == 0
    });
    assert_eq!(machine(), before);
}

#[test]
fn what_cannot_be_covered_is_refused() {
    let _turn = one_at_a_time();
    let case = Case::new();
    for (policy, word) in [
        ("tmpfs=/dev/shm:on", "expected never, within_size"),
        ("tmpfs=/dev/shm", "as in tmpfs=/dev/shm:always"),
        ("tmpfs=shm:always", "must be absolute"),
    ] {
        case.hugewise()
            .args(["run", "--policy", policy, "--", "true"])
            .assert()
            .code(2)
            .stderr(contains(word));
    }
    let folder = case.path("folder");
    std::fs::create_dir(&folder).expect("a folder");
    let folder = folder.display();
    for (policy, word) in [
        (format!("tmpfs={folder}:never"), "is not a mount point"),
        (format!("tmpfs={folder}/none:never"), "is no directory"),
        ("tmpfs=/proc:never".to_owned(), "is proc, not a tmpfs"),
    ] {
        for verb in ["run", "exec"] {
            case.hugewise()
                .args([verb, "--policy", &policy, "--", "true"])
                .assert()
                .code(4)
                .stderr(contains(word));
        }
    }
}

#[test]
fn hidden_files_are_named() {
    if is_missing("hidden_files_are_named") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let folder = tempfile::TempDir::new_in(SHM).expect("a folder");
    let program = folder.path().join("program");
    std::fs::copy("/bin/true", &program).expect("a copy");
    case.hugewise()
        .args(["run", "--policy", NEVER, "--"])
        .arg(&program)
        .assert()
        .code(2)
        .stderr(contains("would be hidden"));
    case.hugewise()
        .args(["run", "--policy", NEVER, "--directory"])
        .arg(folder.path())
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains("the working directory"));
    case.hugewise()
        .args(["run", "--wait", "2m", "--max-rounds", "1"])
        .args(["--policy", NEVER, "--", "true"])
        .assert()
        .stderr(contains("starts with an empty /dev/shm").and(contains("now in it")));
}
