//! The limit of open files of this process.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The descriptors needed to start a keeper: two sockets, four pipe ends, and some of the standard library.
const START: usize = 12;

/// Descriptors reserved for starting a keeper, so that counters cannot use the last ones.
static ROOM: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// The limit that this process was started with.
static GIVEN: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit as far as possible, because each counter needs a descriptor. Programs started by hugewise get the
/// original limit.
pub fn raise() {
    let given = GIVEN.get_or_init(|| getrlimit(Resource::Nofile));
    let raised = Rlimit {
        current: given.maximum,
        ..*given
    };
    let _ = setrlimit(Resource::Nofile, raised);
    fill();
}

/// Reserves as many as a start needs, but at most a quarter of the limit.
fn fill() {
    let most = GIVEN.get().and_then(|given| given.maximum);
    let most = most.map_or(START, |most| usize::try_from(most / 4).unwrap_or(START));
    let count = most.min(START);
    let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
    while room.len() < count
        && let Ok(file) = File::open("/dev/null")
    {
        room.push(file);
    }
}

/// Free descriptors for a start, until this is dropped.
#[derive(Debug)]
pub(crate) struct Room(());

impl Room {
    /// Releases the reserved descriptors.
    pub(crate) fn make() -> Self {
        let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        room.clear();
        Self(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if GIVEN.get().is_some() {
            fill();
        }
    }
}

/// Returns the limit for started programs, if it differs from the current one.
pub(crate) fn given() -> Option<u64> {
    GIVEN.get().and_then(|given| given.current)
}

/// Makes a program start with the original limit of this process.
pub(crate) fn give_back(command: &mut Command) {
    let Some(given) = given() else { return };
    // SAFETY: the closure allocates nothing and makes system calls only.
    unsafe {
        command.pre_exec(move || {
            lower(given);
            Ok(())
        });
    }
}

/// Lowers the limit of this process. Makes system calls only. A refusal leaves a higher limit, which does no harm.
pub(crate) fn lower(current: u64) {
    let now = getrlimit(Resource::Nofile);
    let given = Rlimit {
        current: Some(current),
        ..now
    };
    let _ = setrlimit(Resource::Nofile, given);
}

/// Returns advice if too many files are open; empty for other errors.
#[must_use]
pub fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; allow more: ulimit -n 1024",
        Some(libc::ENFILE) => "; close programs, or raise fs.file-max",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lack_of_descriptors_has_a_hint() {
        let hint_of = |number| hint(&io::Error::from_raw_os_error(number));
        assert!(hint_of(libc::EMFILE).contains("ulimit -n"));
        assert_eq!(hint_of(libc::ENOENT), "");
    }
}
