//! Runs a command without permission to trace, as in containers, in sandboxes and under `yama`.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::Trouble;
use crate::arguments::Arguments;
use crate::seccomp::filter;

/// Executes the remaining words as a command, for which ptrace(2) returns EPERM.
pub(crate) fn run(rest: &mut Arguments) -> Result<ExitCode, Trouble> {
    let mut words = rest.all().into_iter();
    let program = words
        .next()
        .ok_or_else(|| Trouble::Usage("no-ptrace needs a command".to_owned()))?;
    forbid()?;
    let error = Command::new(program).args(words).exec();
    Err(Trouble::Kernel("starting the command", error))
}

fn forbid() -> Result<(), Trouble> {
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut code = filter(&[libc::SYS_ptrace], refusal);
    let program = libc::sock_fprog {
        len: code.len() as libc::c_ushort,
        filter: code.as_mut_ptr(),
    };
    let (one, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
    // SAFETY: plain integers, and a program that outlives the call, which only reads it.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == -1
            || libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) == -1
    };
    match refused {
        true => Err(Trouble::last("forbidding ptrace")),
        false => Ok(()),
    }
}
