//! `hugewise collapse` on processes whose memory is known exactly.

mod skipping;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use skipping::{is_root, skip};

const HUGEWISE: &str = env!("CARGO_BIN_EXE_hugewise");
const NOBODY: u32 = 65_534;

/// Why another process's memory cannot be made huge here, or cannot start small.
fn obstacle() -> Option<&'static str> {
    if !is_root() {
        return Some("needs root");
    }
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    match enabled {
        Err(_) => Some("no transparent huge pages"),
        Ok(text) if text.contains("[always]") => Some("enabled is `always`"),
        Ok(_) => None,
    }
}

macro_rules! needs_small_memory {
    ($name:literal) => {
        if let Some(reason) = obstacle() {
            skip($name, reason);
            return;
        }
    };
}

fn lab() -> PathBuf {
    let path = Path::new(HUGEWISE).with_file_name("hugewise-lab");
    assert!(path.exists(), "build it first: cargo build -p hugewise-lab");
    path
}

fn number(path: &str) -> u64 {
    let text = std::fs::read_to_string(path).expect(path);
    text.trim().parse().expect(path)
}

fn huge_bytes() -> u64 {
    number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
}

fn page_bytes() -> u64 {
    let output = Command::new("getconf").arg("PAGESIZE").output();
    let text = String::from_utf8(output.expect("getconf").stdout).expect("text");
    text.trim().parse().expect("a size")
}

/// A process that holds known memory until it is dropped.
struct Held {
    child: Child,
    /// The process that holds it, possibly a child of ours.
    pid: u32,
}

impl Held {
    /// Starts a workload and waits for the line that it prints once its memory is ready.
    fn lab(arguments: &[&str]) -> (Self, String) {
        let mut child = Command::new(lab())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the laboratory");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let pid = child.id();
        (Self { child, pid }, line)
    }

    /// This many pages, each written once, not advised.
    fn touched(pages: u64) -> Self {
        let (held, line) = Self::lab(&["touch", "--pages", &pages.to_string(), "--hold", "60000"]);
        assert_eq!(line.trim(), format!("pages {pages} faults {pages}"));
        held
    }

    /// Memory in one known state; `None` if this machine does not support it.
    fn plant(name: &str) -> Option<Self> {
        let (mut held, line) = Self::lab(&["plant", name, "--hold", "60000"]);
        let mut words = line.split_whitespace();
        held.pid = words.nth(2)?.parse().ok()?;
        Some(held)
    }

    /// Bytes mapped by PMDs, according to smaps.
    fn huge_anon(&self) -> u64 {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid));
        let rollup = rollup.expect("smaps_rollup");
        let line = rollup
            .lines()
            .find_map(|line| line.strip_prefix("AnonHugePages:"));
        let kib = line.expect("AnonHugePages").trim().trim_end_matches(" kB");
        kib.parse::<u64>().expect("a number") * 1024
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hugewise(arguments: &[&str]) -> Output {
    Command::new(HUGEWISE)
        .args(arguments)
        .env("COLUMNS", "80")
        .output()
        .expect("hugewise")
}

fn collapse(pid: u32, flags: &[&str]) -> Output {
    let pid = pid.to_string();
    let mut arguments = vec!["collapse", pid.as_str()];
    arguments.extend(flags);
    hugewise(&arguments)
}

