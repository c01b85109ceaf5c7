//! The environment for tests of the program: a folder, a turn, a process to signal.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Plain, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

mod oracle;
pub mod report;

#[path = "../skipping/mod.rs"]
mod skipping;

pub use skipping::{is_root, skip};

pub const HUGEWISE: &str = env!("CARGO_BIN_EXE_hugewise");
/// An unprivileged user.
pub const NOBODY: u32 = 65_534;

/// Experiments hold the machine's lock and change its settings, so tests that run one, or whose result depends on the
/// settings, take turns.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if capabilities can be granted to other processes.
pub fn can_grant(name: &str) -> bool {
    let there = Plain::new("setpriv").arg("--version").output().is_ok();
    if !is_root() || !there {
        skip(name, "needs root and setpriv, to give capabilities away");
        return false;
    }
    true
}

/// Readings of one policy, in the order of the trials.
pub fn readings(report: &Value, policy: &str, metric: &str) -> Vec<f64> {
    let trials = report["trials"].as_array().expect("trials");
    trials
        .iter()
        .filter(|trial| trial["policy"] == policy)
        .map(|trial| {
            trial["readings"][metric]["value"]
                .as_f64()
                .unwrap_or(f64::NAN)
        })
        .collect()
}

/// The laboratory, built in the same folder as the program.
pub fn lab() -> PathBuf {
    let path = Path::new(HUGEWISE).with_file_name("hugewise-lab");
    assert!(path.exists(), "build it first: cargo build -p hugewise-lab");
    path
}

/// How many processes have this word on their command line.
pub fn processes_with(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| {
            line.split(|&byte| byte == 0)
                .skip(1)
                .any(|part| part == word.as_bytes())
        })
        .filter(|line| line.starts_with(b"sleep"))
        .count()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "waited in vain: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The size of the pool of 2 MiB pages.
pub const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

/// The memory cgroups of experiments next to and below our own; `None` if cgroups cannot be created there.
pub fn cgroups() -> Option<Vec<PathBuf>> {
    let root = hugewise_linux::machine::root::Root::real();
    let place = hugewise_linux::sys::cgroup::read_place(&root).ok()??;
    let own = root.path(place.folder());
    let beside = own.parent().map(PathBuf::from);
    let entries = std::iter::once(own).chain(beside);
    let entries = entries.filter_map(|folder| std::fs::read_dir(folder).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("hugewise-"))
    };
    Some(paths.filter(is_ours).collect())
}

/// The mode that `thp=` sets.
pub fn thp_mode() -> String {
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = std::fs::read_to_string(file).expect("a setting");
    let word = text.split(['[', ']']).nth(1);
    word.expect("a mode").to_owned()
}

/// Every system setting that a policy can write, without counters.
pub fn settings() -> BTreeMap<PathBuf, String> {
    fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "stats" {
                    walk(&path, found);
                }
            } else if name != "pages_collapsed"
                && name != "full_scans"
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                found.insert(path, text);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(Path::new("/sys/kernel/mm/transparent_hugepage"), &mut found);
    let min_free = std::fs::read_to_string("/proc/sys/vm/min_free_kbytes").expect("a sysctl");
    found.insert("vm.min_free_kbytes".into(), min_free);
    if let Ok(pool) = std::fs::read_to_string(POOL) {
        found.insert(POOL.into(), pool);
    }
    found
}

/// A folder for one test, with the program's state.
pub struct Case {
    folder: TempDir,
}

impl Case {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("hugewise-test")
            .tempdir()
            .expect("a folder");
        // An ordinary user must be able to write here too.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).expect("permissions");
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn hugewise(&self) -> Command {
        Command::from_std(self.plain())
    }

    /// The same as an ordinary user. The program is copied, because the build folder may be accessible only to root.
    pub fn hugewise_as_nobody(&self) -> Command {
        let copy = self.path("hugewise");
        std::fs::copy(HUGEWISE, &copy).expect("a copy");
        let mut command = Plain::new(copy);
        self.surround(&mut command);
        command.uid(NOBODY).gid(NOBODY);
        Command::from_std(command)
    }

    /// As an ordinary user with only the named capabilities, such as `+bpf,+perfmon`; needs setpriv(1).
    pub fn hugewise_with(&self, grants: &str) -> Command {
        let copy = self.path("hugewise");
        std::fs::copy(HUGEWISE, &copy).expect("a copy");
        let mut command = Plain::new("setpriv");
        self.surround(&mut command);
        let nobody = NOBODY.to_string();
        command
            .args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"])
            .args(["--inh-caps", grants, "--ambient-caps", grants])
            .arg(copy);
        Command::from_std(command)
    }

    pub fn plain(&self) -> Plain {
        let mut command = Plain::new(HUGEWISE);
        self.surround(&mut command);
        command
    }

    /// Sets the variables and the folder of a test.
    pub fn surround(&self, command: &mut Plain) {
        command
            .env("XDG_STATE_HOME", self.path("state"))
            .env("COLUMNS", "80")
            .env_remove("SUDO_UID")
            .current_dir(self.folder.path());
    }

    pub fn json(&self, path: &Path) -> Value {
        serde_json::from_slice(&std::fs::read(path).expect("the report")).expect("JSON")
    }

    /// Returns the report that a command makes from a record.
    pub fn report(&self, words: &[&str], record: &Path) -> Value {
        let mut command = self.hugewise();
        command.args(words).arg(record).args(["--format", "json"]);
        let done = command.assert().success();
        serde_json::from_slice(&done.get_output().stdout).expect("JSON")
    }

