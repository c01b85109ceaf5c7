//! Whole trials with workloads whose right answer is known.
//!
//! A trial starts its own program as the keeper, so this test has a `main` of its own: it is
//! the keeper, the laboratory or a victim when its first argument says so, else it runs the
//! tests one after the other.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a test program may panic and print"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hugewise_linux::bpf::Tracer;
use hugewise_linux::collect::stalls::{Stalls, Wanted};
use hugewise_linux::collect::{Counting, Observed, Watch, trial};
use hugewise_linux::identity::is_root;
use hugewise_linux::perf::count::Plan;
use hugewise_linux::perf::open::Kernel;
use hugewise_linux::root::Root;
use hugewise_linux::spawn::{self, AtExit, Group, Identity, Launch, Output};
use hugewise_linux::stat::plan::{self, Events};
use hugewise_model::host::{Cgroup, Host, ThpDisable, ThpSettings, User};
use hugewise_model::metric::METRICS;
use hugewise_model::observation::{Mark, Missing, Outcome, Reading};
use hugewise_model::policy::realise::{FileWrite, Realisation, ThpPrctl};
use hugewise_model::trace::Rung;
use hugewise_model::trace::points::points;

mod pool;
mod skipping;
use pool::Pool;
use skipping::skip;

const MIB: f64 = 1048576.0;
/// What the laboratory's oracle is asked for: 44 huge pages and 501 small ones.
const PAGES: &str = "23029";

/// What the hardware counts here, found out once.
fn counting() -> Counting<'static> {
    static PLAN: OnceLock<Result<Plan, Missing>> = OnceLock::new();
    let plan = PLAN.get_or_init(|| plan::plan(&Root::real(), &Kernel, None, &Events::Walks));
    Counting {
        plan: plan.as_ref(),
        round: 0,
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(spawn::KEEPER_WORD) => spawn::keeper_main(),
        Some("__lab") => hugewise_lab::run(words[1..].to_vec()),
        Some("__pool") => pool::workload(),
        Some("__victim") => victim(),
        Some("__exec") => become_program(&words[1..]),
        _ => run_tests(
            words
                .iter()
                .find(|word| !word.starts_with('-'))
                .map_or("", |word| word),
        ),
    }
}

const TESTS: &[(&str, fn())] = &[
    ("small_pages_fault_once_each", small_pages_fault_once_each),
    ("huge_pages_are_proved", huge_pages_are_proved),
    ("every_metric_has_a_reading", every_metric_has_a_reading),
    (
        "peaks_are_true_under_a_fat_parent",
        peaks_are_true_under_a_fat_parent,
    ),
    ("trees_are_summed", trees_are_summed),
    ("pages_of_a_pool_count_once", pages_of_a_pool_count_once),
    ("orphans_end_with_the_trial", orphans_end_with_the_trial),
    (
        "daemons_that_respawn_are_caught",
        daemons_that_respawn_are_caught,
    ),
    ("time_over_kills_the_tree", time_over_kills_the_tree),
    (
        "a_killed_parent_leaves_nothing",
        a_killed_parent_leaves_nothing,
    ),
    ("interrupts_end_the_trial", interrupts_end_the_trial),
    ("outcomes_are_told_apart", outcomes_are_told_apart),
    (
        "scripts_run_without_a_first_line",
        scripts_run_without_a_first_line,
    ),
    (
        "signals_arrive_under_the_hold",
        signals_arrive_under_the_hold,
    ),
    ("ends_from_other_threads", ends_from_other_threads),
    ("the_huge_zero_page_is_seen", the_huge_zero_page_is_seen),
    ("planted_traits_are_seen", planted_traits_are_seen),
    ("without_the_hold", without_the_hold),
    ("sampling_is_cheap_and_right", sampling_is_cheap_and_right),
    ("identities_are_taken_on", identities_are_taken_on),
    ("groups_are_made_and_removed", groups_are_made_and_removed),
    (
        "policies_that_do_not_take_are_marked",
        policies_that_do_not_take_are_marked,
    ),
    ("exec_becomes_the_program", exec_becomes_the_program),
    ("stalls_are_the_trial's_own", stalls_are_the_trials_own),
    (
        "waits_for_mmap_lock_are_waits",
        waits_for_mmap_lock_are_waits,
    ),
    (
        "copying_on_write_is_told_apart",
        copying_on_write_is_told_apart,
    ),
];

