//! Probes that need a child process: the THP switch applies to the whole address space, and advice to another process
//! needs another process.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::probe::answers::Answer;

/// `PR_THP_DISABLE_EXCEPT_ADVISED` (include/uapi/linux/prctl.h, Linux 6.18).
const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// Returns the switch inherited by this process: 0, 1 or 3; `None` if the kernel refused.
pub(super) fn thp_disable() -> Option<i32> {
    let nought: libc::c_ulong = 0;
    // SAFETY: the request takes no pointers and changes nothing.
    let value = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, nought, nought, nought, nought) };
    (value >= 0).then_some(value)
}

/// Sets the new mode in a child that exits at once.
pub(super) fn except_advised() -> Answer {
    let (on, nought): (libc::c_ulong, libc::c_ulong) = (1, 0);
    let child = Child::start(|| {
        // SAFETY: the request takes no pointers; it acts on the child's own address space.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, EXCEPT_ADVISED, nought, nought) }
    });
    match child {
        Ok(child) => child.wait(),
        Err(error) => Err(error).into(),
    }
}

/// Advises an empty list of ranges of a waiting child: the kernel checks advice, access and `CAP_SYS_NICE` before the
/// ranges (`process_madvise`, mm/madvise.c).
pub(super) fn collapse_remote() -> Answer {
    match Child::start(wait_to_be_killed).and_then(|child| advise_nothing(&child)) {
        Ok(()) => Answer::Accepted,
        Err(error) => Err(error).into(),
    }
}

/// Ten seconds limit the life of a child whose parent was killed.
fn wait_to_be_killed() -> libc::c_int {
    // SAFETY: sleep is async-signal-safe and takes no pointers.
    unsafe { libc::sleep(10) };
    0
}

fn advise_nothing(child: &Child) -> io::Result<()> {
    let pidfd = child.pidfd()?;
    let none: *const libc::iovec = std::ptr::null();
    // SAFETY: the call reads as many ranges as the count says, which is none.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            pidfd.as_raw_fd(),
            none,
            0_usize,
            libc::MADV_COLLAPSE,
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A forked child; killed and reaped on drop.
struct Child {
    pid: libc::pid_t,
}

impl Child {
    /// Forks a child that runs `work` and exits with 0 or the error number. `work` may make only async-signal-safe
    /// calls: locks of other threads are copied in their current state.
    fn start(work: impl FnOnce() -> libc::c_int) -> io::Result<Self> {
        // SAFETY: the child makes async-signal-safe calls only and ends in _exit, so it neither
        // takes a lock nor runs destructors or exit handlers of the parent.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let code = match work() {
                    -1 => errno(),
                    _ => 0,
                };
                // SAFETY: it ends the child without running anything of the parent's.
                unsafe { libc::_exit(code) }
            }
            pid => Ok(Self { pid }),
        }
    }

    /// Converts its exit status to an answer.
    fn wait(self) -> Answer {
        let status = reap(self.pid);
        std::mem::forget(self);
        match status {
            Ok(status) if libc::WIFEXITED(status) => match libc::WEXITSTATUS(status) {
                0 => Answer::Accepted,
                error => Answer::Refused(error),
            },
            // A filter that kills the process also counts as a refusal.
            Ok(_) => Answer::Refused(libc::EPERM),
            Err(error) => Err(error).into(),
        }
    }

    fn pidfd(&self) -> io::Result<OwnedFd> {
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.pid, 0) };
        let fd = i32::try_from(fd).unwrap_or(-1);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this new descriptor, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child is ours and not reaped yet, so its number names no other process.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        let _ = reap(self.pid);
    }
}

/// Waits for the end of a child, and continues after interruptions.
fn reap(pid: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    loop {
        // SAFETY: the status is a valid place for one number.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } >= 0 {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns the thread's error number.
fn errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}
