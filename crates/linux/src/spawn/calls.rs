//! System calls of the keeper as safe functions.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::usage::Usage;
use crate::machine::root::Root;
use crate::proc::status::read_status;

/// Returns the error number of the last call of this thread.
pub(super) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Starts a new session, so that signals of the terminal no longer reach this process.
pub(super) fn new_session() {
    // SAFETY: setsid has no preconditions; it fails only for a group leader, who has a session.
    unsafe { libc::setsid() };
}

/// Makes this process inherit every orphan among its descendants (Linux 3.4).
pub(super) fn become_subreaper() -> io::Result<()> {
    // SAFETY: prctl with plain integers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Returns a descriptor that becomes readable when SIGCHLD is pending. From now on no other signal except SIGKILL
/// reaches this process: a signal to the whole group also reaches the measuring program, whose end then ends the trial.
pub(super) fn child_signals() -> io::Result<OwnedFd> {
    let deaf = signal_set(&[
        libc::SIGCHLD,
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
    ]);
    let pending = signal_set(&[libc::SIGCHLD]);
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: both sets outlive the calls; the new descriptor belongs to nobody else.
    unsafe {
        let nowhere = std::ptr::null_mut();
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const deaf, nowhere))?;
        let fd = checked(libc::signalfd(-1, &raw const pending, flags))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Waits for SIGCHLD in a process without a signal descriptor.
#[derive(Debug)]
pub(super) struct ChildSignals(libc::sigset_t);

impl ChildSignals {
    /// Blocks the signal in this thread; children forked later inherit the blocked signal.
    pub(super) fn begin() -> Self {
        let set = signal_set(&[libc::SIGCHLD]);
        // SAFETY: the set outlives the call.
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        Self(set)
    }

    /// Returns when SIGCHLD arrives, when another signal was caught, or after `limit`.
    pub(super) fn wait(&self, limit: Duration) {
        let limit = libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: the set and the time outlive the call.
        unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const limit) };
    }
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigset_t is a plain structure that sigemptyset fills in before it is used.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Consumes the pending SIGCHLD.
pub(super) fn clear_signals(signals: &OwnedFd) {
    let mut buffer = [0_u8; 1024];
    // SAFETY: the buffer has room for what is asked for; the descriptor does not block.
    unsafe {
        libc::read(
            signals.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
        )
    };
}

/// Waits until one of the descriptors is readable or the time is over; returns which ones are readable.
pub(super) fn wait_readable<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    limit: Option<Duration>,
) -> [bool; N] {
    let mut polled = descriptors.map(|fd| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let time = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array and the time outlive the call; no signal mask is given. An interrupted call reports no
    // descriptor as readable, and the caller retries.
    let ready = unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            N as libc::nfds_t,
            time,
            std::ptr::null(),
        )
    };
    polled.map(|polled| ready > 0 && polled.revents != 0)
}

/// A change of a child or of a tracee.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// It stopped for its tracer; the raw status.
    Stopped { pid: i32, status: i32 },
    /// It ended and was reaped; the raw status and its resource usage.
    Ended { pid: i32, status: i32, usage: Usage },
    /// A tracee ended, but it belongs to another parent, or was only a thread: its usage is counted when its process is
    /// reaped.
    Left { pid: i32 },
    /// Nothing has changed.
    None,
    /// No child is left.
    NoChild,
}

/// Checks that the end of a child can be observed: if a sandbox prevents that, a wait would never end.
pub(super) fn check_waiting() -> Result<(), String> {
    match peek_change() {
        Err(error) if error.raw_os_error() != Some(libc::ECHILD) => Err(format!(
            "waiting for it, by waitid(2): {error}; allow that call if a system call filter (seccomp) refuses it"
        )),
        _ => Ok(()),
    }
}

/// Returns the next change of any child, without waiting.
pub(super) fn next_change() -> Change {
    let (pid, is_end) = match peek_change() {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Change::NoChild,
        Err(_) | Ok(None) => return Change::None,
        Ok(Some(changed)) => changed,
    };
    // Checked before it is reaped: afterwards the PID may be reused.
    let is_own = !is_end || is_own_child(pid);
    let mut status = 0;
    // SAFETY: rusage is a plain structure of integers, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let options = libc::WNOHANG | libc::__WALL;
    // SAFETY: both places are valid for the answer.
    let changed = unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) };
    match changed {
        -1 | 0 => Change::None,
        _ if libc::WIFSTOPPED(status) || libc::WIFCONTINUED(status) => {
            Change::Stopped { pid, status }
        }
        _ if is_own => Change::Ended {
            pid,
            status,
            usage: Usage::of(&usage),
        },
        _ => Change::Left { pid },
    }
}

/// Returns the changed process, and whether it has ended, without consuming the change.
fn peek_change() -> io::Result<Option<(i32, bool)>> {
    // SAFETY: siginfo_t is a plain structure, for which zeroes are valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // Stops of tracees are reported regardless of these options; stops of other children are not needed.
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the place is valid for the answer.
    checked(unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) })?;
    // SAFETY: waitid fills the number of a child in, or leaves the zero.
    let pid = unsafe { info.si_pid() };
    let is_end = matches!(
        info.si_code,
        libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED
    );
    Ok((pid != 0).then_some((pid, is_end)))
}

/// Returns true if it is a process and a child of this one: a tracee may be a thread, or a child of another process. A
/// process that exists but cannot be read counts as a child, because the end of the main process must not be lost.
fn is_own_child(pid: i32) -> bool {
    let pid = pid.unsigned_abs();
    match read_status(&Root::real(), pid) {
        Ok(status) => status.process == Some(pid) && status.parent == Some(std::process::id()),
        Err(error) => !error.is_gone(),
    }
}

/// Kills a process; fails if the permission is missing.
pub(super) fn kill(pid: i32) -> io::Result<()> {
    // SAFETY: kill has no preconditions; the callers name only children that nobody else reaps,
    // so the number cannot have passed to a stranger.
    checked(unsafe { libc::kill(pid, libc::SIGKILL) }).map(drop)
}

/// Sends a signal to a child. An invalid signal or a missing permission has no effect: the requester sees that the
/// child did not end.
pub(super) fn signal(pid: i32, number: u8) {
    // SAFETY: as in `kill`.
    unsafe { libc::kill(pid, number.into()) };
}

/// Returns the usage of this process so far.
pub(super) fn own_usage() -> Usage {
    // SAFETY: as in `next_change`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the place is valid for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    Usage::of(&usage)
}

/// Duplicates a descriptor to a new number, with close-on-exec.
pub(super) fn duplicate(fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: duplicating a number is harmless; the new descriptor belongs to nobody else.
    unsafe {
        let copy = checked(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3))?;
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// Makes descriptor `number` refer to the same file as `fd`.
pub(super) fn put_at(fd: &impl AsRawFd, number: i32) -> io::Result<()> {
    // SAFETY: the keeper calls it only for its standard streams, which it owns.
    checked(unsafe { libc::dup2(fd.as_raw_fd(), number) }).map(drop)
}