fn run_tests(filter: &str) -> ExitCode {
    let mut failed = Vec::new();
    let chosen: Vec<_> = TESTS
        .iter()
        .filter(|(name, _)| name.contains(filter))
        .collect();
    for (name, test) in &chosen {
        let since = Instant::now();
        let good = catch_unwind(AssertUnwindSafe(test)).is_ok();
        let verdict = if good { "ok" } else { "FAILED" };
        println!(
            "test {name} ... {verdict} ({:.2} s)",
            since.elapsed().as_secs_f64()
        );
        if !good {
            failed.push(name);
        }
    }
    let result = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = chosen.len() - failed.len();
    println!(
        "\ntest result: {result}. {passed} passed; {} failed {failed:?}",
        failed.len()
    );
    ExitCode::from(u8::from(!failed.is_empty()))
}

// ---- what every test needs

fn command(words: &[&str]) -> Launch {
    let mut launch = Launch::new(words.iter().map(OsString::from).collect());
    launch.output = Output::Keep;
    launch
}

/// The laboratory, which is this very program.
fn lab(words: &[&str]) -> Launch {
    command(&[&["/proc/self/exe", "__lab"], words].concat())
}

fn shell(line: &str) -> Launch {
    command(&["/bin/sh", "-c", line])
}

fn observe(launch: &Launch) -> Observed {
    observe_expecting(launch, &Realisation::default(), &[])
}

fn observe_expecting(launch: &Launch, expected: &Realisation, files: &[String]) -> Observed {
    let watch = Watch {
        files,
        expected,
        counting: counting(),
        stalls: None,
    };
    trial(
        &Root::real(),
        &host(),
        launch,
        &watch,
        &AtomicBool::new(false),
    )
    .unwrap()
}

fn value(observed: &Observed, metric: &str) -> f64 {
    match &observed.readings[metric] {
        Reading::Value { value } => *value,
        other => panic!("{metric}: {other:?}"),
    }
}

fn missing(observed: &Observed, metric: &str) -> Missing {
    match &observed.readings[metric] {
        Reading::Missing { missing } => missing.clone(),
        other => panic!("{metric}: {other:?}"),
    }
}

fn said(observed: &Observed) -> String {
    String::from_utf8(observed.output.clone()).unwrap()
}

fn nobody() -> Identity {
    Identity {
        uid: 65534,
        gid: 65534,
        groups: Vec::new(),
        home: PathBuf::from("/"),
        name: "nobody".to_owned(),
    }
}