fn report(pid: u32, flags: &[&str]) -> Value {
    let mut all = flags.to_vec();
    all.extend(["--format", "json"]);
    let output = collapse(pid, &all);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn left_out(report: &Value, why: &str) -> u64 {
    let all = report["left_out"].as_array().expect("a list");
    all.iter()
        .filter(|left| left["why"] == why)
        .filter_map(|left| left["ranges"].as_u64())
        .sum()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_whole_range_is_made_huge_and_no_other() {
    needs_small_memory!("every_whole_range_is_made_huge_and_no_other");
    let held = Held::touched(23_029);
    let ranges = 23_029 * page_bytes() / huge_bytes();
    let forecast = report(held.pid, &["--dry-run"]);
    assert_eq!(forecast["planned_ranges"], ranges);
    assert_eq!(forecast["forecast"]["bloat"]["populated"]["ranges"], ranges);
    assert_eq!(forecast["forecast"]["bloat"]["populated"]["bytes_added"], 0);
    assert_eq!(held.huge_anon(), 0, "a dry run changes nothing");

    let made = report(held.pid, &[]);
    assert_eq!(made["made"]["ranges"], ranges);
    assert_eq!(made["made"]["bytes_added"], 0);
    assert_eq!(made["refused"], Value::Array(Vec::new()));
    assert_eq!(held.huge_anon(), ranges * huge_bytes());
    assert_eq!(made["huge_anon_before_bytes"], 0);
    assert_eq!(made["huge_anon_after_bytes"], held.huge_anon());

    let again = report(held.pid, &[]);
    assert_eq!(again["planned_ranges"], 0);
    assert_eq!(left_out(&again, "already_huge"), ranges);
}

#[test]
fn the_limit_and_the_pattern_bound_it() {
    needs_small_memory!("the_limit_and_the_pattern_bound_it");
    let held = Held::touched(16 * huge_bytes() / page_bytes());
    let other = report(held.pid, &["--mapping", "[heap]"]);
    assert_eq!(
        (other["planned_ranges"].as_u64(), held.huge_anon()),
        (Some(0), 0)
    );
    assert!(left_out(&other, "other_mapping") >= 16);
    let limit = (3 * huge_bytes() + page_bytes()).to_string();
    let some = report(held.pid, &["--mapping", "anon", "--max-bytes", &limit]);
    assert_eq!(
        (some["made"]["ranges"].as_u64(), left_out(&some, "limit")),
        (Some(3), 13)
    );
    assert_eq!(held.huge_anon(), 3 * huge_bytes());
}

/// Filled holes become resident memory, exact to the byte.
#[test]
fn memory_that_it_adds_is_told_and_there() {
    needs_small_memory!("memory_that_it_adds_is_told_and_there");
    // The memory is advised, so khugepaged may be faster: then there is nothing to do.
    let tried = (0..20).find_map(|_| {
        let held = Held::plant("EMPTY_PTE_TABLE/used")?;
        let report = report(held.pid, &[]);
        (report["planned_ranges"] != 0).then_some(report)
    });
    let Some(report) = tried else {
        return skip(
            "memory_that_it_adds_is_told_and_there",
            "no such plant here",
        );
    };
    let bytes = |field: &Value| field.as_u64().expect("a number");
    let added = bytes(&report["made"]["bytes_added"]);
    assert!(added > 0, "{report}");
    assert_eq!(bytes(&report["planned_bytes_added"]), added);
    let grown = bytes(&report["resident_after_bytes"]) - bytes(&report["resident_before_bytes"]);
    assert_eq!(grown, added, "{report}");
}

#[test]
fn pinned_pages_are_refused_with_the_kernels_own_reason() {
    let name = "pinned_pages_are_refused_with_the_kernels_own_reason";
    needs_small_memory!("pinned_pages_are_refused_with_the_kernels_own_reason");
    let Some(held) = Held::plant("PINNED") else {
        return skip(name, "no such plant here");
    };
    let report = report(held.pid, &[]);
    let refused = &report["refused"][0];
    assert_eq!(
        (
            report["made"]["ranges"].as_u64(),
            refused["ranges"].as_u64()
        ),
        (Some(0), Some(2))
    );
    assert_eq!(refused["refusal"]["error"], "EAGAIN");
    let bytes = |value: &Value| value.as_u64().expect("a number");
    let stretches = refused["stretches"].as_array().expect("stretches");
    let length = |one: &Value| bytes(&one["end"]) - bytes(&one["start"]);
    let all: u64 = stretches.iter().map(length).sum();
    assert_eq!(all, 2 * huge_bytes(), "{report}");
    assert_eq!(stretches[0]["start"], refused["first"]);
    let line = format!("    {:x}-", bytes(&refused["first"]));
    let text = |flags: &[&str]| String::from_utf8(collapse(held.pid, flags).stdout);
    assert!(text(&["-v"]).expect("text").contains(&line));
    assert!(!text(&[]).expect("text").contains(&line));
    if report["reasons_missing"].is_null() {
        assert_eq!(refused["refusal"]["status"], "not_suitable_page_count");
    } else {
        skip(
            name,
            "no events of the kernel here; the error number alone is known",
        );
    }
}

#[test]
fn what_the_kernel_would_refuse_is_not_tried() {
    needs_small_memory!("what_the_kernel_would_refuse_is_not_tried");
    for (plant, why) in [
        ("GUARD_PAGES", "guard_page"),
        ("MAP_STACK", "thread_stack"),
        ("HUGE_ZERO", "only_zero_pages"),
        ("EMPTY_PTE_TABLE", "empty"),
    ] {
        let Some(held) = Held::plant(plant) else {
            skip("what_the_kernel_would_refuse_is_not_tried", plant);
            continue;
        };
        let report = report(held.pid, &[]);
        assert_eq!(report["planned_ranges"], 0, "{plant}: {report}");
        assert_eq!(left_out(&report, why), 2, "{plant}: {report}");
    }
}

#[test]
fn a_process_that_switched_huge_pages_off_is_told_apart() {
    needs_small_memory!("a_process_that_switched_huge_pages_off_is_told_apart");
    let Some(held) = Held::plant("PRCTL_DISABLED") else {
        return skip(
            "a_process_that_switched_huge_pages_off_is_told_apart",
            "no such plant",
        );
    };
    let output = collapse(held.pid, &[]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("PR_SET_THP_DISABLE"), "{output:?}");
}

/// What was not used while it was watched is not hot.
#[test]
fn memory_that_nobody_uses_is_not_hot() {
    needs_small_memory!("memory_that_nobody_uses_is_not_hot");
    let held = Held::touched(4 * huge_bytes() / page_bytes());
    let flags = ["--hot", "--touch-bits", "--duration", "100ms", "--quiet"];
    let report = report(held.pid, &flags);
    assert_eq!(report["planned_ranges"], 0);
    assert!(left_out(&report, "not_hot") >= 4, "{report}");
    let refused = collapse(held.pid, &["--hot"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--touch-bits"));
}

// ---- ends ------------------------------------------------------------------------------------

fn begin(pid: u32, flags: &[&str]) -> Child {
    Command::new(HUGEWISE)
        .args(["collapse", &pid.to_string(), "--format", "json"])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hugewise")
}

/// Flags that make it watch the process before it acts.
const WATCHING: &[&str] = &["--hot", "--touch-bits", "--duration", "60s"];

/// Waits until it says on stderr that it watches.
fn wait_until_it_watches(child: &mut Child) {
    let mut line = String::new();
    let stderr = child.stderr.as_mut().expect("a pipe");
    BufReader::new(stderr).read_line(&mut line).expect("a line");
    assert!(line.contains("watching"), "{line}");
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(status.expect("kill").success());
}

#[test]
fn an_interrupt_ends_it_with_nothing_done() {
    needs_small_memory!("an_interrupt_ends_it_with_nothing_done");
    let held = Held::touched(4 * huge_bytes() / page_bytes());
    let mut child = begin(held.pid, WATCHING);
    wait_until_it_watches(&mut child);
    signal(child.id(), "INT");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(held.huge_anon(), 0);
}

/// A kill leaves behind neither a mount nor a tracefs instance.
#[test]
fn a_kill_leaves_nothing_behind() {
    needs_small_memory!("a_kill_leaves_nothing_behind");
    let traces = || {
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
        let mounted: Vec<String> = mounts
            .lines()
            .filter(|line| line.contains("tracefs"))
            .map(str::to_owned)
            .collect();
        let instances = std::fs::read_dir("/sys/kernel/tracing/instances");
        (mounted, instances.map_or(0, Iterator::count))
    };
    let before = traces();
    let held = Held::touched(4 * huge_bytes() / page_bytes());
    let mut child = begin(held.pid, WATCHING);
    wait_until_it_watches(&mut child);
    assert_eq!(traces(), before, "while it runs");
    signal(child.id(), "KILL");
    child.wait().expect("killed");
    assert_eq!(traces(), before, "after the kill");
    assert_eq!(report(held.pid, &[])["made"]["ranges"], 4);
}

// ---- rights ----------------------------------------------------------------------------------

/// A copy in a place where everybody can run it: the build folder may be accessible only to root.
fn copied() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("permissions");
    let copy = folder.path().join("hugewise");
    std::fs::copy(HUGEWISE, &copy).expect("a copy");
    (folder, copy)
}

#[test]
fn whoever_lacks_a_right_is_told_which() {
    needs_small_memory!("whoever_lacks_a_right_is_told_which");
    let held = Held::touched(huge_bytes() / page_bytes());
    let (_folder, copy) = copied();
    let output = Command::new(&copy)
        .args(["collapse", &held.pid.to_string()])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .output()
        .expect("hugewise");
    assert_eq!(output.status.code(), Some(4));
    let told = stderr(&output);
    assert!(
        told.contains("CAP_SYS_NICE") && told.contains("CAP_SYS_PTRACE"),
        "{told}"
    );
    assert_eq!(held.huge_anon(), 0);
}

/// The privileges that the message names are sufficient, and each is needed.
#[test]
fn the_rights_that_are_named_are_the_right_ones() {
    let name = "the_rights_that_are_named_are_the_right_ones";
    needs_small_memory!("the_rights_that_are_named_are_the_right_ones");
    let held = Held::touched(huge_bytes() / page_bytes());
    let (_folder, copy) = copied();
    let with = |rights: &str| {
        Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .args(["--inh-caps", rights, "--ambient-caps", rights])
            .arg(&copy)
            .args(["collapse", &held.pid.to_string()])
            .current_dir("/")
            .output()
    };
    let Ok(one) = with("+sys_nice") else {
        return skip(name, "no setpriv");
    };
    assert_eq!(one.status.code(), Some(4), "{one:?}");
    let other = with("+sys_ptrace").expect("setpriv");
    assert_eq!(other.status.code(), Some(4), "{other:?}");
    assert!(stderr(&other).contains("CAP_SYS_NICE"), "{other:?}");
    assert!(!stderr(&other).contains("CAP_SYS_PTRACE"), "{other:?}");
    let both = with("+sys_nice,+sys_ptrace").expect("setpriv");
    assert_eq!(both.status.code(), Some(4), "{both:?}");
    assert!(stderr(&both).contains("CAP_DAC_READ_SEARCH"), "{both:?}");
    assert_eq!(held.huge_anon(), 0);
    let all = with("+sys_nice,+sys_ptrace,+dac_read_search").expect("setpriv");
    assert_eq!(all.status.code(), Some(0), "{all:?}");
    assert_eq!(held.huge_anon(), huge_bytes());
}

// ---- what the user typed ---------------------------------------------------------------------

#[test]
fn wrong_processes_and_flags_name_the_fix() {
    let own = std::process::id().to_string();
    let cases: &[(&[&str], &str)] = &[
        (&["collapse"], "PID"),
        (&["collapse", "all"], "PID"),
        (&["collapse", "999999999"], "no process 999999999"),
        (&["collapse", "0"], "no process 0"),
        (&["collapse", &own, "--measure", "5s"], "hugewise live PID"),
        (&["collapse", &own, "--measure"], "hugewise live PID"),
        (&["collapse", &own, "--max-bytes", "2X"], "2M"),
        (&["collapse", &own, "--mapping", ""], "anon"),
        (&["collapse", &own, "--duration", "5s"], "--hot"),
    ];
    for (arguments, fix) in cases {
        let output = hugewise(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr(&output).contains(fix), "{arguments:?}: {output:?}");
    }
}

#[test]
fn threads_of_the_kernel_and_the_dead_have_no_memory() {
    let mut child = Command::new("true").spawn().expect("true");
    let stat = format!("/proc/{}/stat", child.id());
    let began = Instant::now();
    while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let dead = collapse(child.id(), &[]);
    assert_eq!(dead.status.code(), Some(2), "{dead:?}");
    assert!(stderr(&dead).contains("has ended"), "{dead:?}");
    child.wait().expect("reaped");
    let comm = std::fs::read_to_string("/proc/2/comm").unwrap_or_default();
    if comm.trim() == "kthreadd" {
        let kernel = collapse(2, &[]);
        assert_eq!(kernel.status.code(), Some(2), "{kernel:?}");
        assert!(stderr(&kernel).contains("kernel thread"), "{kernel:?}");
    }
}

#[test]
fn all_forms_say_the_same_and_text_fits_eighty_columns() {
    needs_small_memory!("all_forms_say_the_same_and_text_fits_eighty_columns");
    let held = Held::touched(4 * huge_bytes() / page_bytes());
    let form = |form: &str| {
        let output = collapse(held.pid, &["--dry-run", "--format", form]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = form("text");
    assert!(text.contains("would make 4 ranges"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(form("csv").contains("\nplanned,,4,"));
    assert!(form("markdown").contains("would make 4 ranges"));
    let json: Value = serde_json::from_str(&form("json")).expect("JSON");
    assert_eq!(json["format"], "hugewise-collapse 2");
    assert_eq!(json["planned_ranges"], 4);
}
