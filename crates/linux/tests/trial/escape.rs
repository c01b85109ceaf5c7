//! No process escapes: orphans, daemons, timeouts, interrupts, and a killed parent.

use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hugewise_experiment::run::policy::realise::{Realisation, ThpPrctl};
use hugewise_experiment::run::trial::Outcome;
use hugewise_linux::collect::{Instruments, trial};
use hugewise_linux::machine::root::Root;

use super::observing::{counting, eventually, host, is_alive, lab, observe, said, shell, value};

pub(super) fn orphans_end_with_the_trial() {
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

/// Each daemon starts the next one in a new session and exits.
pub(super) fn daemons_that_respawn_are_caught() {
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

pub(super) fn time_over_kills_the_tree() {
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

pub(super) fn interrupts_end_the_trial() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let signal = Arc::clone(&interrupt);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        signal.store(true, Ordering::Relaxed);
    });
    let expected = Realisation::default();
    let watch = Instruments {
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

/// Measures an endless workload until killed, and reports the processes of the trial.
pub(super) fn victim() -> ExitCode {
    let file = std::env::var("HUGEWISE_TEST_FILE").unwrap();
    let line = format!(
        "sleep 600 & setsid sleep 600 & echo $$ $! $PPID > {file}.new; mv {file}.new {file}; wait"
    );
    observe(&shell(&line));
    ExitCode::SUCCESS
}

pub(super) fn a_killed_parent_leaves_nothing() {
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