/// Ourselves, and somebody else where we may.
fn identities() -> Vec<Option<Identity>> {
    if is_root() {
        vec![None, Some(nobody())]
    } else {
        vec![None]
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn number(path: &str) -> u64 {
    std::fs::read_to_string(path)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// As much of this machine as a trial asks about.
fn host() -> Host {
    Host {
        kernel: String::new(),
        arch: String::new(),
        boot_line: String::new(),
        boot_id: String::new(),
        cpu_model: String::new(),
        cpus: u32::try_from(thread::available_parallelism().unwrap().get()).unwrap(),
        numa_nodes: 1,
        memory_bytes: 0,
        swap_bytes: 0,
        page_bytes: rustix::param::page_size() as u64,
        hypervisor: None,
        governor: None,
        thp: Ok(ThpSettings {
            enabled: String::new(),
            defrag: String::new(),
            zero_page: true,
            pmd_bytes: number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"),
            shmem_enabled: None,
            khugepaged: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }),
        hugetlb: BTreeMap::new(),
        thp_disable: ThpDisable::Off,
        except_advised: false,
        cgroup: Cgroup {
            version: 0,
            path: String::new(),
            limit_bytes: None,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: false,
        },
        glibc: None,
        allocators: BTreeMap::new(),
        load_1min: 0.0,
        free_blocks: Vec::new(),
    }
}

// ---- proof of treatment

fn small_pages_fault_once_each() {
    for identity in identities() {
        let mut launch = lab(&["touch", "--pages", PAGES, "--huge"]);
        launch.prctl = ThpPrctl::Disable;
        launch.identity = identity;
        let seen = observe(&launch);
        assert_eq!(said(&seen), "pages 23029 faults 23029\n");
        assert_eq!(seen.read_back.thp_disable, Some(ThpDisable::Disabled));
        assert_eq!(value(&seen, "huge_anon_exit_bytes"), 0.0);
        let faults = value(&seen, "minor_faults_total");
        assert!((23_029.0..23_600.0).contains(&faults), "{faults}");
    }
}

fn huge_pages_are_proved() {
    for identity in identities() {
        let mut launch = lab(&["touch", "--pages", PAGES, "--huge"]);
        launch.prctl = ThpPrctl::Clear;
        launch.identity = identity;
        let seen = all_huge(&launch);
        assert_eq!(said(&seen), "pages 23029 faults 545\n");
        assert_eq!(seen.read_back.thp_disable, Some(ThpDisable::Off));
        assert_eq!(value(&seen, "huge_anon_peak_bytes"), 88.0 * MIB);
        assert_eq!(value(&seen, "huge_zero_exit_bytes"), 0.0);
        let faults = value(&seen, "minor_faults_total");
        assert!((545.0..1100.0).contains(&faults), "{faults}");
        assert!(value(&seen, "thp_fault_alloc_total") >= 44.0);
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    }
}

/// A trial in which each of the 44 places became huge.
fn all_huge(launch: &Launch) -> Observed {
    showing(launch, "huge_anon_exit_bytes", 88.0)
}

/// A trial that shows so many MiB of a metric. Now and then a huge page is not to be had, on a
/// machine that others use too, or whose settings others change for a moment.
fn showing(launch: &Launch, metric: &str, mib: f64) -> Observed {
    let mut last = f64::NAN;
    for _ in 0..20 {
        let seen = observe(launch);
        last = value(&seen, metric) / MIB;
        if last == mib {
            return seen;
        }
    }
    panic!("{metric}: {last} MiB instead of {mib}");
}

fn the_huge_zero_page_is_seen() {
    let only_read = lab(&["read-first", "--pages", PAGES, "--huge", "--only"]);
    let seen = showing(&only_read, "huge_zero_exit_bytes", 88.0);
    assert_eq!(value(&seen, "huge_anon_exit_bytes"), 0.0);
    let written = observe(&lab(&["read-first", "--pages", PAGES, "--huge"]));
    assert_eq!(value(&written, "huge_zero_exit_bytes"), 0.0);
}

fn planted_traits_are_seen() {
    let sparse = lab(&["sparse", "--huge-pages", "20"]);
    showing(&sparse, "huge_anon_exit_bytes", 40.0);
    let split = showing(
        &lab(&["split", "--huge-pages", "20"]),
        "huge_anon_exit_bytes",
        0.0,
    );
    assert!(value(&split, "thp_split_pmd_total") >= 20.0);
    let gaps = observe(&lab(&["small", "--mappings", "20"]));
    assert_eq!(value(&gaps, "huge_anon_exit_bytes"), 0.0);
    assert!(value(&gaps, "minor_faults_total") >= 20.0 * 256.0);
    let spinning = observe(&lab(&["spin", "--ms", "50"]));
    assert!(value(&spinning, "user_seconds") >= 0.03);
}

fn policies_that_do_not_take_are_marked() {
    let path = "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs".to_owned();
    let expected = Realisation {
        prctl: ThpPrctl::Disable,
        files: vec![FileWrite {
            path: path.clone(),
            value: "123456789".to_owned(),
        }],
        preload: Some("/lib/libnothing.so".to_owned()),
        ..Realisation::default()
    };
    // The launch leaves the switch alone, so that the expectation must fail.
    let seen = observe_expecting(&command(&["true"]), &expected, std::slice::from_ref(&path));
    let not_applied = |mark: &&Mark| matches!(mark, Mark::NotApplied { .. });
    assert_eq!(
        seen.marks.iter().filter(not_applied).count(),
        3,
        "{:?}",
        seen.marks
    );
    assert_eq!(seen.read_back.allocator.as_deref(), Some(""));
    assert!(seen.read_back.files.contains_key(&path));

    let library = real_c_library();
    let expected = Realisation {
        preload: Some(library.clone()),
        ..Realisation::default()
    };
    let seen = observe_expecting(&command(&["true"]), &expected, &[]);
    assert_eq!(seen.read_back.allocator, Some(library));
}

/// A library that every dynamic program here has mapped: the one we have mapped ourselves.
fn real_c_library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains("/libc.so")).unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

// ---- memory

/// What only hardware counters can tell.
const COUNTED: [&str; 6] = [
    "cycles_total",
    "instructions_total",
    "dtlb_walks_total",
    "itlb_walks_total",
    "data_walk_cycles_ratio",
    "code_walk_cycles_ratio",
];

fn every_metric_has_a_reading() {
    let seen = observe(&lab(&["touch", "--pages", PAGES, "--hold", "50"]));
    for metric in METRICS {
        assert!(seen.readings.contains_key(&*metric.name), "{}", metric.name);
    }
    // What costs something, or is a server's, is measured where it is asked for.
    const ON_REQUEST: [&str; 15] = [
        "cgroup_peak_bytes",
        "direct_compaction_seconds",
        "direct_reclaim_seconds",
        "cgroup_reclaim_seconds",
        "zeroing_seconds",
        "split_seconds",
        "page_fault_seconds",
        "copy_on_write_seconds",
        "mmap_lock_wait_seconds",
        "service_ready_seconds",
        "service_use_ratio",
        "load_use_ratio",
        "thread_stacks_bytes",
        "thread_stacks_huge_bytes",
        "threads_total",
    ];
    for (name, reading) in &seen.readings {
        assert!(hugewise_model::metric::find(name).is_some(), "{name}");
        // One process shares nothing that could be copied.
        let is_seen = !COUNTED.contains(&name.as_str()) && name != "fork_copied_bytes";
        if !ON_REQUEST.contains(&name.as_str()) && is_seen {
            assert!(
                matches!(reading, Reading::Value { .. }),
                "{name}: {reading:?}"
            );
        }
    }
    for name in ON_REQUEST {
        assert_eq!(missing(&seen, name), Missing::NotAsked, "{name}");
    }
    match counting().plan {
        Ok(_) => assert!(value(&seen, "cycles_total") > 0.0),
        Err(why) => {
            skip("hardware counters", &why.to_string());
            assert!(COUNTED.iter().all(|name| missing(&seen, name) == *why));
        }
    }
    let held = value(&seen, "wall_seconds");
    assert!((0.05..5.0).contains(&held), "{held}");
}

fn peaks_are_true_under_a_fat_parent() {
    let fat = vec![1_u8; 300 << 20];
    let seen = observe(&command(&["true"]));
    let peak = value(&seen, "peak_rss_bytes");
    assert!(peak < 8.0 * MIB, "{peak}");
    let mut blind = command(&["true"]);
    blind.at_exit = AtExit::Pass;
    let floor = match missing(&observe(&blind), "peak_rss_bytes") {
        Missing::BelowFloor { floor } => floor,
        other => panic!("{other:?}"),
    };
    assert!(floor < 16 << 20, "{floor}");
    blind = lab(&["touch", "--pages", PAGES, "--small"]);
    blind.at_exit = AtExit::Pass;
    for launch in [blind, lab(&["touch", "--pages", PAGES, "--small"])] {
        let peak = value(&observe(&launch), "peak_rss_bytes");
        let least = 23_029.0 * 4096.0;
        assert!((least..least + 8.0 * MIB).contains(&peak), "{peak}");
    }
    assert_eq!(fat[fat.len() - 1], 1);
}

fn trees_are_summed() {
    let words = [
        "tree",
        "--processes",
        "3",
        "--pages",
        "5000",
        "--hold",
        "800",
    ];
    let mut launch = lab(&words);
    launch.prctl = ThpPrctl::Disable;
    let seen = observe(&launch);
    let each = 5000.0 * rustix::param::page_size() as f64;
    assert!(value(&seen, "minor_faults_total") >= 15_000.0);
    let tree = value(&seen, "peak_tree_rss_bytes");
    assert!(
        tree >= 3.0 * each && tree < 3.0 * each + 40.0 * MIB,
        "{tree}"
    );
    let one = value(&seen, "peak_rss_bytes");
    assert!(one >= each && one < each + 8.0 * MIB, "{one}");
    let mean = value(&seen, "rss_mean_bytes");
    assert!(mean > each && mean < tree, "{mean}");
}

/// Three processes share three pages, and one has one more.
fn pages_of_a_pool_count_once() {
    let test = "pages_of_a_pool_count_once";
    let _pool = match Pool::with_room() {
        Ok(pool) => pool,
        Err(why) => return skip(test, &why),
    };
    let held = ((pool::SHARED + pool::ALONE) * Pool::page_bytes()) as f64;
    // While somebody else takes pages or gives them back, there are only bounds.
    for _ in 0..5 {
        let taken = Pool::taken();
        let seen = observe(&command(&["/proc/self/exe", "__pool"]));
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
        let (peak, mean) = (
            value(&seen, "hugetlb_peak_bytes"),
            value(&seen, "hugetlb_mean_bytes"),
        );
        if taken == Pool::taken() && peak == held {
            assert!((0.0..=held).contains(&mean), "{mean}");
            return;
        }
        let shared = (pool::SHARED * Pool::page_bytes()) as f64;
        let sum = held + (pool::PROCESSES - 1) as f64 * shared;
        assert!((shared..sum).contains(&peak), "{peak}");
    }
    panic!("five times others used the pool, or shared pages counted more than once");
}

fn sampling_is_cheap_and_right() {
    let seen = all_huge(&lab(&[
        "touch", "--pages", PAGES, "--huge", "--hold", "1000",
    ]));
    let samples = value(&seen, "samples_total");
    assert!((5.0..200.0).contains(&samples), "{samples}");
    let ratio = value(&seen, "sampling_ratio");
    assert!(ratio > 0.0 && ratio < 0.009, "{ratio}");
    let mean = value(&seen, "huge_anon_mean_bytes");
    assert!((60.0 * MIB..=88.0 * MIB).contains(&mean), "{mean}");
    assert_eq!(value(&seen, "huge_anon_peak_bytes"), 88.0 * MIB);
}

fn without_the_hold() {
    let mut launch = lab(&["touch", "--pages", PAGES, "--huge", "--hold", "300"]);
    launch.at_exit = AtExit::Pass;
    let seen = observe(&launch);
    assert_eq!(missing(&seen, "huge_anon_exit_bytes"), Missing::NotAsked);
    let peak = value(&seen, "huge_anon_peak_bytes");
    assert!((80.0 * MIB..=88.0 * MIB).contains(&peak), "{peak}");
    let mut short = command(&["true"]);
    short.at_exit = AtExit::Pass;
    let seen = observe(&short);
    if value(&seen, "samples_total") == 0.0 {
        assert_eq!(missing(&seen, "huge_anon_peak_bytes"), Missing::TooShort);
    }
}

fn groups_are_made_and_removed() {
    let mut launch = lab(&["touch", "--pages", PAGES, "--small"]);
    launch.group = Group::Make;
    let seen = observe(&launch);
    match &seen.readings["cgroup_peak_bytes"] {
        Reading::Value { value } => assert!(*value >= 89.0 * MIB, "{value}"),
        Reading::Missing { missing } => {
            let told = matches!(
                missing,
                Missing::NotPermitted { .. } | Missing::NotSupported { .. }
            );
            assert!(told, "{missing:?}");
        }
        other => panic!("{other:?}"),
    }
    let own = hugewise_linux::sys::cgroup::read_place(&Root::real());
    if let Ok(Some(place)) = own {
        let left = Root::real().list(place.folder()).unwrap_or_default();
        let prefix = format!("hugewise-{}-", std::process::id());
        assert!(
            !left.iter().any(|name| name.starts_with(&prefix)),
            "{left:?}"
        );
    }
}

// ---- nothing escapes

fn orphans_end_with_the_trial() {
    let mut launch = lab(&["orphan", "--pages", "5000"]);
    launch.prctl = ThpPrctl::Disable;
    let seen = observe(&launch);
    let daemon = said(&seen);
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    assert!(!is_alive(daemon.trim()), "{daemon}");
    let faults = value(&seen, "minor_faults_total");
    assert!(
        faults >= 5000.0,
        "the daemon's faults are in the sum: {faults}"
    );
}

/// Each daemon starts the next one in a session of its own and leaves.
fn daemons_that_respawn_are_caught() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("daemon");
    std::fs::write(
        &script,
        "cd /; echo $$ >> \"$1\"; setsid sh \"$0\" \"$1\" & exit\n",
    )
    .unwrap();
    let pids = folder.path().join("pids");
    let line = format!("sh {} {}; sleep 0.1", script.display(), pids.display());
    let seen = observe(&shell(&line));
    assert_eq!(
        (&seen.outcome, seen.survivors),
        (&Outcome::Exited { code: 0 }, 0)
    );
    let pids = std::fs::read_to_string(pids).unwrap();
    assert!(pids.lines().count() > 5, "{pids}");
    assert!(!pids.lines().any(is_alive), "{pids}");
}

fn time_over_kills_the_tree() {
    let mut launch = shell("sleep 600 & echo $!; (sleep 600 & echo $!; wait) & wait");
    launch.timeout = Some(Duration::from_millis(200));
    let since = Instant::now();
    let seen = observe(&launch);
    assert_eq!(seen.outcome, Outcome::TimedOut);
    assert!(since.elapsed() < Duration::from_secs(60));
    assert!(!seen.interrupted);
    let pids = said(&seen);
    assert_eq!(pids.lines().count(), 2);
    assert!(!pids.lines().any(is_alive), "{pids}");
    assert!(value(&seen, "wall_seconds") >= 0.2);
}

fn interrupts_end_the_trial() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let signal = Arc::clone(&interrupt);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        signal.store(true, Ordering::Relaxed);
    });
    let expected = Realisation::default();
    let watch = Watch {
        files: &[],
        expected: &expected,
        counting: counting(),
        stalls: None,
    };
    let launch = shell("sleep 600 & echo $!; wait");
    let seen = trial(&Root::real(), &host(), &launch, &watch, &interrupt).unwrap();
    assert!(seen.interrupted);
    assert!(!is_alive(said(&seen).trim()));
}

