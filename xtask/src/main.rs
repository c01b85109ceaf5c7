//! The project's own tools.

use clap::Parser;

mod calibrate;
mod capture;

/// The project's own tools.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
enum Task {
    /// Runs simulated experiments through the real statistics and prints how often they err.
    Calibrate(calibrate::Arguments),
    /// Freezes this machine as a fixture.
    Capture(capture::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Calibrate(arguments) => calibrate::run(&arguments),
        Task::Capture(arguments) => capture::run(&arguments),
    }
}
