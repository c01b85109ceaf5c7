//! Refuses options that would make every trial fail. A failure of all trials would come later and be less clear.

use std::time::Duration;

use anyhow::Result;
use hugewise_experiment::run::plan::Program;

use super::Options;
use crate::{exit, file, program};

/// Refuses a workload that cannot work.
pub fn check_workload(options: &Options, programs: &[Program]) -> Result<()> {
    if options.timeout == Some(Duration::ZERO) {
        return Err(exit::usage(
            "--timeout 0 would kill every trial at once; leave it out for no limit",
        ));
    }
    check_paths(options)?;
    match programs.is_empty() {
        true => check_command(options),
        false => options.check_found(programs),
    }
}

fn check_command(options: &Options) -> Result<()> {
    let Some(program) = options.command.first() else {
        return Err(exit::usage(
            "no command to run; write: hugewise run -- COMMAND [ARGUMENTS]",
        ));
    };
    if program.is_empty() {
        return Err(exit::usage(
            "the command is empty; write: hugewise run -- COMMAND [ARGUMENTS]",
        ));
    }
    match (options.shell, options.command.len()) {
        (true, 1) => Ok(()),
        (true, _) => Err(exit::usage(
            "--shell takes one line: put the command in quotes",
        )),
        // A command that runs before the trials may create the program.
        (false, _) if options.makes_programs() => Ok(()),
        (false, _) => program::find(program, options.directory.as_deref(), "--shell"),
    }
}

fn check_paths(options: &Options) -> Result<()> {
    if let Some(path) = &options.directory
        && !path.is_dir()
    {
        return Err(exit::usage(format!(
            "--directory {}: there is no such folder",
            path.display()
        )));
    }
    if let Some(path) = &options.stdin {
        if path.is_dir() {
            return Err(exit::usage(format!(
                "--stdin {}: it is a folder; name a file",
                path.display()
            )));
        }
        // Opening a FIFO would block, and consume its writer's data.
        if path.is_file() || !path.exists() {
            file::open(path)
                .map_err(|error| exit::usage(format!("--stdin {}: {error}", path.display())))?;
        }
    }
    Ok(())
}
