//! Helpers of all tests: a command, a trial, and the readings of the trial.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use hugewise_base::host::{Cgroup, Host, ThpDisable, ThpSettings, User};
use hugewise_base::missing::Missing;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::Reading;
use hugewise_linux::collect::{CountingPlan, Instruments, TrialObservation, trial};
use hugewise_linux::machine::error::Error;
use hugewise_linux::machine::identity::{Identity, is_root};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::plan::{self, WantedEvents};
use hugewise_linux::perf::count::Plan;
use hugewise_linux::perf::open::KernelCounters;
use hugewise_linux::spawn::{Launch, Output};

pub(super) const MIB: f64 = 1048576.0;

/// The number of pages for the laboratory's oracle: 44 huge pages and 501 small ones.
pub(super) const PAGES: &str = "23029";

/// Returns the hardware counting plan of this machine, determined once.
pub(super) fn counting() -> CountingPlan<'static> {
    static PLAN: OnceLock<Result<Plan, Missing>> = OnceLock::new();
    let plan =
        PLAN.get_or_init(|| plan::plan(&Root::real(), &KernelCounters, None, &WantedEvents::Walks));
    CountingPlan {
        plan: plan.as_ref(),
        round: 0,
    }
}

pub(super) fn command(words: &[&str]) -> Launch {
    let mut launch = Launch::new(words.iter().map(OsString::from).collect());
    launch.output = Output::Keep;
    launch
}

/// Returns a launch of the laboratory, a mode of this test program.
pub(super) fn lab(words: &[&str]) -> Launch {
    command(&[&["/proc/self/exe", "__lab"], words].concat())
}

pub(super) fn shell(line: &str) -> Launch {
    command(&["/bin/sh", "-c", line])
}

pub(super) fn observe(launch: &Launch) -> TrialObservation {
    observe_expecting(launch, &Realisation::default(), &[])
}

pub(super) fn observe_expecting(
    launch: &Launch,
    expected: &Realisation,
    files: &[String],
) -> TrialObservation {
    attempt_expecting(launch, expected, files).unwrap()
}

/// Runs a trial that need not reach its end.
pub(super) fn attempt(launch: &Launch) -> Result<TrialObservation, Error> {
    attempt_expecting(launch, &Realisation::default(), &[])
}

fn attempt_expecting(
    launch: &Launch,
    expected: &Realisation,
    files: &[String],
) -> Result<TrialObservation, Error> {
    let watch = Instruments {
        files,
        expected,
        counting: counting(),
        stalls: None,
    };
    let never = AtomicBool::new(false);
    trial(&Root::real(), &host(), launch, &watch, &never)
}

pub(super) fn value(observed: &TrialObservation, metric: &str) -> f64 {
    match &observed.readings[metric] {
        Reading::Value { value } => *value,
        other => panic!("{metric}: {other:?}"),
    }
}

pub(super) fn missing(observed: &TrialObservation, metric: &str) -> Missing {
    match &observed.readings[metric] {
        Reading::Missing { missing } => missing.clone(),
        other => panic!("{metric}: {other:?}"),
    }
}

pub(super) fn said(observed: &TrialObservation) -> String {
    String::from_utf8(observed.output.clone()).unwrap()
}

pub(super) fn nobody() -> Identity {
    Identity {
        uid: 65534,
        gid: 65534,
        groups: Vec::new(),
        home: PathBuf::from("/"),
        name: "nobody".to_owned(),
    }
}

/// Returns this user, and another one if permitted.
pub(super) fn identities() -> Vec<Option<Identity>> {
    if is_root() {
        vec![None, Some(nobody())]
    } else {
        vec![None]
    }
}

pub(super) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

pub(super) fn eventually(what: &str, condition: impl Fn() -> bool) {
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

/// Returns the facts of this machine needed by a trial.
pub(super) fn host() -> Host {
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
            shmem_sizes: BTreeMap::new(),
        }),
        hugetlb: BTreeMap::new(),
        thp_disable: ThpDisable::Off,
        can_trace: false,
        library: None,
        can_collapse: false,
        except_advised: false,
        cgroup: Cgroup {
            version: 0,
            path: String::new(),
            limit_bytes: None,
            can_make: true,
        },
        user: User {
            uid: 0,
            workload_uid: 0,
            can_write_thp: false,
        },
        glibc: None,
        glibc_elf_thp: false,
        tunables: Default::default(),
        allocators: BTreeMap::new(),
        load_1min: 0.0,
        free_blocks: Vec::new(),
        balloon: None,
    }
}

/// Runs a trial in which each of the 44 ranges became huge.
pub(super) fn all_huge(launch: &Launch) -> TrialObservation {
    showing(launch, "huge_anon_exit_bytes", 88.0)
}

/// Runs a trial that shows this many MiB of a metric. It is repeated, because sometimes no huge page is free: the
/// machine is shared, and other users may change its settings for a moment.
pub(super) fn showing(launch: &Launch, metric: &str, mib: f64) -> TrialObservation {
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
