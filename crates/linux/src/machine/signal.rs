use std::fs::File;
use std::ptr;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

/// Returns true if this process ignores a signal since its start, as `nohup` arranges for SIGHUP.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is a plain structure for which zeroes are valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and the place for the answer is valid.
    let status = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Returns true if a Ctrl-C at the terminal reaches this process group, and so its children too.
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
