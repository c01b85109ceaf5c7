//! The main process as a tracee: passed on faithfully, held at its end.

use std::io;

/// Why a tracee stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is ending and still holds its memory.
    Exit,
    /// It has stopped with its process group (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU).
    Group,
    /// A signal is about to be delivered to it.
    Signal(i32),
    /// Its filter lets the tracer look at a call before it is made.
    Filtered,
    /// It has entered or left a call.
    Call,
    /// It has started a process or a thread.
    Started,
    /// It runs another program.
    Exec,
    /// Something else of tracing itself.
    Tracing,
}

/// Reads the status of wait4(2) as ptrace(2) defines it for a seized tracee.
pub(super) fn reason(status: i32) -> Stop {
    const CALL: i32 = libc::SIGTRAP | 0x80;
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_EXIT => Stop::Exit,
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => Stop::Group,
        libc::PTRACE_EVENT_SECCOMP => Stop::Filtered,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Stop::Started
        }
        libc::PTRACE_EVENT_EXEC => Stop::Exec,
        0 if signal == CALL => Stop::Call,
        0 => Stop::Signal(signal),
        _ => Stop::Tracing,
    }
}

/// What a tracer is told of, besides signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options(i32);

impl Options {
    /// The end of the main process.
    pub(super) const END: Self = Self(libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL);
    /// The filtered calls of a whole tree.
    pub(super) const TREE: Self = Self(
        libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_EXITKILL,
    );

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Begins to trace a process, without stopping it; it dies when its tracer does.
pub(super) fn seize(pid: i32, options: Options) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, options.0)
}

/// Changes what is told of a stopped tracee.
pub(super) fn set_options(pid: i32, options: Options) {
    let _ = request(libc::PTRACE_SETOPTIONS, pid, options.0);
}

/// Lets a stopped tracee go on, delivering `signal` unless it is 0. That it has been killed
/// meanwhile is no error: wait4 will say so.
pub(super) fn resume(pid: i32, signal: i32) {
    let _ = request(libc::PTRACE_CONT, pid, signal);
}

/// The same, to the next entry or end of a call.
pub(super) fn resume_to_call(pid: i32, signal: i32) {
    let _ = request(libc::PTRACE_SYSCALL, pid, signal);
}

/// Leaves a tracee stopped with its group, as it would be without a tracer.
pub(super) fn leave_stopped(pid: i32) {
    let _ = request(libc::PTRACE_LISTEN, pid, 0);
}

/// The number that comes with a stop: of a new process, or of a filtered call.
pub(super) fn message(pid: i32) -> Option<u64> {
    let mut message: libc::c_ulong = 0;
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the place is valid for the answer.
    let asked = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, nothing, &raw mut message) };
    (asked != -1).then_some(message)
}

fn request(what: libc::c_uint, pid: i32, data: i32) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    let data = data as usize as *mut libc::c_void;
    // SAFETY: these requests take a number as data and no address.
    match unsafe { libc::ptrace(what, pid, nothing, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_told_apart() {
        let stopped = |event: i32, signal: i32| reason(event << 16 | signal << 8 | 0x7f);
        assert_eq!(stopped(libc::PTRACE_EVENT_EXIT, libc::SIGTRAP), Stop::Exit);
        assert_eq!(stopped(libc::PTRACE_EVENT_STOP, libc::SIGTSTP), Stop::Group);
        assert_eq!(
            stopped(libc::PTRACE_EVENT_STOP, libc::SIGTRAP),
            Stop::Tracing
        );
        assert_eq!(stopped(0, libc::SIGUSR1), Stop::Signal(libc::SIGUSR1));
        assert_eq!(stopped(0, libc::SIGTRAP), Stop::Signal(libc::SIGTRAP));
        assert_eq!(stopped(0, libc::SIGTRAP | 0x80), Stop::Call);
        assert_eq!(
            stopped(libc::PTRACE_EVENT_SECCOMP, libc::SIGTRAP),
            Stop::Filtered
        );
        assert_eq!(
            stopped(libc::PTRACE_EVENT_CLONE, libc::SIGTRAP),
            Stop::Started
        );
    }
}
