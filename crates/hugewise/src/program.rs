//! Checks the program that a command names, so that typing errors are reported before anything runs.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit;

/// Refuses a command whose program cannot be found.
pub fn check(command: &[OsString]) -> Result<()> {
    match command.first() {
        Some(program) if !program.is_empty() => find(program, None, "-- sh -c 'LINE'"),
        _ => Err(exit::usage("the command is empty")),
    }
}

/// Does the same for a verb that can also observe a running process, and explains that a PID is not a program.
pub fn check_observed(command: &[OsString]) -> Result<()> {
    let pid = command
        .first()
        .and_then(|word| running(&word.to_string_lossy()));
    match pid.filter(|_| command.len() == 1 && !exists(&command[0])) {
        Some(pid) => Err(exit::usage(format!(
            "{pid} is a process, not a program; write: -p {pid}"
        ))),
        None => check(command),
    }
}

/// The PID, if the word is the PID of a running process.
pub fn running(word: &str) -> Option<u32> {
    let pid: u32 = word.parse().ok()?;
    Path::new("/proc")
        .join(pid.to_string())
        .exists()
        .then_some(pid)
}

/// Refuses a program that does not exist or cannot be executed; `shell` is how the verb takes a line for the shell.
pub fn find(program: &OsStr, directory: Option<&Path>, shell: &str) -> Result<()> {
    let name = program.to_string_lossy();
    if name.contains('/') {
        return check_file(&directory.unwrap_or(Path::new("")).join(program));
    }
    if exists(program) {
        return Ok(());
    }
    let here = directory.unwrap_or(Path::new(".")).join(program);
    let fix = match here.is_file() {
        true => format!("the file here is ./{name}"),
        false => format!("a shell line needs {shell}"),
    };
    Err(exit::usage(format!(
        "there is no program `{name}` on the PATH; {fix}"
    )))
}

/// Returns true if the command's file exists, by its path or on the `PATH`.
pub fn exists(program: &OsStr) -> bool {
    file(program, None).is_some()
}

/// The file of a command, by its path relative to a folder or on the `PATH`.
pub fn file(program: &OsStr, directory: Option<&Path>) -> Option<PathBuf> {
    if program.to_string_lossy().contains('/') {
        let path = directory.unwrap_or(Path::new("")).join(program);
        return Some(path).filter(|path| path.exists());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

fn check_file(path: &Path) -> Result<()> {
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
            "{shown} is not executable; if it is a program: chmod +x {shown}"
        )));
    }
    Ok(())
}
