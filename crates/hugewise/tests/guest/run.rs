//! Whole experiments: every reachable policy, proved, complete, and undone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hugewise_experiment::run::metric::METRICS;
use serde_json::Value;

use super::ground::Ground;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
/// Enough for huge pages of 32 MiB.
const BYTES: u64 = 96 << 20;

/// The laboratory's own count is in the record, and so are the proved huge pages.
pub fn oracle(ground: &Ground) {
    let each = ground.pages_each();
    let pages = 2 * each + 5;
    let report = experiment(
        ground,
        &["--policy", "huge:as-is", "--policy", "small:thp=never"],
        &["touch", "--huge", "--pages", &pages.to_string()],
    );
    for (policy, faults) in [("huge", 2 + 5), ("small", pages)] {
        let read = values(&report, policy, "touched");
        assert!(!read.is_empty(), "{policy}: nothing was read");
        assert!(
            read.iter().all(|&value| value == to_f64(faults)),
            "{policy}: {read:?}"
        );
    }
    let bytes = to_f64(2 * each * ground.answers.page_bytes);
    let held = values(&report, "huge", "huge_anon_exit_bytes");
    assert!(
        !held.is_empty() && held.iter().all(|&value| value == bytes),
        "{held:?} against {bytes}"
    );
    // The peak of the whole tree. In a guest that makes all memory huge, two samples of many have shown one huge page
    // more, of unknown origin.
    let peak = values(&report, "huge", "huge_anon_peak_bytes");
    assert!(
        peak.iter().all(|&value| value >= bytes),
        "{peak:?} against {bytes}"
    );
}

/// The policies that a user gets by default.
pub fn policies_of_a_process(ground: &Ground) {
    let report = experiment(ground, &[], &touch(ground));
    assert_complete(&report);
    assert_eq!(settings(), settings_said(&report), "the report's settings");
}

/// The same with system settings: each mode is proved by its pages, and afterwards every file has its old content.
pub fn policies_of_the_system(ground: &Ground) {
    let before = settings();
    let words = [
        "as-is",
        "thp=never",
        "thp=always",
        "thp=always,defrag=never",
        "thp=always,defrag=always",
        "thp=madvise",
    ];
    let mut flags = vec!["--system"];
    for word in &words {
        flags.extend(["--policy", word]);
    }
    for word in [
        "thp=always,zero_page=0",
        "thp=always,khugepaged.max_ptes_none=0",
    ] {
        flags.extend(["--policy", word]);
    }
    let report = experiment(ground, &flags, &touch(ground));
    assert_eq!(settings(), before, "settings are not as they were");
    assert_complete(&report);
    for (policy, huge) in [
        ("thp=never", false),
        ("thp=madvise", false),
        // If all other memory is file memory, a huge page needs compaction.
        ("thp=always,defrag=always", true),
    ] {
        let peaks = values(&report, policy, "huge_anon_peak_bytes");
        // For advised memory, glibc 2.43 on Arm advises its own heap, which fits one huge page by chance.
        let heap = match policy {
            "thp=madvise" => (ground.pages_each() * ground.answers.page_bytes) as f64,
            _ => 0.0,
        };
        let right = peaks.iter().all(|&peak| (peak > heap) == huge);
        assert!(right && !peaks.is_empty(), "{policy}: {peaks:?}");
    }
}

/// Memory that faults left small is huge at the end, made so from outside.
pub fn made_huge_later(ground: &Ground) {
    let flags = [
        "--system",
        "--policy",
        "small:thp=madvise",
        "--policy",
        "later:thp=madvise,collapse=after:3s",
    ];
    // A guest may be emulated, and slow.
    let held = touch(ground)
        .into_iter()
        .chain(["--hold", "9000"].map(str::to_owned));
    let held: Vec<String> = held.collect();
    let report = experiment_of(1, ground, &flags, &held);
    assert_complete(&report);
    let huge = |policy: &str| values(&report, policy, "huge_anon_exit_bytes");
    let (small, later) = (huge("small"), huge("later"));
    let most = (ground.pages_each() * ground.answers.page_bytes) as f64;
    assert!(small.iter().all(|&bytes| bytes <= most), "{small:?}");
    // The pass runs in pieces, and may be incomplete if each piece takes seconds.
    let right = later.iter().all(|&bytes| bytes >= BYTES as f64 / 2.0);
    assert!(right && !later.is_empty(), "{later:?}");
}

