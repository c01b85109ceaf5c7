//! The project's own tools.

use clap::Parser;

mod calibrate;

/// The project's own tools.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
enum Task {
    /// Runs simulated experiments through the real statistics and prints how often they err.
    Calibrate(calibrate::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Calibrate(arguments) => calibrate::run(&arguments),
    }
}
