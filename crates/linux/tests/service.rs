//! Trials of a server under a load, with known results; and a kill at every step.
//!
//! A trial starts its own program as the keeper, so this test has a custom `main`. It becomes the keeper, the server,
//! the load or a victim, depending on its first argument.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a test program may panic and print"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::plan::service as plan;
use hugewise_experiment::run::plan::service::{
    CommandLine, Interleave, LoadPolicy, Places, StopSignal,
};
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::{Outcome, Party, Reading};
use hugewise_linux::collect::service::{
    LastLook, LiveServer, NoLook, ServerEnd, Service, Stage, trial,
};
use hugewise_linux::collect::{CountingPlan, Instruments, TrialObservation};
use hugewise_linux::machine::error::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::probe;
use hugewise_linux::spawn::{self, Echo, Launch, Output};
use hugewise_linux::undo::Steps;

mod planted;

use planted::{COPIED_EACH, SHARED, STACK, Shared, THREADS, USED, small_pages};

/// The number of fresh pages touched by the server per request.
const PAGES_EACH: usize = 100;
const REQUESTS: usize = 50;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(spawn::KEEPER_WORD) => spawn::keeper_main(),
        Some("__server") => serve(&words[1..]),
        Some("__load") => load(&words[1..]),
        Some("__victim") => victim(&words[1..]),
        _ => run_tests(),
    }
}

const TESTS: &[(&str, fn())] = &[
    (
        "what_is_read_is_the_loads_time",
        what_is_read_is_the_loads_time,
    ),
    (
        "what_writes_copy_after_a_fork_is_seen",
        what_writes_copy_after_a_fork_is_seen,
    ),
    (
        "stacks_of_threads_are_found_by_their_pointers",
        stacks_of_threads_are_found_by_their_pointers,
    ),
    (
        "each_load_of_a_server_that_lives_is_read_by_itself",
        each_load_of_a_server_that_lives_is_read_by_itself,
    ),
    (
        "a_server_that_dies_between_loads_fails_its_trials",
        a_server_that_dies_between_loads_fails_its_trials,
    ),
    ("failures_name_their_party", failures_name_their_party),
    (
        "a_server_that_stays_is_killed",
        a_server_that_stays_is_killed,
    ),
    ("events_come_in_order", events_come_in_order),
    (
        "the_folder_is_seen_when_all_that_wrote_there_is_dead",
        the_folder_is_seen_when_all_that_wrote_there_is_dead,
    ),
    (
        "death_at_any_step_leaves_nothing",
        death_at_any_step_leaves_nothing,
    ),
];

fn run_tests() -> ExitCode {
    let mut failed = 0;
    for (name, test) in TESTS {
        let good = catch_unwind(AssertUnwindSafe(test)).is_ok();
        println!("test {name} ... {}", if good { "ok" } else { "FAILED" });
        failed += u8::from(!good);
    }
    ExitCode::from(failed.min(1))
}

// ---- the server and the load

/// `PORT DIR [MODE]`: answers each connection with a byte, after touching fresh small pages.
fn serve(words: &[String]) -> ExitCode {
    let (port, dir) = (words[0].parse::<u16>().unwrap(), Path::new(&words[1]));
    let mode = words.get(2).map_or("", String::as_str);
    println!("starting");
    if mode == "dies" {
        eprintln!("no configuration");
        return ExitCode::from(3);
    }
    if mode == "stays" {
        // SAFETY: ignoring a signal has no preconditions.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
    }
    let mut shared = (mode == "forks").then(Shared::fork);
    if mode == "threads" {
        planted::threads();
    }
    std::fs::write(dir.join("data"), "x").unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    println!("listening");
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut word = [0];
        // A readiness check sends nothing.
        if stream.read(&mut word).unwrap_or(0) == 1 {
            if mode == "crashes" {
                std::process::abort();
            }
            match &mut shared {
                Some(shared) => shared.write(),
                None => touch(),
            }
            stream.write_all(&word).unwrap();
        }
    }
    ExitCode::SUCCESS
}

fn touch() {
    let page = rustix::param::page_size();
    let bytes = PAGES_EACH * page;
    let at = small_pages(bytes);
    // SAFETY: the fresh mapping is written within its bounds, and given back.
    unsafe {
        for index in 0..PAGES_EACH {
            at.add(index * page).write_volatile(1);
        }
        libc::munmap(at.cast(), bytes);
    }
}

