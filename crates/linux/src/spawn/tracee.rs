//! The stops of a tracee, and the requests of its tracer.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The reason for a tracee's stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is exiting, and still has its memory.
    Exit,
    /// It has stopped with its process group (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU).
    Group,
    /// A signal is pending for delivery to it.
    Signal(i32),
    /// Its filter stops it before a call.
    Filtered,
    /// It has entered or left a call.
    Call,
    /// It has started a process or a thread.
    Started,
    /// It has executed another program.
    Exec,
    /// Another event of tracing.
    Tracing,
}

/// Decodes the status of wait4(2), which ptrace(2) defines for a seized tracee.
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

/// The events reported to a tracer, in addition to signals.
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

    /// The calls of one thread, without other events.
    pub(super) const CALLS: Self = Self(libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD);
    /// Distinguishes a stop at a call from the signal SIGTRAP.
    pub(super) const TOLD_APART: Self = Self(libc::PTRACE_O_TRACESYSGOOD);
    /// The end of the tracer ends the tracee.
    pub(super) const DIES: Self = Self(libc::PTRACE_O_EXITKILL);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Starts tracing a process, without stopping it; the process dies with its tracer.
pub(super) fn seize(pid: i32, options: Options) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, options.0)
}

/// Changes the options of a stopped tracee.
pub(super) fn set_options(pid: i32, options: Options) {
    let _ = request(libc::PTRACE_SETOPTIONS, pid, options.0);
}

/// Stops a tracee as soon as possible; a stopped one stops again after it is resumed.
pub(super) fn interrupt(pid: i32) {
    let _ = request(libc::PTRACE_INTERRUPT, pid, 0);
}

/// Resumes a stopped tracee without a tracer, and delivers `signal` unless it is 0.
pub(super) fn detach(pid: i32, signal: i32) {
    go_on(libc::PTRACE_DETACH, pid, signal);
}

/// Resumes a stopped tracee, and delivers `signal` unless it is 0. A tracee killed in the interval is no error: wait4
/// will report it.
pub(super) fn resume(pid: i32, signal: i32) {
    go_on(libc::PTRACE_CONT, pid, signal);
}

/// Does the same, up to the next entry or exit of a call.
pub(super) fn resume_to_call(pid: i32, signal: i32) {
    go_on(libc::PTRACE_SYSCALL, pid, signal);
}

/// Repeats a refused request once: otherwise nothing would wake a stopped tracee, and one stopped at its exit cannot
/// even be killed.
fn go_on(what: libc::c_uint, pid: i32, signal: i32) {
    let refused = request(what, pid, signal).err();
    if refused.is_some_and(|error| error.raw_os_error() != Some(libc::ESRCH)) {
        let _ = request(what, pid, signal);
    }
}

/// Leaves a tracee in its group stop, as it would be without a tracer.
pub(super) fn leave_stopped(pid: i32) {
    let _ = request(libc::PTRACE_LISTEN, pid, 0);
}

/// Returns the number that accompanies a stop: of a new process, or of a filtered call.
pub(super) fn message(pid: i32) -> Option<u64> {
    let mut message: libc::c_ulong = 0;
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the place is valid for the answer.
    let asked = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, nothing, &raw mut message) };
    (asked != -1).then_some(message)
}

/// Reads a word from the memory of a stopped tracee.
pub(super) fn word(pid: i32, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory(pid, address, &mut bytes)?;
    Some(u64::from_le_bytes(bytes))
}

/// Reads memory of a tracee.
pub(super) fn memory(pid: i32, address: u64, into: &mut [u8]) -> Option<()> {
    let file = File::open(format!("/proc/{pid}/mem")).ok()?;
    file.read_exact_at(into, address).ok()
}

/// Copies memory of a tracee to another, writable range of it.
///
/// # Errors
/// The error number.
pub(super) fn copy(pid: u32, from: Range<u64>, to: u64) -> Result<(), i32> {
    const PIECE: u64 = 1 << 20;
    let number = |error: io::Error| error.raw_os_error().unwrap_or(libc::EFAULT);
    let path = format!("/proc/{pid}/mem");
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(number)?;
    let mut bytes = vec![0; PIECE as usize];
    for start in from.clone().step_by(PIECE as usize) {
        let piece = &mut bytes[..PIECE.min(from.end - start) as usize];
        file.read_exact_at(piece, start).map_err(number)?;
        file.write_all_at(piece, to + (start - from.start))
            .map_err(number)?;
    }
    Ok(())
}

/// Returns true if a stopped tracee is inside a restartable sequence, which the kernel restarts when it is interrupted
/// (rseq(2)).
pub(super) fn is_in_sequence(pid: i32, place: u64) -> bool {
    sequence(pid).is_some_and(|steps| steps.contains(&place))
}

/// Returns the addresses of the registered restartable sequence, whether or not the tracee is inside it (`struct rseq`
/// and `struct rseq_cs` of linux/rseq.h).
fn sequence(pid: i32) -> Option<Range<u64>> {
    const CONFIGURATION: libc::c_uint = 0x420f;
    const BYTES: usize = 24;
    const ANNOUNCED: u64 = 8;
    const FIRST_STEP: u64 = 8;
    let mut configuration = [0_u64; BYTES / 8];
    let place = configuration.as_mut_ptr();
    // SAFETY: the place has as many bytes as are asked for, and outlives the call.
    let told = unsafe { libc::ptrace(CONFIGURATION, pid, BYTES, place) };
    let area = configuration[0];
    if told == -1 || area == 0 {
        return None;
    }
    let steps = word(pid, area + ANNOUNCED).filter(|&steps| steps != 0)?;
    let start = word(pid, steps + FIRST_STEP)?;
    let bytes = word(pid, steps + FIRST_STEP + 8)?;
    Some(start..start.saturating_add(bytes))
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
