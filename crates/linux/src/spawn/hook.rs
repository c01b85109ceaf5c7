use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::machine::descriptors::{Room, give_back};
use crate::machine::identity::Identity;

/// Runs a preparing or concluding command line with `/bin/sh -c`, outside of any measurement.
///
/// Both streams go to stderr. It gets a new process group, and the group is killed when `interrupt` is set; processes
/// that it deliberately leaves running, such as a server, stay.
///
/// # Errors
/// A sentence: it could not be started, failed, or was interrupted.
pub fn hook(
    line: &str,
    identity: Option<&Identity>,
    environment: &[(String, String)],
    interrupt: &AtomicBool,
) -> Result<(), String> {
    let starting = |error: io::Error| format!("`{line}` could not be started: {error}");
    let output = io::stderr().as_fd().try_clone_to_owned();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(output.map_err(starting)?)
        .process_group(0);
    let _room = Room::make();
    give_back(&mut command);
    if let Some(identity) = identity {
        become_identity(&mut command, identity);
    }
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let mut child = command.spawn().map_err(starting)?;
    let status = wait(&mut child, interrupt)?;
    if status.success() {
        return Ok(());
    }
    Err(format!("`{line}` failed: {status}"))
}

pub(crate) fn become_identity(command: &mut Command, identity: &Identity) {
    let Identity {
        uid,
        gid,
        groups,
        home,
        name,
    } = identity.clone();
    command
        .env("HOME", home)
        .env("USER", &name)
        .env("LOGNAME", &name);
    let drop_privilege = move || {
        // SAFETY: the array holds as many groups as are announced; plain system calls, as is
        // right between fork and exec.
        let done = unsafe {
            libc::setgroups(groups.len(), groups.as_ptr()) == 0
                && libc::setgid(gid) == 0
                && libc::setuid(uid) == 0
        };
        done.then_some(()).ok_or_else(io::Error::last_os_error)
    };
    // SAFETY: the closure allocates nothing and makes system calls only.
    unsafe { command.pre_exec(drop_privilege) };
}

fn wait(child: &mut Child, interrupt: &AtomicBool) -> Result<ExitStatus, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if interrupt.load(Ordering::Relaxed) => {
                kill_group(child);
                return Err("interrupted".to_owned());
            }
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(format!("waiting for a command: {error}")),
        }
    }
}

fn kill_group(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: the group was made for this child, who is not reaped yet.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_say_how_they_failed() {
        let never = AtomicBool::new(false);
        assert_eq!(hook("true", None, &[], &never), Ok(()));
        let variable = [("HUGEWISE_WORD".to_owned(), "7".to_owned())];
        let failed = hook("exit $HUGEWISE_WORD", None, &variable, &never).unwrap_err();
        assert_eq!(failed, "`exit $HUGEWISE_WORD` failed: exit status: 7");
    }

    #[test]
    fn hooks_end_when_interrupted() {
        let since = std::time::Instant::now();
        let set = AtomicBool::new(true);
        assert_eq!(
            hook("sleep 60", None, &[], &set),
            Err("interrupted".to_owned())
        );
        assert!(since.elapsed() < Duration::from_secs(10));
    }
}