/// A trial of which stalls are timed.
fn timed(stalls: &RefCell<Stalls>, launch: &Launch) -> Observed {
    let expected = Realisation::default();
    let watch = Watch {
        files: &[],
        expected: &expected,
        counting: counting(),
        stalls: Some(stalls),
    };
    let never = AtomicBool::new(false);
    trial(&Root::real(), &host(), launch, &watch, &never).unwrap()
}

/// What a workload says of itself beside its stalls; `None` where the stall cannot be timed here.
fn stalled(test: &str, metric: &str, words: &[&str]) -> Option<(f64, Observed)> {
    let stalls = RefCell::new(Stalls::start(&Root::real(), Wanted::All).unwrap());
    let seen = timed(&stalls, &lab(words));
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    match &seen.readings[metric] {
        Reading::Missing { missing } => {
            skip(test, &missing.to_string());
            None
        }
        _ => Some((value(&seen, metric), seen)),
    }
}

/// Threads whose calls are hardly anything but waiting for the lock of their address space wait
/// for about as long as their calls take. A thread that takes the same lock just as often and
/// has it for itself waits for nobody but those who look at its memory meanwhile.
fn waits_for_mmap_lock_are_waits() {
    let test = "waits_for_mmap_lock_are_waits";
    let metric = "mmap_lock_wait_seconds";
    let contend = |more: &[&str]| {
        let words = ["contend", "--pages", "4096", "--rounds", "10"];
        stalled(test, metric, &[&words[..], more].concat())
    };
    let Some((waited, seen)) = contend(&["--waiters", "2"]) else {
        return;
    };
    let said = said(&seen);
    let calls: f64 = said.split_whitespace().last().unwrap().parse().unwrap();
    let calls = calls / 1e9;
    assert!(waited > 0.25 * calls, "{waited} s of {calls} s");
    // No thread waits longer than the trial lasts: the first, which takes the lock to begin and
    // to give back, and both of the others.
    let wall = value(&seen, "wall_seconds");
    assert!(waited <= 3.0 * wall, "{waited} s of {wall} s");
    let (alone, seen) = contend(&[]).unwrap();
    let wall = value(&seen, "wall_seconds");
    assert!(alone < 0.05 * wall, "{alone} s of {wall} s");
}

