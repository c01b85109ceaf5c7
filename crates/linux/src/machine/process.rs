use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::error::{Error, Kind, Result};
use super::root::Root;

/// A process held by a descriptor (pidfd_open(2), Linux 5.3), which need not be a child: a later process with the same
/// PID is not mistaken for it.
#[derive(Debug)]
pub struct HeldProcess {
    pidfd: OwnedFd,
}

impl HeldProcess {
    /// Opens a process.
    ///
    /// # Errors
    /// No such process exists ([`Kind::NotFound`]), or the number is that of a thread, or the kernel has no
    /// pidfd_open(2).
    pub fn open(pid: u32) -> Result<Self> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pidfd = number
            .ok_or(Errno::SRCH)
            .and_then(|number| pidfd_open(number, PidfdFlags::empty()));
        pidfd
            .map(|pidfd| Self { pidfd })
            .map_err(|errno| not_opened(pid, errno))
    }

    /// Returns true if it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.wait_for_end(Duration::ZERO)
    }

    /// Waits until it ends, but at most `limit`; returns true if it has ended. A signal ends the wait early.
    #[must_use]
    pub fn wait_for_end(&self, limit: Duration) -> bool {
        let mut polled = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let limit = Timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        poll(&mut polled, Some(&limit)).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for HeldProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

fn not_opened(pid: u32, errno: Errno) -> Error {
    let mut error = Error::io(
        "opening",
        Path::new(&format!("/proc/{pid}")),
        io::Error::from(errno),
    );
    match errno {
        Errno::SRCH => error.kind = Kind::NotFound,
        // pidfd_open(2) returns these errors for a thread other than the first of its process.
        Errno::INVAL | Errno::NOENT => {
            error.kind = Kind::Other("it is a thread, not a process".to_owned());
            error.source = None;
        }
        _ => {}
    }
    error
}

/// Returns true if the visible PIDs are those of the whole machine, which is often false in a container. The number is
/// that of the initial namespace (include/linux/proc_ns.h).
#[must_use]
pub fn numbers_are_global(root: &Root) -> bool {
    const FIRST: &str = "pid:[4026531836]";
    let link = std::fs::read_link(root.path("proc/self/ns/pid"));
    link.is_ok_and(|link| link.as_os_str() == FIRST)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn an_end_is_seen() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("every machine has cat");
        let process = HeldProcess::open(child.id()).expect("it runs");
        assert!(!process.has_ended());
        drop(child.stdin.take());
        child.wait().expect("it ends with its input");
        assert!(process.has_ended());
    }

    #[test]
    fn numbers_of_nobody_are_refused() {
        for pid in [0, u32::MAX, 4_194_304] {
            let error = HeldProcess::open(pid).expect_err("nobody has it");
            assert_eq!(error.kind, Kind::NotFound, "{pid}");
        }
    }
}
