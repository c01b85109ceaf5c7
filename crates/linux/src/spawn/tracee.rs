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
    /// Something of tracing itself.
    Tracing,
}

/// Reads the status of wait4(2) as ptrace(2) defines it for a seized tracee.
pub(super) fn reason(status: i32) -> Stop {
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_EXIT => Stop::Exit,
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => Stop::Group,
        0 => Stop::Signal(signal),
        _ => Stop::Tracing,
    }
}

/// Begins to trace a process, without stopping it; it dies when its tracer does.
pub(super) fn seize(pid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE, pid, options)
}

/// Lets a stopped tracee go on, delivering `signal` unless it is 0. That it has been killed
/// meanwhile is no error: wait4 will say so.
pub(super) fn resume(pid: i32, signal: i32) {
    let _ = request(libc::PTRACE_CONT, pid, signal);
}

/// Leaves a tracee stopped with its group, as it would be without a tracer.
pub(super) fn leave_stopped(pid: i32) {
    let _ = request(libc::PTRACE_LISTEN, pid, 0);
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
    }
}