/// `PORT REQUESTS DIR [fails]`
fn load(words: &[String]) -> ExitCode {
    let port: u16 = words[0].parse().unwrap();
    for _ in 0..words[1].parse::<usize>().unwrap() {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    println!("done {}", words[1]);
    if words.len() > 3 {
        eprintln!("two errors");
        return ExitCode::from(7);
    }
    ExitCode::SUCCESS
}

// ---- what every test needs

fn line(words: &[&str]) -> CommandLine {
    let own = std::env::current_exe().unwrap();
    let first = own.to_str().unwrap().to_owned();
    let rest = words.iter().map(|word| (*word).to_owned());
    CommandLine::Words(std::iter::once(first).chain(rest).collect())
}

fn plan() -> plan::Service {
    plan::Service {
        ready: "tcp:{port}".parse().unwrap(),
        ready_timeout: Duration::from_secs(60),
        warm_up_load: Some(line(&["__load", "{port}", "7", "{dir}"])),
        load: line(&["__load", "{port}", &REQUESTS.to_string(), "{dir}"]),
        load_policy: LoadPolicy::None,
        stop_signal: StopSignal::default(),
        stop_command: None,
        grace: Duration::from_secs(5),
        service_cpus: None,
        load_cpus: None,
        interleave: Interleave::No,
    }
}

fn observe(
    plan: &plan::Service,
    mode: &[&str],
    scratch: &Path,
    steps: &dyn Steps,
) -> TrialObservation {
    observe_and_look(plan, mode, scratch, (steps, &NoLook))
}

fn observe_and_look(
    plan: &plan::Service,
    mode: &[&str],
    scratch: &Path,
    looks: (&dyn Steps, &dyn LastLook),
) -> TrialObservation {
    on_stage(plan, mode, scratch, looks, trial)
}

fn on_stage<T>(
    plan: &plan::Service,
    mode: &[&str],
    scratch: &Path,
    (steps, last_look): (&dyn Steps, &dyn LastLook),
    act: impl FnOnce(Stage<'_>) -> Result<T>,
) -> T {
    let (mut server, mut load) = (Launch::new(Vec::new()), Launch::new(Vec::new()));
    server.output = Output::Log(Echo::Silent);
    load.output = Output::Keep;
    let service = Service {
        plan,
        command: &line(&[&["__server", "{port}", "{dir}"], mode].concat()),
        server: &server,
        load: &load,
        scratch,
        steps,
        last_look,
    };
    let expected = Realisation::default();
    let watch = Instruments {
        files: &[],
        expected: &expected,
        counting: CountingPlan {
            plan: Err(&Missing::NotAsked),
            round: 0,
        },
        stalls: None,
    };
    let stage = Stage {
        root: &Root::real(),
        host: &host(),
        service: &service,
        watch: &watch,
        interrupt: &AtomicBool::new(false),
    };
    act(stage).unwrap()
}

fn host() -> Host {
    let root = Root::real();
    let answers = probe::answers(&root, probe::Environment::default()).unwrap();
    probe::host(&root, &answers).unwrap()
}

fn value(observed: &TrialObservation, metric: &str) -> f64 {
    match &observed.readings[metric] {
        Reading::Value { value } => *value,
        other => panic!("{metric}: {other:?}"),
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Steps for Heard {
    fn step(&self, doing: &str, _: &Path) {
        self.0.lock().unwrap().push(doing.to_owned());
    }
}

// ---- the tests

fn what_is_read_is_the_loads_time() {
    let folder = tempfile::tempdir().unwrap();
    let seen = observe(&plan(), &[], folder.path(), &Heard::default());
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    assert_eq!(seen.output, format!("done {REQUESTS}\n").as_bytes());
    // Faults of the warm-up would add 700.
    let (faults, planted) = (value(&seen, "minor_faults_total"), PAGES_EACH * REQUESTS);
    assert!(
        (0.0..200.0).contains(&(faults - planted as f64)),
        "{faults}"
    );
    assert!(value(&seen, "service_ready_seconds") > 0.0);
    assert!(value(&seen, "rss_mean_bytes") > 0.0);
    let served = seen.served.unwrap();
    assert_eq!(served.ended, ServerEnd::Itself);
    assert_eq!(served.log, b"starting\nlistening\n");
    assert!(is_empty(folder.path()));
}

fn each_load_of_a_server_that_lives_is_read_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let looks = (&Heard::default() as &dyn Steps, &NoLook as &dyn LastLook);
    let loads = on_stage(&plan(), &[], folder.path(), looks, |stage| {
        let mut server = LiveServer::start(stage)?.unwrap();
        let other = LiveServer::start(stage)?.unwrap();
        assert!(server.memory_bytes(stage.root) > 0);
        let loads = [
            server.load(stage, &[other.keeper()])?,
            server.load(stage, &[other.keeper()])?,
        ];
        assert_eq!(other.stop(stage)?, ServerEnd::Itself);
        assert_eq!(server.stop(stage)?, ServerEnd::Itself);
        Ok(loads)
    });
    for seen in &loads {
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
        let (faults, planted) = (value(seen, "minor_faults_total"), PAGES_EACH * REQUESTS);
        assert!(
            (0.0..200.0).contains(&(faults - planted as f64)),
            "{faults}"
        );
        assert!(value(seen, "peak_rss_bytes") > 0.0);
        assert_eq!(seen.served.as_ref().unwrap().ended, ServerEnd::Lives);
    }
    assert!(is_empty(folder.path()));
}

fn what_writes_copy_after_a_fork_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let seen = observe(&plan(), &["forks"], folder.path(), &Heard::default());
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    let page = rustix::param::page_size() as f64;
    let shared = value(&seen, "fork_shared_peak_bytes") / page;
    // The warm-up has already written to some pages; the program shares additional pages.
    let planted = (SHARED - 7 * COPIED_EACH) as f64;
    assert!((planted..planted + 200.0).contains(&shared), "{shared}");
    let copied = value(&seen, "fork_copied_bytes") / page;
    let written = (REQUESTS * COPIED_EACH) as f64;
    assert!(
        (written - 8.0..written + 40.0).contains(&copied),
        "{copied} of {written}"
    );
    // Shared memory is in both resident sets, and once in the memory of both.
    let once = value(&seen, "peak_tree_pss_bytes") / page;
    let each = value(&seen, "peak_tree_rss_bytes") / page;
    assert!(
        once >= SHARED as f64 && once <= each - planted,
        "{once} {each}"
    );
    let timeline = seen.served.and_then(|served| served.seen).unwrap().timeline;
    let resident = timeline
        .seconds
        .iter()
        .find_map(|second| second.resident_bytes);
    let resident = resident.expect("a second with a sample") as f64 / page;
    assert!((SHARED as f64..=once).contains(&resident), "{resident}");
    let alone = observe(&plan(), &[], folder.path(), &Heard::default());
    assert!(value(&alone, "fork_shared_peak_bytes") < 1.0);
    for name in ["peak_tree_pss_bytes", "fork_copied_bytes"] {
        match &alone.readings[name] {
            Reading::Missing { missing } => assert!(matches!(missing, Missing::NotCounted { .. })),
            other => panic!("{name}: {other:?}"),
        }
    }
}

fn stacks_of_threads_are_found_by_their_pointers() {
    let folder = tempfile::tempdir().unwrap();
    let seen = observe(&plan(), &["threads"], folder.path(), &Heard::default());
    assert_eq!(value(&seen, "threads_total"), THREADS as f64);
    let stacks = value(&seen, "thread_stacks_bytes");
    let (used, most) = ((THREADS * USED) as f64, (THREADS * (STACK + USED)) as f64);
    assert!((used..=most).contains(&stacks), "{stacks}");
    let huge = value(&seen, "thread_stacks_huge_bytes");
    assert!((0.0..=stacks).contains(&huge), "{huge}");
    let alone = observe(&plan(), &[], folder.path(), &Heard::default());
    assert_eq!(value(&alone, "threads_total"), 0.0);
    assert_eq!(value(&alone, "thread_stacks_bytes"), 0.0);
    match &alone.readings["voluntary_switches_total"] {
        Reading::Missing { missing } => assert!(matches!(missing, Missing::NotCounted { .. })),
        other => panic!("{other:?}"),
    }
}

fn a_server_that_dies_between_loads_fails_its_trials() {
    let folder = tempfile::tempdir().unwrap();
    let looks = (&Heard::default() as &dyn Steps, &NoLook as &dyn LastLook);
    let plan = plan::Service {
        warm_up_load: None,
        ..plan()
    };
    let loads = on_stage(&plan, &["crashes"], folder.path(), looks, |stage| {
        let mut server = LiveServer::start(stage)?.unwrap();
        Ok([server.load(stage, &[])?, server.load(stage, &[])?])
    });
    let said = ["ended under load", "ended between two loads"];
    for (seen, said) in loads.iter().zip(said) {
        let Outcome::ServiceFailed { party, error } = &seen.outcome else {
            panic!("{:?}", seen.outcome);
        };
        assert_eq!(*party, Party::Service);
        assert!(error.contains(said), "{error}");
    }
}

fn failures_name_their_party() {
    let folder = tempfile::tempdir().unwrap();
    let failed = |plan: &plan::Service, mode: &[&str]| {
        let seen = observe(plan, mode, folder.path(), &Heard::default());
        assert!(is_empty(folder.path()));
        let tail = String::from_utf8(seen.stderr_tail).unwrap();
        match seen.outcome {
            Outcome::ServiceFailed { party, error } => (party, error, tail),
            other => panic!("{other:?}"),
        }
    };
    let (party, error, tail) = failed(&plan(), &["dies"]);
    assert_eq!(party, Party::Service);
    assert_eq!(
        error,
        "the service ended before it was ready: exit status 3"
    );
    assert!(tail.ends_with("no configuration\n"), "{tail}");

    let (party, error, _) = failed(&plan(), &["crashes"]);
    assert_eq!(party, Party::Service);
    assert_eq!(error, "the service ended under load: killed by signal 6");

    let mut deaf = plan();
    deaf.ready = "log:never said".parse().unwrap();
    deaf.ready_timeout = Duration::from_millis(300);
    let (party, error, tail) = failed(&deaf, &[]);
    assert_eq!(
        (party, tail.as_str()),
        (Party::Service, "starting\nlistening\n")
    );
    assert!(
        error.contains("not ready within 0.3 s (log:never said)"),
        "{error}"
    );

    let mut bad = plan();
    bad.load = line(&["__load", "{port}", "3", "{dir}", "fails"]);
    let (party, error, tail) = failed(&bad, &[]);
    assert_eq!(
        (party, error.as_str()),
        (Party::Load, "the load failed: exit status 7")
    );
    assert_eq!(tail, "two errors\n");
}

fn a_server_that_stays_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan();
    plan.grace = Duration::from_millis(200);
    plan.ready = "log:^listening$".parse().unwrap();
    let seen = observe(&plan, &["stays"], folder.path(), &Heard::default());
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    assert_eq!(seen.served.unwrap().ended, ServerEnd::Killed);
    assert!(is_empty(folder.path()));
}

const STEPS: [&str; 8] = [
    "starting the service",
    "releasing the service",
    "waiting for the service",
    "warming up",
    "loading",
    "the load has ended",
    "stopping the service",
    "closing the books",
];

fn events_come_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Heard::default();
    observe(&plan(), &[], folder.path(), &heard);
    assert_eq!(*heard.0.lock().unwrap(), STEPS);
}

