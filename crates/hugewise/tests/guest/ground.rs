//! The environment of the tests: the programs, a folder, the user, and the capabilities.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use hugewise_linux::machine::root::Root;
use hugewise_linux::probe::answers::Answers;
use hugewise_linux::probe::{Environment, ask};
use serde_json::Value;

use super::expectation::Expectation;

/// The variable for the folder of the programs, if not cargo's.
const PROGRAMS: &str = "HUGEWISE_PROGRAMS";
/// Set for the second run, as the ordinary user.
const SECOND: &str = "HUGEWISE_GUEST_SECOND";
const NOBODY: u32 = 65_534;

/// The data for every test.
pub struct Ground {
    /// The expectations.
    pub expectation: Expectation,
    /// The capabilities of this user.
    pub answers: Answers,
    programs: PathBuf,
    folder: PathBuf,
}

impl Ground {
    /// Makes the folder and detects the capabilities.
    pub fn prepare(expectation: Expectation) -> Self {
        let answers = ask::ask(&Root::real(), Environment::default());
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("hugewise-guest-{id}"));
        fs::create_dir_all(&folder).unwrap();
        Self {
            expectation,
            answers,
            programs: programs(),
            folder,
        }
    }

    /// Returns true in a guest of the matrix, which includes its programs.
    pub fn is_guest(&self) -> bool {
        std::env::var_os(PROGRAMS).is_some()
    }

    /// `root` or `user`.
    pub fn user(&self) -> &'static str {
        if self.answers.euid == 0 {
            "root"
        } else {
            "user"
        }
    }

    /// Base pages in a huge page.
    pub fn pages_each(&self) -> u64 {
        let size = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        size.unwrap().trim().parse::<u64>().unwrap() / self.answers.page_bytes
    }

    /// A path in the tests' own folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The path of the laboratory.
    pub fn lab(&self) -> PathBuf {
        self.program("hugewise-lab")
    }

    /// The path of a program, whether it exists or not.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The program, ready to be started.
    pub fn start(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("hugewise"));
        command
            .args(words)
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("SUDO_UID")
            .current_dir(&self.folder);
        command
    }

    /// Runs the program to its end.
    pub fn hugewise(&self, words: &[&str]) -> Output {
        let output = self.start(words).output();
        output.unwrap_or_else(|error| panic!("starting hugewise: {error}"))
    }

    /// Runs the program, which must succeed, and gives its JSON.
    pub fn hugewise_json(&self, words: &[&str]) -> Value {
        let output = self.hugewise(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", output.status);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// Runs a laboratory workload and returns its output.
    pub fn lab_says(&self, words: &[&str]) -> String {
        let output = Command::new(self.lab()).args(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs everything again as an ordinary user, if this is root's run.
    pub fn as_ordinary_user(&self, words: &[String]) -> Option<ExitStatus> {
        if self.answers.euid != 0 || std::env::var_os(SECOND).is_some() {
            return None;
        }
        let folder = self.path("programs");
        let own = std::env::current_exe().unwrap();
        fs::create_dir_all(&folder).unwrap();
        copy(&own, &folder.join("guest"));
        for name in ["hugewise", "hugewise-lab"] {
            copy(&self.programs.join(name), &folder.join(name));
        }
        let status = Command::new(folder.join("guest"))
            .args(words)
            .env(PROGRAMS, &folder)
            .env(SECOND, "1")
            .env("HOME", "/")
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .status();
        Some(status.unwrap())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn programs() -> PathBuf {
    std::env::var_os(PROGRAMS).map_or_else(
        || Path::new(env!("CARGO_BIN_EXE_hugewise")).with_file_name(""),
        PathBuf::from,
    )
}

/// Copies a program to a place where everybody can run it.
fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
}