/// A child that writes to what it has of its parent copies; who writes to fresh memory does not,
/// but for the few pages of programs and libraries.
fn copying_on_write_is_told_apart() {
    let test = "copying_on_write_is_told_apart";
    let metric = "copy_on_write_seconds";
    let mix = |kind| stalled(test, metric, &["fault-mix", kind, "20000"]);
    let Some((copied, seen)) = mix("--copy") else {
        return;
    };
    assert!(copied > 0.0 && copied <= value(&seen, "wall_seconds"));
    let (fresh, _) = mix("--write").unwrap();
    assert!(fresh < 0.5 * copied, "{fresh} s of {copied} s");
}

/// Compaction on request is compaction in the task that asked for it: where the tracepoints are
/// what is traced, a trial that asks has seconds of it, and one beside a task that asks has none.
fn stalls_are_the_trials_own() {
    let test = "stalls_are_the_trial's_own";
    let stalls = RefCell::new(Stalls::start(&Root::real(), Wanted::All).unwrap());
    let seen = |line: &str| timed(&stalls, &shell(line));
    let quiet = seen("true");
    if let Reading::Missing { missing } = &quiet.readings["mmap_lock_wait_seconds"] {
        return skip(test, &missing.to_string());
    }
    assert_eq!(value(&quiet, "direct_compaction_seconds"), 0.0);
    let asks = "echo 1 > /proc/sys/vm/compact_memory";
    let asked = seen(asks);
    if asked.outcome != (Outcome::Exited { code: 0 }) {
        return skip(test, "vm.compact_memory may not be written");
    }
    let compacted = value(&asked, "direct_compaction_seconds");
    if compacted == 0.0 && is_traced_by_function() {
        return skip(
            test,
            "the function that is traced here is not called on request",
        );
    }
    assert!(compacted > 0.0 && compacted <= value(&asked, "wall_seconds"));
    let mut stranger = Command::new("sh").args(["-c", asks]).spawn().unwrap();
    let beside = seen("sleep 0.3");
    stranger.wait().unwrap();
    assert_eq!(value(&beside, "direct_compaction_seconds"), 0.0);
}

