//! Separate test programs, in the same folder of a guest. On this machine `cargo test` runs them directly.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::ground::Ground;
use super::report::{self, Outcome};

/// The suite that plants memory in a known state and has it judged.
const CONFUSION: &str = "confusion";
/// The folder of a guest with files outside shared memory (tmpfs).
const FILES: &str = "/files";
/// Its name in the table.
const NAME: &str = "inspect: what was planted is reported";

/// Runs the suites as root; they switch to an ordinary user themselves. Returns the number of failures.
pub fn run_all(ground: &Ground) -> usize {
    if ground.user() != "root" || !ground.is_guest() {
        return 0;
    }
    let began = Instant::now();
    let outcome = confusion(ground);
    report::print(ground.user(), NAME, &outcome);
    report::print_time(ground.user(), NAME, began.elapsed());
    usize::from(outcome != Outcome::Passed)
}

fn confusion(ground: &Ground) -> Outcome {
    let table = ground.path("confusion.json");
    let mut command = Command::new(ground.program(CONFUSION));
    command
        .arg("--nocapture")
        .env("HUGEWISE_CONFUSION", &table)
        .current_dir(ground.path(""));
    if Path::new(FILES).exists() {
        command.env("TMPDIR", FILES);
    }
    let output = command.output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Outcome::Failed(format!("it did not start: {error}")),
    };
    report::print_table(CONFUSION, &fs::read_to_string(table).unwrap_or_default());
    if output.status.success() {
        return Outcome::Passed;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let start = said.find("panicked").unwrap_or(0);
    Outcome::Failed(said[start..].to_owned())
}