/// The largest program of a guest is hugewise itself; one instance watches another while its code is moved.
pub fn code_made_huge(ground: &Ground) {
    let huge_page = (ground.pages_each() * ground.answers.page_bytes) as f64;
    let program = ground.lab().with_file_name("hugewise");
    let programs = [program, ground.lab()].map(|it| it.display().to_string());
    let [program, lab] = programs;
    let watching = ["stat", "--interval", "1s", "--"].map(str::to_owned);
    let own = [program].into_iter().chain(watching).chain([lab]);
    let held = ["--hold", "5000"].map(str::to_owned);
    let command: Vec<String> = own.chain(touch(ground)).chain(held).collect();
    let flags = [
        "--system",
        "--policy",
        "small:thp=madvise",
        "--policy",
        "code:thp=madvise,text=huge",
    ];
    let report = measured(1, ground, &flags, &command);
    assert_complete(&report);
    let huge = |policy: &str| values(&report, policy, "huge_anon_peak_bytes");
    let (small, code) = (huge("small"), huge("code"));
    // A huge page of 32 MiB or more does not fit into it; before Linux 6.7 (PAGEMAP_SCAN) code is left unchanged.
    let least = match huge_page <= 2_097_152.0 && kernel() >= (6, 7) {
        true => 2.0 * huge_page,
        false => 0.0,
    };
    let more = code.iter().zip(&small).map(|(code, small)| code - small);
    let more: Vec<f64> = more.collect();
    let right = more.iter().all(|&bytes| bytes >= least);
    assert!(right && !more.is_empty(), "{small:?} {code:?}");
}

/// Major and minor version.
pub fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut parts = release.split(['.', '-', '\n']).map(str::parse::<u32>);
    let mut next = || parts.next().unwrap().unwrap();
    (next(), next())
}

/// Each size by itself: folios of it were allocated, if the kernel counts them.
pub fn smaller_sizes(ground: &Ground) {
    let before = settings();
    let sizes = smaller(ground);
    let huge = ground.pages_each() * ground.answers.page_bytes / 1024;
    let named = |size: &u64| format!("{size}:mthp={huge}K:never+{size}K:always");
    let policies: Vec<String> = sizes.iter().map(named).collect();
    let mut flags = vec!["--system", "--policy", "none:thp=never"];
    for policy in &policies {
        flags.extend(["--policy", policy]);
    }
    let report = experiment(ground, &flags, &touch(ground));
    assert_eq!(settings(), before, "settings are not as they were");
    assert_complete(&report);
    let small = values(&report, "none", "minor_faults_total");
    for size in &sizes {
        let policy = &size.to_string();
        let fewer = values(&report, policy, "minor_faults_total");
        let right = fewer
            .iter()
            .zip(&small)
            .all(|(fewer, small)| *fewer < small * 0.6);
        assert!(
            right && !fewer.is_empty(),
            "{policy}: {fewer:?} against {small:?}"
        );
    }
}

