use std::fs::File;
use std::ptr;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

/// Whether this process ignores a signal, because whoever started it asked for that: `nohup`
/// does so with SIGHUP.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is a plain structure for which zeroes are valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and the place for the answer is valid.
    let status = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Whether a Ctrl-C at the terminal reaches our process group, and so our children with us.
#[must_use]
pub fn come_from_terminal() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else {
        return false;
    };
    tcgetpgrp(&terminal).is_ok_and(|foreground| foreground == getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_known() {
        assert!(!is_ignored(libc::SIGUSR2));
        // SAFETY: no test sends this signal.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
        assert!(is_ignored(libc::SIGUSR2));
    }
}
