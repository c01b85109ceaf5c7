//! SIGKILL at every step of an experiment and of its undoing: all settings are restored.
//!
//! The tests here fork, and a child inherits every lock of its parent until it ends; so they run one after the other,
//! in a separate process.

#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

mod ground;
mod skipping;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ground::{Ground, path_of, writes};
use hugewise_experiment::run::policy::realise::{FileWrite, Realisation};
use hugewise_linux::apply::Machine;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::lock::{self, Hold};
use hugewise_linux::machine::root::Root;
use hugewise_linux::undo::{JournalFound, Steps, UndoFolder, undo};

static TURN: Mutex<()> = Mutex::new(());

fn my_turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the process at the given step.
#[derive(Debug)]
struct DieAt {
    steps_left: AtomicUsize,
}

impl DieAt {
    fn step(step: usize) -> Self {
        Self {
            steps_left: AtomicUsize::new(step),
        }
    }
}

impl Steps for DieAt {
    fn step(&self, _: &str, _: &Path) {
        if self.steps_left.fetch_sub(1, Ordering::Relaxed) == 0 {
            // SAFETY: kills this process, and has no other effect.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Killed,
    Exited(i32),
}

/// Runs `life` in a child process; its return value is the exit status.
fn in_a_child(life: impl FnOnce() -> i32) -> End {
    // SAFETY: the child has one thread and may meet locks that others held at the fork; glibc
    // keeps its allocator usable, and nothing else in `life` takes a lock. It ends in `_exit`
    // or by a signal, so it runs none of the parent's destructors.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        let status = life();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: `pid` is our child and `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    if libc::WIFSIGNALED(status) {
        assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
        return End::Killed;
    }
    End::Exited(libc::WEXITSTATUS(status))
}

fn policies() -> [Realisation; 2] {
    [
        writes(&[("enabled", "always"), ("hugepages-64kB/enabled", "inherit")]),
        writes(&[("defrag", "never"), ("khugepaged/max_ptes_none", "0")]),
    ]
}

/// Runs an experiment of two trials that dies at a step; the exit status is 0 if it survives.
fn experiment(ground: &Ground, step: usize) -> End {
    in_a_child(|| {
        let place = ground.place().watched_by(DieAt::step(step));
        let [a, b] = policies();
        let mut machine = Machine::begin(ground.lock(), place, &[&a, &b]).unwrap();
        drop(machine.apply(&a).unwrap());
        let left = machine.drift().unwrap();
        drop(machine.apply(&b).unwrap());
        i32::from(!left.is_empty() || !machine.finish().unwrap().is_empty())
    })
}

fn undoing(ground: &Ground, step: usize) -> End {
    in_a_child(|| {
        let place = ground.place().watched_by(DieAt::step(step));
        let report = undo(&ground.lock(), &place).unwrap();
        i32::from(!report.left_behind.is_empty())
    })
}

/// Returns the number of steps of `life`, by running it until it survives.
fn deaths(mut life: impl FnMut(usize) -> End) -> usize {
    for step in 0..1000 {
        match life(step) {
            End::Killed => {}
            End::Exited(status) => {
                assert_eq!(status, 0, "step {step}");
                return step;
            }
        }
    }
    panic!("it never ends");
}

#[test]
fn an_experiment_killed_at_any_step_is_undone() {
    let _turn = my_turn();
    let steps = deaths(|step| {
        let ground = Ground::new();
        let end = experiment(&ground, step);
        let lock = ground.lock();
        let report = undo(&lock, &ground.place()).unwrap();
        assert_eq!(report.left_behind, [], "step {step}");
        ground.assert_untouched(&format!("after a kill at step {step}"));
        let again = undo(&lock, &ground.place()).unwrap();
        assert_eq!(again.found, JournalFound::Nothing);
        end
    });
    // Creating the directory, writing, syncing and renaming the journal; four settings changed and restored; removing
    // the journal: each before and after.
    assert!(steps >= 2 * (6 + 8 + 2), "{steps} steps");
}

#[test]
fn a_pool_that_got_only_some_of_its_pages_is_given_back() {
    let _turn = my_turn();
    const POOL: &str = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let policy = Realisation {
        files: vec![FileWrite {
            path: POOL.to_owned(),
            value: "64".to_owned(),
        }],
        ..Realisation::default()
    };
    for (found, left) in [("64", 0), ("40", 0), ("0", 0), ("99", 1)] {
        let ground = Ground::new();
        ground.write(POOL, "2\n");
        let end = in_a_child(|| {
            let place = ground.place();
            let mut machine = Machine::begin(ground.lock(), place, &[&policy]).unwrap();
            let _applied = machine.apply(&policy).unwrap();
            DieAt::step(0).step("dying", Path::new(""));
            1
        });
        assert_eq!(end, End::Killed);
        // As if no more huge pages were free.
        ground.write(POOL, found);
        let report = undo(&ground.lock(), &ground.place()).unwrap();
        // A size outside the range of the experiment was chosen by another program; the original is 2.
        let foreign = usize::from(left == 1 || found == "0");
        assert_eq!(report.left_behind.len(), foreign, "{found}");
        let now = ground.value(POOL);
        assert_eq!(now, if foreign == 0 { "2" } else { found });
    }
}

#[test]
fn an_undo_killed_at_any_step_is_repeated() {
    let _turn = my_turn();
    let mut undo_steps = 0;
    let experiment_steps = deaths(|step| experiment(&Ground::new(), step));
    for step in 0..experiment_steps {
        undo_steps += deaths(|undo_step| {
            let ground = Ground::new();
            assert_eq!(experiment(&ground, step), End::Killed);
            let end = undoing(&ground, undo_step);
            let report = undo(&ground.lock(), &ground.place()).unwrap();
            assert_eq!(report.left_behind, []);
            ground.assert_untouched(&format!("after kills at {step} and {undo_step}"));
            end
        });
    }
    assert!(undo_steps > experiment_steps, "{undo_steps} steps");
}

#[test]
fn a_full_disk_stops_the_experiment_before_it_changes_anything() {
    let _turn = my_turn();
    let ground = Ground::new();
    let end = in_a_child(|| {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: both calls change only this child: no file may grow, and the resulting signal is ignored, so that
        // writing fails as on a full disk.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const none);
        }
        let [a, b] = policies();
        let begun = Machine::begin(ground.lock(), ground.place(), &[&a, &b]);
        i32::from(begun.is_ok())
    });
    assert_eq!(end, End::Exited(0));
    ground.assert_untouched("after a full disk");
}

