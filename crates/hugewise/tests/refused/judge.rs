//! Conditions that must hold after a failed call.

use super::*;

/// The possible wordings of the cause: the error, or its meaning. A keeper that dies before its `main` prints nothing.
fn causes(error: &str) -> &'static [&'static str] {
    match error {
        "EINTR" => &["Interrupted system call"],
        "EIO" => &["Input/output error", KILLED],
        "ENOMEM" => &["Cannot allocate memory", KILLED],
        "ENOSPC" => &["No space left"],
        _ => &["not permitted", "refuses", "cannot be", KILLED],
    }
}

const KILLED: &str = "keeper of the workload was killed";

/// All defects after a refusal.
pub(super) fn defects(
    case: &Case,
    refusal: &Refusal,
    ending: &Ending,
    before: &BTreeMap<PathBuf, String>,
) -> Vec<String> {
    let mut found = of_ending(refusal, ending);
    if harness::settings() != *before {
        found.push("settings are not as before".to_owned());
    }
    for trouble in ["a process is left", "it did not end"] {
        if ending.log.iter().any(|line| line == trouble) {
            found.push(trouble.to_owned());
        }
    }
    let scratch = fs::read_dir(case.path("tmp")).expect("a folder");
    found.extend(
        scratch
            .flatten()
            .map(|entry| format!("{:?} is left", entry.path())),
    );
    if Path::new("/var/lib/hugewise/undo.json").exists() {
        found.push("the undo journal is left".to_owned());
        let _ = case.hugewise().args(["doctor", "--undo"]).output();
    }
    found.extend(of_record(case));
    found
}

fn of_ending(refusal: &Refusal, ending: &Ending) -> Vec<String> {
    let mut found = Vec::new();
    let said = &ending.stderr;
    // The runtime ends a process before `main` if its first mapping fails.
    if said.contains("initialization or cleanup bug") {
        return found;
    }
    if said.contains("panicked") || said.contains("this is a bug") {
        found.push("it panics".to_owned());
    }
    let is_documented = |code| Exit::ALL.iter().any(|exit| i32::from(exit.code()) == code);
    let is_out_of_memory = refusal.error == "ENOMEM" && said.contains("memory allocation of");
    match ending.code {
        Some(0) => {}
        _ if is_out_of_memory => {}
        // 126 is the status of `exec`, as for a shell.
        Some(code) if is_documented(code) || code == 126 => {
            let both = format!("{said}{}", ending.stdout);
            if !causes(refusal.error).iter().any(|it| both.contains(it)) {
                found.push(format!("exit {code} does not name the error"));
            }
            if refusal.error == "EINTR" {
                found.push("an interrupted call is not made again".to_owned());
            }
        }
        code => found.push(format!("exit {code:?} is not documented")),
    }
    found
}

/// A record is absent, or `report` can read it.
fn of_record(case: &Case) -> Option<String> {
    let record = case.path("record.jsonl");
    record.exists().then_some(())?;
    let read = case.hugewise().arg("report").arg(&record).output();
    let read = read.expect("hugewise");
    let said = String::from_utf8_lossy(&read.stderr);
    match read.status.code() {
        Some(0 | 3) => None,
        // Nothing was measured, and the report says so.
        Some(2) if fs::metadata(&record).is_ok_and(|file| file.len() == 0) => None,
        code => Some(format!("report ends with {code:?}: {said}")),
    }
}
