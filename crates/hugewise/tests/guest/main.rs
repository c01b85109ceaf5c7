//! Conditions that must hold on every kernel: runs in each guest of the kernel matrix (`cargo xtask vm`), and on this
//! machine by `cargo test`.
//!
//! It runs as root and then starts itself again as an ordinary user. Each result is a line that `xtask` reads
//! (`guest USER passed|failed|skipped NAME`). A skip names the missing capability, and the matrix lists the
//! capabilities that a kernel must have.

#![expect(clippy::unwrap_used, reason = "a test program may panic and print")]

use std::process::ExitCode;

mod attribute;
mod capability;
mod cases;
mod collapse;
mod doctor;
mod expectation;
mod faults;
mod ground;
mod live;
mod report;
mod run;
mod suites;
mod trace;
mod watched;
mod yama;

use expectation::Expectation;
use ground::Ground;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let expectation = match Expectation::parse(&words) {
        Ok(expectation) => expectation,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let ground = Ground::prepare(expectation);
    let failed = cases::run_all(&ground) + suites::run_all(&ground);
    let others = match ground.as_ordinary_user(&words) {
        Some(status) => status.success(),
        None => true,
    };
    ExitCode::from(u8::from(failed > 0 || !others))
}
