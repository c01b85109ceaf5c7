use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;

/// A running process that is watched from outside. A number that the kernel gives to another
/// process later does not deceive it.
#[derive(Debug)]
pub struct Watched {
    pidfd: OwnedFd,
}

impl Watched {
    /// Looks at the process `pid`.
    ///
    /// # Errors
    /// There is no such process, or the number is that of a thread.
    pub fn open(root: &Root, pid: u32) -> Result<Self> {
        let path = root.path(format!("proc/{pid}"));
        let failed = |error: io::Error| Error::io("watching", &path, error);
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        match pidfd_open(number, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pidfd }),
            Err(rustix::io::Errno::SRCH) => Err(failed(io::ErrorKind::NotFound.into())),
            // What pidfd_open(2) says of a thread that is not the first of its process.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => Err(Error {
                kind: Kind::Other("it is a thread, not a process".to_owned()),
                doing: "watching".to_owned(),
                path: Some(path),
                source: None,
            }),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let mut ask = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut ask, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

/// Whether the process numbers that we see are those of the whole machine: in a container they
/// often are not. The number is that of the first namespace (include/linux/proc_ns.h).
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
        let watched = Watched::open(&Root::real(), child.id()).expect("it runs");
        assert!(!watched.has_ended());
        drop(child.stdin.take());
        child.wait().expect("it ends with its input");
        assert!(watched.has_ended());
    }

    #[test]
    fn numbers_of_nobody_are_refused() {
        for pid in [0, u32::MAX, 4_194_304] {
            let error = Watched::open(&Root::real(), pid).expect_err("nobody has it");
            assert_eq!(error.kind, Kind::NotFound, "{pid}");
        }
    }
}