#[test]
fn the_lock_is_not_handed_to_children() {
    let _turn = my_turn();
    let ground = Ground::new();
    let held = ground.lock();
    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its answer proves that it has executed `cat`, and that exec has closed the files.
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    drop(held);
    let again = lock::hold(&ground.path(""));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(again.is_ok(), "{again:?}");
}

#[test]
fn the_lock_goes_with_the_process_that_is_killed() {
    let _turn = my_turn();
    let ground = Ground::new();
    let end = in_a_child(|| {
        let _held = ground.lock();
        DieAt::step(0).step("holding", Path::new(""));
        1
    });
    assert_eq!(end, End::Killed);
    drop(ground.lock());
}

/// Returns every setting below the THP directory and its followers, without the counters.
fn real_settings() -> BTreeMap<PathBuf, String> {
    let mut settings = BTreeMap::new();
    collect_files(&Path::new("/").join(path_of("")), &mut settings);
    let min_free = Path::new("/").join(ground::MIN_FREE);
    settings.insert(min_free.clone(), fs::read_to_string(min_free).unwrap());
    settings
}

fn collect_files(folder: &Path, settings: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let counter = ["stats", "pages_collapsed", "full_scans"]
            .iter()
            .any(|name| path.ends_with(name));
        if counter {
            continue;
        }
        if path.is_dir() {
            collect_files(&path, settings);
        } else if let Ok(value) = fs::read_to_string(&path) {
            settings.insert(path, value);
        }
    }
}

/// Takes the lock of the machine, after waiting for a running measurement.
fn real_lock() -> Hold {
    for _ in 0..1000 {
        match lock::hold(&lock::default_dir()) {
            Ok(lock) => return lock,
            Err(error) if matches!(error.kind, Kind::Busy { .. }) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("another experiment holds the machine")
}

/// Runs one trial on the real machine that dies at a step.
fn real_experiment(state: &Path, mode: &str, step: usize) -> End {
    let policy = writes(&[("enabled", mode)]);
    let place = UndoFolder::new(&Root::real(), state);
    in_a_child(|| {
        let place = place.watched_by(DieAt::step(step));
        let mut machine = Machine::begin(real_lock(), place, &[&policy]).unwrap();
        drop(machine.apply(&policy).unwrap());
        i32::from(!machine.finish().unwrap().is_empty())
    })
}

/// Restores `enabled` if the tested code fails to.
struct Rescue {
    enabled: PathBuf,
    original: String,
}

impl Drop for Rescue {
    fn drop(&mut self) {
        fs::write(&self.enabled, &self.original).unwrap();
    }
}

#[test]
fn the_real_machine_comes_back_from_a_kill_at_any_step() {
    let _turn = my_turn();
    let enabled = Path::new("/").join(path_of("enabled"));
    if fs::OpenOptions::new().write(true).open(&enabled).is_err() {
        let reason = format!("{} is not writable", enabled.display());
        return skipping::skip(
            "the_real_machine_comes_back_from_a_kill_at_any_step",
            &reason,
        );
    }
    let folder = tempfile::TempDir::new().unwrap();
    let place = UndoFolder::new(&Root::real(), folder.path());
    let before = real_settings();
    let original = place.value(&path_of("enabled")).unwrap();
    let _rescue = Rescue {
        enabled,
        original: original.clone(),
    };
    for mode in ["always", "never"] {
        let mut restored = 0;
        deaths(|step| {
            let end = real_experiment(folder.path(), mode, step);
            let report = undo(&real_lock(), &place).unwrap();
            assert_eq!(report.left_behind, []);
            assert_eq!(real_settings(), before, "{mode}, killed at step {step}");
            restored += report.restored.len();
            end
        });
        // Killed after the write and before the restoration, unless nothing was to be changed.
        assert!(restored >= 2 || original == mode, "{mode}: {restored}");
    }
}
