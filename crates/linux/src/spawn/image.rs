//! The data for exec, prepared before the fork: between fork and exec nothing may allocate.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::ptr;

use super::wire::Order;
use crate::machine::identity::is_root;

/// Program, arguments and environment in the kernel's format.
#[derive(Debug)]
pub(super) struct Image {
    /// Possible paths of the program, in the order of `PATH`.
    candidates: Vec<CString>,
    arguments: Pointers,
    environment: Pointers,
    /// `/bin/sh`, a slot for the script, and the arguments: for scripts whose first line names no interpreter, as in
    /// execvp(3).
    shell: Pointers,
}

const SHELL: &CStr = c"/bin/sh";

impl Image {
    /// # Errors
    /// A sentence: something contains a NUL byte, or the command is empty.
    pub(super) fn prepare(order: &Order) -> Result<Self, String> {
        let program = order.command.first().ok_or("no command was given")?;
        let environment = merged(order);
        let path = environment.get(b"PATH".as_slice()).cloned();
        let arguments = strings(order.command.iter().cloned())?;
        let mut shell = vec![SHELL.to_owned(), SHELL.to_owned()];
        shell.extend(arguments.iter().skip(1).cloned());
        let pairs = environment
            .into_iter()
            .map(|(name, value)| [name, value].join(&b'='));
        Ok(Self {
            candidates: strings(candidates(program, path.as_deref()).into_iter())?,
            arguments: Pointers::to(arguments),
            environment: Pointers::to(strings(pairs)?),
            shell: Pointers::to(shell),
        })
    }

    /// Returns the first candidate that is a file, which exec will most likely run.
    pub(super) fn likely_path(&self) -> Option<&OsStr> {
        self.candidates
            .iter()
            .map(|path| OsStr::from_bytes(path.to_bytes()))
            .find(|path| std::path::Path::new(path).is_file())
    }

    /// Returns true if the command is a set-user-ID or set-group-ID program and this process is not root
    /// (`LSM_UNSAFE_PTRACE`, security/commoncap.c).
    pub(super) fn would_lose_privilege(order: &Order) -> bool {
        const SET_ID: u32 = 0o6000;
        let image = Self::prepare(order).ok();
        let path = image.as_ref().and_then(Self::likely_path);
        let mode = path.and_then(|path| std::fs::metadata(path).ok());
        !is_root() && mode.is_some_and(|file| file.permissions().mode() & SET_ID != 0)
    }

    /// Executes the program; returns the error number if no candidate could be run. As in execvp(3), a refusal anywhere
    /// on `PATH` takes precedence over a missing file. A directory on `PATH` that may not be searched does not: under
    /// sudo it is often private to root.
    ///
    /// Allocates nothing, so it can be called between fork and exec.
    pub(super) fn execute(&mut self) -> i32 {
        let mut answer = libc::ENOENT;
        for candidate in &self.candidates {
            match become_program(candidate, &self.arguments, &self.environment) {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES if self.candidates.len() > 1 && !exists(candidate) => {}
                libc::EACCES => answer = libc::EACCES,
                libc::ENOEXEC => {
                    self.shell.pointers[1] = candidate.as_ptr();
                    return become_program(SHELL, &self.shell, &self.environment);
                }
                other => return other,
            }
        }
        answer
    }
}

/// Returns true if a file is visible. Makes one system call.
fn exists(path: &CStr) -> bool {
    // SAFETY: the path ends in NUL.
    unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
}

fn become_program(path: &CStr, arguments: &Pointers, environment: &Pointers) -> i32 {
    let (arguments, environment) = (arguments.pointers.as_ptr(), environment.pointers.as_ptr());
    // SAFETY: both arrays end in null and point to strings that `Pointers` keeps alive.
    unsafe { libc::execve(path.as_ptr(), arguments, environment) };
    super::calls::errno()
}

/// A null-terminated array of pointers, and their strings.
#[derive(Debug)]
struct Pointers {
    pointers: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

impl Pointers {
    fn to(strings: Vec<CString>) -> Self {
        // The buffers of the strings do not move with the vector.
        let pointers = strings.iter().map(|string| string.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _strings: strings,
        }
    }
}

fn strings(bytes: impl Iterator<Item = Vec<u8>>) -> Result<Vec<CString>, String> {
    bytes
        .map(|bytes| {
            CString::new(bytes).map_err(|error| {
                let text = String::from_utf8_lossy(&error.into_vec()).into_owned();
                format!("`{}` contains a NUL byte", text.replace('\0', "\\0"))
            })
        })
        .collect()
}

/// Returns the environment of this process, overridden by the order's variables.
fn merged(order: &Order) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let own = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    own.chain(order.environment.iter().cloned()).collect()
}

/// Returns the paths that execvp(3) tries: the name if it has a slash, else the name in every directory of `path`.
fn candidates(program: &[u8], path: Option<&[u8]>) -> Vec<Vec<u8>> {
    if program.is_empty() || program.contains(&b'/') {
        return vec![program.to_vec()];
    }
    path.unwrap_or(b"/bin:/usr/bin")
        .split(|&byte| byte == b':')
        .map(|folder| match folder {
            [] => program.to_vec(),
            _ => [folder, program].join(&b'/'),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_slash_are_searched_for() {
        let found = candidates(b"sort", Some(b"/a::/b"));
        assert_eq!(
            found,
            [b"/a/sort".to_vec(), b"sort".to_vec(), b"/b/sort".to_vec()]
        );
        assert_eq!(candidates(b"./sort", Some(b"/a")), [b"./sort".to_vec()]);
        assert_eq!(candidates(b"", Some(b"/a")), [b"".to_vec()]);
    }

    #[test]
    fn nul_bytes_are_refused_with_a_sentence() {
        let error = strings([b"a\0b".to_vec()].into_iter()).unwrap_err();
        assert_eq!(error, "`a\\0b` contains a NUL byte");
    }
}
