//! System calls of the program fail, one at a time, and the machine must stay unchanged: its settings, its processes,
//! its files. `hugewise-lab refuse` makes them fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hugewise_base::exit::Exit;

use crate::harness::{self, Case, HUGEWISE, is_root, lab, one_at_a_time, skip};

mod judge;
mod sweep;

use judge::defects;

/// A small run of the program that covers the calls of its verb.
#[derive(Clone, Copy, Debug)]
enum Use {
    Run,
    Report,
    Exec,
    Inspect,
    Faults,
    Stat,
    Collapse,
    Doctor,
}

impl Use {
    /// The words after the program's name; PID stands for a sleeping process.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Run => &[
                "run",
                "--system",
                "--policy",
                "defrag=defer",
                "--max-rounds",
                "1",
                "--warmup",
                "0",
                "--wait",
                "60s",
                "--out",
                "record.jsonl",
                "--",
                "true",
            ],
            Self::Report => &["report", "old.jsonl"],
            Self::Exec => &[
                "exec",
                "--system",
                "--wait",
                "60s",
                "--policy",
                "defrag=defer",
                "--",
                "true",
            ],
            Self::Inspect => &["inspect", "PID"],
            Self::Faults => &["faults", "--", "true"],
            Self::Stat => &["stat", "--", "true"],
            Self::Collapse => &["collapse", "--dry-run", "PID"],
            Self::Doctor => &["doctor"],
        }
    }

    /// The environment of the run.
    fn ground(self) -> Ground {
        let case = Case::new();
        fs::create_dir(case.path("tmp")).expect("a folder");
        if matches!(self, Self::Report) {
            let record = "../../fixtures/runs/clear-win.jsonl";
            let record = Path::new(env!("CARGO_MANIFEST_DIR")).join(record);
            fs::copy(record, case.path("old.jsonl")).expect("a record");
        }
        let sleeper = Command::new("sleep").arg("600").spawn().expect("sleep");
        Ground { case, sleeper }
    }
}

/// The environment of the program: a folder, and a process to inspect.
struct Ground {
    case: Case,
    sleeper: Child,
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.sleeper.kill();
        let _ = self.sleeper.wait();
    }
}

/// One call, and the error that it returns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Refusal {
    place: String,
    turn: usize,
    error: &'static str,
}

/// How a run of the program ended.
#[derive(Debug)]
struct Ending {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// The laboratory's log of the calls.
    log: Vec<String>,
}

impl Ground {
    /// Runs the program, with one call refused or none.
    fn run(&self, verb: Use, refusal: Option<&Refusal>) -> Ending {
        let case = &self.case;
        let log = case.path("calls");
        let mut command = Command::new(lab());
        case.surround(&mut command);
        command.env("TMPDIR", case.path("tmp"));
        match refusal {
            None => command.arg("calls").arg(&log),
            Some(it) => {
                command
                    .arg("refuse")
                    .arg(&log)
                    .args([it.error, &it.turn.to_string(), &it.place])
            }
        };
        let pid = self.sleeper.id().to_string();
        let words = verb.words().iter();
        command.arg(HUGEWISE).args(words.map(|&word| match word {
            "PID" => pid.as_str(),
            word => word,
        }));
        let output = command
            .stdin(Stdio::null())
            .output()
            .expect("the laboratory");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let log = fs::read_to_string(log).unwrap_or_default();
        Ending {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            log: log.lines().map(str::to_owned).collect(),
        }
    }
}

/// The calls whose refusal could do most harm.
const WORST: &[(Use, &str, usize, &str)] = &[
    (Use::Report, "main read ./old.jsonl", 1, "EIO"),
    (Use::Report, "main write pipe:[N]", 1, "ENOSPC"),
    (Use::Inspect, "main openat /proc/N/smaps", 1, "EPERM"),
    (Use::Inspect, "main openat /proc/N/stat", 2, "EPERM"),
    (
        Use::Collapse,
        "main openat /sys/kernel/mm/transparent_hugepage/defrag",
        1,
        "EPERM",
    ),
    (Use::Faults, "keep openat /proc/N/status", 1, "EPERM"),
    (Use::Faults, "keep write socket:[N]", 1, "EINTR"),
    (Use::Faults, "keep write socket:[N]", 1, "ENOSPC"),
    (Use::Faults, "keep read socket:[N]", 1, "EIO"),
    (
        Use::Exec,
        "main write /var/lib/hugewise/undo.json.new",
        1,
        "ENOSPC",
    ),
    (Use::Exec, "main fsync /var/lib/hugewise", 1, "EIO"),
    (
        Use::Exec,
        "main write /sys/kernel/mm/transparent_hugepage/defrag",
        1,
        "EPERM",
    ),
    (
        Use::Exec,
        "main write /sys/kernel/mm/transparent_hugepage/defrag",
        2,
        "EPERM",
    ),
    (
        Use::Exec,
        "main flock /run/hugewise/settings.lock",
        1,
        "EINTR",
    ),
    // PTRACE_CONT: a signal does not wake a process held at its exit either.
    (Use::Run, "keep ptrace h", 1, "EPERM"),
    (Use::Run, "main write ./record.jsonl", 3, "ENOSPC"),
    (Use::Run, "main fdatasync ./record.jsonl", 2, "EIO"),
];

#[test]
fn a_refused_call_leaves_the_machine_as_before() {
    if !is_root() {
        return skip(
            "a_refused_call…",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let mut found = Vec::new();
    for &(verb, place, turn, error) in WORST {
        let place = place.to_owned();
        let refusal = Refusal { place, turn, error };
        let defects = try_refusal(verb, &refusal);
        let defects = defects.unwrap_or_else(|| vec!["the call did not come".to_owned()]);
        found.extend(
            defects
                .into_iter()
                .map(|it| format!("{verb:?}, {refusal:?}: {it}")),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Refuses one call of a run, and returns the defects; `None` if the call was never made.
fn try_refusal(verb: Use, refusal: &Refusal) -> Option<Vec<String>> {
    let before = harness::settings();
    let ground = verb.ground();
    let ending = ground.run(verb, Some(refusal));
    let is_met = ending.log.iter().any(|line| line == "refused");
    is_met.then(|| defects(&ground.case, refusal, &ending, &before))
}
