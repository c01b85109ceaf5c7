use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::machine::error::{Error, Result};

/// A process that is not our child, held by a descriptor: its number cannot pass to a stranger
/// unnoticed.
#[derive(Debug)]
pub struct Process {
    pidfd: OwnedFd,
}

impl Process {
    /// Takes hold of a process.
    ///
    /// # Errors
    /// There is none of this number, or the kernel has no pidfd_open(2) (Linux 5.3).
    pub fn open(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}");
        let failed = |error: io::Error| Error::io("taking hold of", Path::new(&path), error);
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::ESRCH)))?;
        let pidfd = pidfd_open(number, PidfdFlags::empty());
        Ok(Self {
            pidfd: pidfd.map_err(|error| failed(error.into()))?,
        })
    }

    /// Waits until it ends, `limit` at most; whether it has ended. A signal ends the wait early.
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
