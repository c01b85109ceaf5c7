//! A plant in a child.

use std::io;

use crate::Trouble;

/// Continues in a child. The parent waits for it with all its memory, and ends with the same status.
///
/// If the parent is killed, so is the child.
pub(super) fn become_child() -> Result<(), Trouble> {
    // SAFETY: plants that fork have one thread.
    match unsafe { libc::fork() } {
        -1 => Err(Trouble::last("forking")),
        0 => {
            // SAFETY: only numbers are passed.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
            Ok(())
        }
        child => std::process::exit(status_of(child)),
    }
}

fn status_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for the answer.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            break;
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return 1;
        }
    }
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        1
    }
}