/// A process that is killed at any end of its test: memory that it keeps would make later tests fail.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// SIGKILL during an experiment; the doctor restores the settings.
pub fn killed_and_undone(ground: &Ground) {
    let before = settings();
    let lab = ground.lab();
    let pages = (BYTES / ground.answers.page_bytes).to_string();
    let out = ground.path("killed.jsonl");
    let child = Command::new(lab.with_file_name("hugewise"))
        .args([
            "run",
            "--system",
            "--policy",
            "defrag=never",
            "--policy",
            "defrag=always",
            "--out",
        ])
        .arg(&out)
        .arg("--")
        .args([lab.as_os_str()])
        .args(["touch", "--hold", "200", "--pages", &pages])
        .env("XDG_STATE_HOME", ground.path("state"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut killed = Killed(child);
    wait_until("the experiment changes a setting", || {
        let ended = killed.0.try_wait().unwrap();
        assert_eq!(ended, None, "it ended before it changed a setting");
        settings() != before
    });
    drop(killed);
    // The guardian restores the settings at once, so they may be back already. The keeper releases the machine a moment
    // after it has seen its parent die.
    wait_until("the machine is free again", || {
        ground.hugewise(&["doctor", "--undo"]).status.success()
    });
    assert_eq!(settings(), before, "settings are not as they were");
}

/// The peak of a whole tree, with its page cache.
pub fn own_cgroup(ground: &Ground) {
    let flags = ["--policy", "as-is", "--own-cgroup", "on"];
    let report = experiment(ground, &flags, &touch(ground));
    let peaks = values(&report, "as-is", "cgroup_peak_bytes");
    let right = peaks.iter().all(|&peak| peak >= to_f64(BYTES));
    assert!(right && !peaks.is_empty(), "{peaks:?}");
}

/// Hardware cycle counts are in the record: more for more work.
pub fn cycles(ground: &Ground) {
    let counted = |pages: u64| {
        let pages = pages.to_string();
        let workload = ["touch", "--small", "--pages", &pages];
        let report = experiment(ground, &["--policy", "as-is"], &workload);
        let cycles = values(&report, "as-is", "cycles_total");
        assert!(
            !cycles.is_empty(),
            "{}",
            report["trials"][0]["readings"]["cycles_total"]
        );
        cycles.into_iter().fold(f64::INFINITY, f64::min)
    };
    let (few, many) = (counted(1), counted(BYTES / ground.answers.page_bytes));
    assert!(
        few > 0.0 && many > few,
        "{few} cycles for one page, {many} for all"
    );
}

/// Runs an experiment with the laboratory.
fn experiment(ground: &Ground, flags: &[&str], workload: &[impl AsRef<str>]) -> Value {
    experiment_of(2, ground, flags, workload)
}

fn experiment_of(
    rounds: u32,
    ground: &Ground,
    flags: &[&str],
    workload: &[impl AsRef<str>],
) -> Value {
    let lab = [ground.lab().display().to_string()].into_iter();
    let words = workload.iter().map(|word| word.as_ref().to_owned());
    measured(rounds, ground, flags, &lab.chain(words).collect::<Vec<_>>())
}

/// Runs an experiment with any command.
fn measured(rounds: u32, ground: &Ground, flags: &[&str], command: &[String]) -> Value {
    let rounds = rounds.to_string();
    let out = ground.path("run.jsonl");
    let _ = fs::remove_file(&out);
    let mut words = vec!["run", "--max-rounds", &rounds, "--warmup", "0", "--quiet"];
    words.extend([
        "--format",
        "json",
        "--metric",
        "touched=faults ([0-9]+)",
        "--out",
    ]);
    words.push(out.to_str().unwrap());
    words.extend(flags);
    words.push("--");
    words.extend(command.iter().map(String::as_str));
    ground.hugewise_json(&words)
}

fn touch(ground: &Ground) -> [String; 3] {
    let pages = (BYTES / ground.answers.page_bytes).to_string();
    ["touch".to_owned(), "--pages".to_owned(), pages]
}

/// Every policy has trials, and every trial has a value or a reason for each metric.
fn assert_complete(report: &Value) {
    let trials = report["trials"].as_array().unwrap();
    for policy in report["policies"].as_array().unwrap() {
        let name = &policy["name"];
        let own: Vec<&Value> = trials
            .iter()
            .filter(|trial| trial["policy"] == *name)
            .collect();
        assert!(own.len() >= 2, "{name}: {} trials", own.len());
        for trial in own {
            assert_eq!(trial["outcome"]["code"], 0, "{name}: {}", trial["outcome"]);
            for metric in METRICS.iter().filter(|metric| !metric.name.contains('*')) {
                let reading = &trial["readings"][metric.name.as_ref()];
                let said = reading["value"].is_number()
                    || reading["why"].is_string()
                    || reading["missing"]["why"].is_string();
                assert!(said, "{name}: {}: {reading}", metric.name);
            }
        }
    }
}

fn values(report: &Value, policy: &str, metric: &str) -> Vec<f64> {
    let trials = report["trials"].as_array().unwrap().iter();
    trials
        .filter(|trial| trial["policy"] == policy)
        .filter_map(|trial| trial["readings"][metric]["value"].as_f64())
        .collect()
}

/// Sizes in KiB below the huge page that this kernel offers to anonymous memory.
fn smaller(ground: &Ground) -> Vec<u64> {
    let huge = ground.pages_each() * ground.answers.page_bytes / 1024;
    let entries = fs::read_dir(THP).unwrap().flatten();
    let mut sizes: Vec<u64> = entries
        .filter(|entry| entry.path().join("enabled").exists())
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_prefix("hugepages-")?
                .strip_suffix("kB")?
                .parse()
                .ok()
        })
        .filter(|&size| size < huge)
        .collect();
    sizes.sort_unstable();
    sizes
}

/// Every THP setting of the machine; counters are left out.
fn settings() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let khugepaged = Path::new(THP).join("khugepaged");
    let mut folders = vec![PathBuf::from(THP), khugepaged];
    let sizes = fs::read_dir(THP)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    folders.extend(sizes.filter(|path| path.join("enabled").exists()));
    for entry in folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().flatten())
    {
        let name = entry.file_name();
        if entry.path().is_file() && name != "pages_collapsed" && name != "full_scans" {
            found.insert(
                entry.path(),
                fs::read_to_string(entry.path()).unwrap_or_default(),
            );
        }
    }
    found
}

/// The `enabled` settings from the report, in the form of [`settings`], with the other settings unchanged.
fn settings_said(report: &Value) -> BTreeMap<PathBuf, String> {
    let mut said = settings();
    let enabled = Path::new(THP).join("enabled");
    let chosen = report["host"]["thp"]["enabled"].as_str().unwrap();
    let text = ["always", "madvise", "never"].map(|word| {
        if word == chosen {
            format!("[{word}]")
        } else {
            word.to_owned()
        }
    });
    said.insert(enabled, text.join(" ") + "\n");
    said
}

/// Patient, because an emulated machine on a busy one is up to sixty times slower.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(240),
            "waited in vain: {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn to_f64(number: u64) -> f64 {
    number as f64
}
