//! `hugewise completions`: prints the completion script of a shell.

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::output;

/// Flags of `completions`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "hugewise", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
