//! What must hold after a call has failed.

use super::*;

/// Words of the error that the program must pass on.
fn words(error: &str) -> String {
    let number = match error {
        "EINTR" => 4,
        "EIO" => 5,
        "ENOMEM" => 12,
        "ENOSPC" => 28,
        _ => 1,
    };
    let said = io::Error::from_raw_os_error(number).to_string();
    said.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// All that is wrong after a refusal.
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
    if ending.log.iter().any(|line| line == "a process is left") {
        found.push("a process is left".to_owned());
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
    if said.contains("panicked") || said.contains("this is a bug") {
        found.push("it panics".to_owned());
    }
    let is_documented = |code| Exit::ALL.iter().any(|exit| i32::from(exit.code()) == code);
    let is_out_of_memory = refusal.error == "ENOMEM" && said.contains("memory allocation of");
    match ending.code {
        Some(0) => {}
        _ if is_out_of_memory => {}
        Some(code) if is_documented(code) => {
            let both = format!("{said}{}", ending.stdout);
            if !both.contains(&words(refusal.error)) {
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

/// A record is absent, or `report` reads what is in it.
fn of_record(case: &Case) -> Option<String> {
    let record = case.path("record.jsonl");
    record.exists().then_some(())?;
    let read = case.hugewise().arg("report").arg(&record).output();
    let read = read.expect("hugewise");
    let said = String::from_utf8_lossy(&read.stderr);
    match read.status.code() {
        Some(0 | 3) => None,
        // Nothing was measured, and it says so.
        Some(2) if fs::metadata(&record).is_ok_and(|file| file.len() == 0) => None,
        code => Some(format!("report ends with {code:?}: {said}")),
    }
}