/// Whether kernel functions can be traced here, which then are preferred to tracepoints.
fn is_traced_by_function() -> bool {
    let points = points();
    let point = points
        .iter()
        .find(|point| point.name == "direct_compaction");
    let (tracer, _) = Tracer::start(&Root::real(), &[point.unwrap().clone()], None).unwrap();
    let traced = tracer.traced();
    traced.first().is_some_and(|point| point.rung < Rung::TpBtf)
}

/// Measures something endless until it is killed, and tells who belongs to it.
fn victim() -> ExitCode {
    let file = std::env::var("HUGEWISE_TEST_FILE").unwrap();
    let line = format!(
        "sleep 600 & setsid sleep 600 & echo $$ $! $PPID > {file}.new; mv {file}.new {file}; wait"
    );
    observe(&shell(&line));
    ExitCode::SUCCESS
}

fn a_killed_parent_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let mut parent = Command::new("/proc/self/exe")
        .arg("__victim")
        .env("HUGEWISE_TEST_FILE", &file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the workload starts", || file.exists());
    let pids = std::fs::read_to_string(&file).unwrap();
    assert!(pids.split_whitespace().all(is_alive), "{pids}");
    parent.kill().unwrap();
    parent.wait().unwrap();
    eventually("all are gone", || !pids.split_whitespace().any(is_alive));
}

