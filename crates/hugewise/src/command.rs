//! Typing errors in the command and in what it needs are the user's to mend, before anything
//! runs: one trial failing after the other would say the same, later and less clearly.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::exit;
use crate::options::Options;

/// Refuses what cannot work.
pub fn check(options: &Options) -> Result<()> {
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
    if options.timeout == Some(Duration::ZERO) {
        return Err(exit::usage(
            "--timeout 0 would kill every trial at once; leave it out for no limit",
        ));
    }
    check_surroundings(options)?;
    match (options.shell, options.command.len()) {
        (true, 1) => Ok(()),
        (true, _) => Err(exit::usage(
            "--shell takes one line: put the command in quotes",
        )),
        // What comes before the trials may be what makes it.
        (false, _) if options.makes_programs() => Ok(()),
        (false, _) => find_program(program, options.directory.as_deref(), "--shell"),
    }
}

/// Refuses a command of a verb that takes nothing but a program and its arguments.
pub fn check_program_of(command: &[OsString]) -> Result<()> {
    match command.first() {
        Some(program) if !program.is_empty() => find_program(program, None, "-- sh -c 'LINE'"),
        _ => Err(exit::usage("the command is empty")),
    }
}

fn check_surroundings(options: &Options) -> Result<()> {
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
        // A FIFO would be opened for good, and swallow what its writer has to say.
        if path.is_file() || !path.exists() {
            File::open(path)
                .map_err(|error| exit::usage(format!("--stdin {}: {error}", path.display())))?;
        }
    }
    Ok(())
}

/// `shell` is how the verb takes a line for the shell.
fn find_program(program: &OsStr, directory: Option<&Path>, shell: &str) -> Result<()> {
    let name = program.to_string_lossy();
    if name.contains('/') {
        return check_program(&directory.unwrap_or(Path::new("")).join(program));
    }
    if exists(program) {
        return Ok(());
    }
    Err(exit::usage(format!(
        "there is no program `{name}` on the PATH; a shell line needs {shell}"
    )))
}

/// Whether there is a file for this command, by its path or on the `PATH`.
pub fn exists(program: &OsStr) -> bool {
    if program.to_string_lossy().contains('/') {
        return Path::new(program).exists();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn check_program(path: &Path) -> Result<()> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => exit::usage(format!("there is no program {shown}")),
        _ => exit::usage(format!("the program {shown}: {error}")),
    })?;
    if metadata.is_dir() {
        return Err(exit::usage(format!("{shown} is a folder, not a program")));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(exit::usage(format!(
            "{shown} may not be executed by anybody; if it is a program: chmod +x {shown}"
        )));
    }
    Ok(())
}
