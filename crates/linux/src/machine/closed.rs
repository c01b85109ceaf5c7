//! Detects whether stdout was closed when this program was started.
//!
//! The standard library opens `/dev/null` in place of a closed stdin, stdout or stderr before `main`, and treats a
//! write to a closed stdout as successful. So this constructor checks stdout earlier.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn note() {
    // SAFETY: F_GETFD takes no third argument and writes nowhere.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_CLOSED.store(flags == -1, Relaxed);
}

/// The C library calls the functions in this section, with or without arguments, before `main`.
// SAFETY: the section holds pointers to functions of the C calling convention, and this is one. It needs nothing that the
// standard library prepares.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

/// Returns true if the output of this program goes nowhere.
#[must_use]
pub fn stdout_was_closed() -> bool {
    STDOUT_CLOSED.load(Relaxed)
}