// ---- faithfulness

fn outcomes_are_told_apart() {
    let of = |launch: &Launch| observe(launch).outcome;
    assert_eq!(
        of(&lab(&["fail", "--code", "41"])),
        Outcome::Exited { code: 41 }
    );
    assert_eq!(
        of(&lab(&["fail", "--signal", "9"])),
        Outcome::Signalled { signal: 9 }
    );
    assert_eq!(
        of(&lab(&["fail", "--signal", "15"])),
        Outcome::Signalled { signal: 15 }
    );
    let not_started = |launch: &Launch| match of(launch) {
        Outcome::NotStarted { error } => error,
        other => panic!("{other:?}"),
    };
    let error = not_started(&command(&["no-such-program-anywhere"]));
    assert!(
        error.contains("`no-such-program-anywhere`: No such file"),
        "{error}"
    );
    let error = not_started(&command(&["/etc/passwd"]));
    assert!(
        error.contains("`/etc/passwd`: Permission denied"),
        "{error}"
    );
    let mut nowhere = command(&["true"]);
    nowhere.directory = Some(PathBuf::from("/no/such/folder"));
    let error = not_started(&nowhere);
    assert!(
        error.contains("changing to /no/such/folder: No such file"),
        "{error}"
    );
    let mut no_input = command(&["true"]);
    no_input.stdin = Some(PathBuf::from("/no/such/file"));
    let error = not_started(&no_input);
    assert!(error.contains("/no/such/file"), "{error}");
    let seen = observe(&command(&["no-such-program-anywhere"]));
    assert_eq!(missing(&seen, "wall_seconds"), Missing::TrialFailed);
    let seen = observe(&shell("echo trouble >&2; exit 3"));
    assert_eq!(seen.stderr_tail, b"trouble\n");
}