/// The number of living processes of the trial when its directory was read, and the content read.
#[derive(Debug, Default)]
struct Look(Mutex<Option<(usize, Vec<u8>)>>);

impl LastLook for Look {
    fn look(&self, places: &Places) {
        let dir = Path::new(&places.dir);
        let data = std::fs::read(dir.join("data")).unwrap();
        *self.0.lock().unwrap() = Some((members(dir).len(), data));
    }
}

fn the_folder_is_seen_when_all_that_wrote_there_is_dead() {
    let folder = tempfile::tempdir().unwrap();
    let (heard, look) = (Heard::default(), Look::default());
    let seen = observe_and_look(&plan(), &[], folder.path(), (&heard, &look));
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    let found = look.0.into_inner().unwrap();
    assert_eq!(found, Some((0, b"x".to_vec())));
    assert!(is_empty(folder.path()));
}

/// Publishes its port as the name of a file, and kills this process at a step.
#[derive(Debug)]
struct DieAt(AtomicUsize);

impl Steps for DieAt {
    fn step(&self, _: &str, _: &Path) {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
            // SAFETY: kills this process, and has no other effect.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
    }
}

/// `STEP FOLDER`
fn victim(words: &[String]) -> ExitCode {
    let die = DieAt(AtomicUsize::new(words[0].parse().unwrap()));
    observe(&plan(), &[], Path::new(&words[1]), &die);
    ExitCode::SUCCESS
}

/// Returns every process whose command line contains the directory, as all processes of a trial do.
fn members(folder: &Path) -> Vec<String> {
    let name = folder.to_str().unwrap();
    let lines = std::fs::read_dir("/proc").unwrap().flatten();
    lines
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.contains(name))
        .collect()
}

fn death_at_any_step_leaves_nothing() {
    for step in 0..STEPS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let status = Command::new("/proc/self/exe")
            .args(["__victim", &step.to_string(), path])
            .status()
            .unwrap();
        assert!(!status.success(), "it dies at step {step}");
        let since = Instant::now();
        while !is_empty(folder.path()) || !members(folder.path()).is_empty() {
            let late = since.elapsed() > Duration::from_secs(60);
            assert!(!late, "step {step}: {:?}", members(folder.path()));
            thread::sleep(Duration::from_millis(10));
        }
    }
}