    /// Writes a kept record of two policies, as if it had been made `later_ms` milliseconds later.
    pub fn kept_run(&self, record: &Path, later_ms: u64) {
        const KEPT: &str = include_str!("../../../../fixtures/runs/no-effect.jsonl");
        let (before, rest) = KEPT.split_once("\"created_unix_ms\":").expect("its time");
        let (began, after) = rest.split_once(',').expect("its end");
        let began = began.parse::<u64>().expect("milliseconds") + later_ms;
        let text = format!("{before}\"created_unix_ms\":{began},{after}");
        std::fs::write(record, text).expect("a record");
    }

    pub fn quick_run(&self, record: &Path) {
        self.hugewise()
            .args([
                "run",
                "--policy",
                "as-is",
                "--policy",
                "thp=never",
                "--max-rounds",
                "3",
                "--wait",
                "60s",
                "--out",
            ])
            .arg(record)
            .args(["--", "true"])
            .assert()
            .success();
    }

    pub fn spawn(&self, arguments: &[&str]) -> Running {
        self.spawn_of(self.plain(), arguments)
    }

    /// The same with a command prepared by the caller.
    pub fn spawn_of(&self, mut command: Plain, arguments: &[&str]) -> Running {
        let record = self.path("running.jsonl");
        command
            .arg(arguments[0])
            .args(["--wait", "60s", "--out"])
            .arg(&record)
            .args(&arguments[1..]);
        Running::of(command, &record)
    }

    /// An experiment that adds rounds to a record.
    pub fn spawn_to_continue(&self, record: &Path) -> Running {
        let mut command = self.plain();
        command.args(["run", "--wait", "60s", "--continue"]);
        command.arg(record);
        Running::of(command, record)
    }
}

/// Kills a program with all its children, including its guardian, as when a container is killed. It is stopped first,
/// so that it restores nothing when its children end.
pub fn kill_with_children(program: &mut Child) {
    let id = program.id().to_string();
    let kill = |command: &str, arguments: [&str; 2]| {
        let status = Plain::new(command).args(arguments).arg(&id).status();
        assert!(status.expect("a signal").success());
    };
    kill("kill", ["-s", "STOP"]);
    kill("pkill", ["-KILL", "-P"]);
    kill("kill", ["-s", "KILL"]);
    program.wait().expect("its end");
}

/// A running experiment.
pub struct Running {
    child: Child,
    record: PathBuf,
}

/// How it ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    fn of(mut command: Plain, record: &Path) -> Self {
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null());
        Self {
            child: command.spawn().expect("hugewise"),
            record: record.to_owned(),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the record has the trials of this many rounds.
    pub fn wait_for_rounds(&mut self, rounds: usize) {
        let last = format!("\"round\":{}", rounds - 1);
        wait_until("the record grows", || {
            std::fs::read_to_string(&self.record).is_ok_and(|text| text.contains(&last))
        });
    }

    /// Returns true if it has ended.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    pub fn signal(&mut self, name: &str) {
        let status = Plain::new("kill")
            .arg(format!("-{name}"))
            .arg(self.id().to_string())
            .status();
        assert!(status.expect("kill").success());
    }

    /// Kills its keeper, as another process or the kernel might.
    pub fn kill_children(&mut self) {
        let mut keepers = Vec::new();
        wait_until("a keeper", || {
            keepers = self.keepers();
            !keepers.is_empty()
        });
        let killed = Plain::new("kill").arg("-KILL").args(keepers).status();
        assert!(killed.expect("kill").success());
    }

    fn keepers(&self) -> Vec<String> {
        let id = self.id();
        let path = format!("/proc/{id}/task/{id}/children");
        let children = std::fs::read_to_string(path).expect("its children");
        let is_keeper = |pid: &&str| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("__keep")
        };
        let keepers = children.split_whitespace().filter(is_keeper);
        keepers.map(str::to_owned).collect()
    }

    pub fn end(&mut self, within: Duration) -> Ended {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                break status;
            }
            assert!(began.elapsed() < within, "still running after {within:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let read = |pipe: Option<&mut dyn Read>| {
            let mut text = String::new();
            if let Some(pipe) = pipe {
                pipe.read_to_string(&mut text).expect("text");
            }
            text
        };
        Ended {
            code: status.code(),
            stdout: read(self.child.stdout.as_mut().map(|pipe| pipe as &mut dyn Read)),
            stderr: read(self.child.stderr.as_mut().map(|pipe| pipe as &mut dyn Read)),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A system setting that a test changes; restored at the end.
pub struct Restored {
    path: &'static str,
    was: String,
}

impl Restored {
    pub fn of(path: &'static str) -> Self {
        let text = std::fs::read_to_string(path).expect("a setting");
        let chosen = text.split_whitespace().find_map(|word| {
            let word = word.strip_prefix('[')?;
            word.strip_suffix(']')
        });
        let was = chosen.unwrap_or(text.trim()).to_owned();
        Self { path, was }
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        std::fs::write(self.path, &self.was).expect("the old setting");
    }
}

/// A small tmpfs that fills up soon.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn mount(path: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir(path).expect("a folder");
        let options = format!("size={size}");
        let mount = Plain::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(path)
            .status();
        mount
            .is_ok_and(|status| status.success())
            .then(|| Self(path.to_owned()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Plain::new("umount").arg(&self.0).status();
    }
}