fn scripts_run_without_a_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "echo \"$0 $1 $WORD\"\n").unwrap();
    make_executable(&script);
    let mut launch = command(&["script", "one"]);
    let path = format!("/no/such:{}", folder.path().display());
    launch.environment = vec![
        ("PATH".to_owned(), path),
        ("WORD".to_owned(), "two".to_owned()),
    ];
    let seen = observe(&launch);
    assert_eq!(said(&seen), format!("{} one two\n", script.display()));
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn signals_arrive_under_the_hold() {
    let seen = observe(&shell(
        "trap 'echo usr1' USR1; trap 'echo tstp' TSTP; trap 'echo child' CHLD
         kill -USR1 $$; kill -TSTP $$; /bin/true; trap - CHLD
         (sleep 0.2; kill -CONT $$) & kill -STOP $$; echo resumed; wait",
    ));
    let words = said(&seen);
    for word in ["usr1", "tstp", "child", "resumed"] {
        assert!(words.contains(word), "{words}");
    }
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    assert!(value(&seen, "wall_seconds") >= 0.2, "it was stopped");
    assert!(matches!(
        seen.readings["huge_anon_exit_bytes"],
        Reading::Value { .. }
    ));
}

fn ends_from_other_threads() {
    let of = |end| observe(&lab(&["threads", "--end", end]));
    let all = all_huge(&lab(&["threads", "--end", "exit"]));
    assert_eq!(all.outcome, Outcome::Exited { code: 7 });
    for early in ["leave", "exec"] {
        let seen = of(early);
        assert_eq!(seen.outcome, Outcome::Exited { code: 7 }, "{early}");
        let why = missing(&seen, "huge_anon_exit_bytes").to_string();
        assert!(why.contains("first thread"), "{early}: {why}");
    }
}

fn identities_are_taken_on() {
    if !is_root() {
        return skip(
            "identities_are_taken_on",
            "needs root to become somebody else",
        );
    }
    let mut launch = shell("id -u; id -g; id -G; echo $HOME $USER; pwd; cat");
    launch.identity = Some(nobody());
    launch.directory = Some(PathBuf::from("/usr"));
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), "input\n").unwrap();
    launch.stdin = Some(input.path().to_owned());
    let expected = "65534\n65534\n65534\n/ nobody\n/usr\ninput\n";
    assert_eq!(said(&observe(&launch)), expected);
    launch = shell("taskset -p $$ | sed 's/.*: //'");
    launch.cpus = Some([0].into());
    assert_eq!(said(&observe(&launch)), "1\n");
}

fn become_program(words: &[String]) -> ExitCode {
    let mut launch = Launch::new(words.iter().map(OsString::from).collect());
    launch.environment = vec![("WORD".to_owned(), "set".to_owned())];
    launch.prctl = ThpPrctl::Disable;
    println!("{}", spawn::exec(&launch));
    ExitCode::from(9)
}

fn exec_becomes_the_program() {
    let run = |words: &[&str]| {
        let mut command = Command::new("/proc/self/exe");
        let output = command.arg("__exec").args(words).output().unwrap();
        (
            String::from_utf8(output.stdout).unwrap(),
            output.status.code(),
        )
    };
    let line = "echo $WORD; grep THP_enabled /proc/self/status; exit 4";
    assert_eq!(
        run(&["sh", "-c", line]),
        ("set\nTHP_enabled:\t0\n".to_owned(), Some(4))
    );
    let (error, code) = run(&["no-such-program"]);
    assert!(error.contains("No such file"), "{error}");
    assert_eq!(code, Some(9));
}
