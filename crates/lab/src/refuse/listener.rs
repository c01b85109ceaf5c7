//! The kernel side: a filter that forwards calls, and the descriptor that receives them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::seccomp::filter;

/// A descriptor that receives the calls of the thread that made it, and of all its children.
pub(super) struct Listener(OwnedFd);

/// A notification of a listener.
pub(super) enum Notice {
    /// A call, which waits for an answer.
    Call(libc::seccomp_notif),
    /// Nothing, or a call of a process that is gone.
    Nothing,
    /// Every process under the filter has ended.
    NobodyLeft,
}

impl Listener {
    /// Starts to filter these calls of this thread. A process without the privilege for it sets no-new-privileges.
    pub(super) fn install(calls: &[libc::c_long]) -> io::Result<Self> {
        let mut code = filter(calls, libc::SECCOMP_RET_USER_NOTIF);
        let program = libc::sock_fprog {
            len: code.len() as libc::c_ushort,
            filter: code.as_mut_ptr(),
        };
        let set = || {
            // SAFETY: the program outlives the call, which only reads it.
            unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                    &raw const program,
                )
            }
        };
        let mut file = set();
        if file < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EACCES) {
            let (one, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
            // SAFETY: plain integers.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) };
            file = set();
        }
        let Ok(file @ 0..) = i32::try_from(file) else {
            return Err(io::Error::last_os_error());
        };
        // SAFETY: the descriptor is fresh and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(file) }))
    }

    /// The next call, if one arrives within `wait`.
    pub(super) fn next(&self, wait: Duration) -> io::Result<Notice> {
        let mut about = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one structure, which outlives the call.
        match unsafe { libc::poll(&raw mut about, 1, wait) } {
            -1 => return Err(io::Error::last_os_error()),
            0 => return Ok(Notice::Nothing),
            _ => {}
        }
        if about.revents & libc::POLLIN == 0 {
            return Ok(Notice::NobodyLeft);
        }
        // SAFETY: a structure of integers, for which zeros are valid; the kernel wants them.
        let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
        // SAFETY: the structure of this request, which outlives the call.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, &raw mut notice) } {
            0 => Ok(Notice::Call(notice)),
            _ => is_gone(Notice::Nothing),
        }
    }

    /// Lets a call continue in the kernel, or answers it with an error.
    pub(super) fn answer(&self, id: u64, error: Option<i32>) -> io::Result<()> {
        let go_on = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        let mut answer = libc::seccomp_notif_resp {
            id,
            val: 0,
            error: error.map_or(0, |error| -error),
            flags: if error.is_none() { go_on } else { 0 },
        };
        let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
        // SAFETY: the structure of this request, which outlives the call.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, &raw mut answer) } {
            0 => Ok(()),
            _ => is_gone(()),
        }
    }
}

/// Returns `then` if the last call failed because the waiting process is gone, which is not an error.
fn is_gone<T>(then: T) -> io::Result<T> {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EINTR) => Ok(then),
        _ => Err(error),
    }
}
