//! Reads the output of a short command, with a time limit that does not depend on the processes that the command leaves
//! behind.

use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

const MOMENT: Duration = Duration::from_millis(10);
/// The number of bytes kept; the rest is read and discarded, so that the command never blocks on a full pipe.
const KEPT: usize = 4096;

/// The reason why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum NotPrinted {
    /// The command line is empty.
    #[error("it is empty")]
    Empty,
    /// A system call failed.
    #[error(transparent)]
    Failed(#[from] io::Error),
    /// It ended without success.
    #[error("{0}")]
    Ended(ExitStatus),
    /// It was killed.
    #[error("it took more than {} s", .0.as_secs_f64())]
    TooLong(Duration),
}

/// Runs a command in a new process group, and returns the beginning of its output. The whole group is killed when the
/// command ends or after `limit`. A process that left the group (setsid) lives on, but causes no delay.
///
/// # Errors
/// It cannot be started, fails, or takes longer.
pub fn printed(command: &[String], limit: Duration) -> Result<String, NotPrinted> {
    let (program, arguments) = command.split_first().ok_or(NotPrinted::Empty)?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let mut group = Group(child);
    let stdout = group.0.stdout.take().ok_or(NotPrinted::Empty)?;
    fcntl_setfl(
        &stdout,
        fcntl_getfl(&stdout).map_err(io::Error::from)? | OFlags::NONBLOCK,
    )
    .map_err(io::Error::from)?;
    group.wait_for(stdout, Instant::now() + limit, limit)
}

/// A child that leads its process group; dropping this ends both.
struct Group(Child);

impl Group {
    fn wait_for(
        &mut self,
        mut stdout: ChildStdout,
        end: Instant,
        limit: Duration,
    ) -> Result<String, NotPrinted> {
        let mut text = Vec::new();
        loop {
            // Checked first: output from before the end is then in the pipe.
            let ended = self.has_ended()?;
            drain(&mut stdout, &mut text, end)?;
            match () {
                () if ended => break,
                () if Instant::now() >= end => return Err(NotPrinted::TooLong(limit)),
                () => sleep(MOMENT),
            }
        }
        match self.end()? {
            status if status.success() => Ok(String::from_utf8_lossy(&text).into_owned()),
            status => Err(NotPrinted::Ended(status)),
        }
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.0.id().cast_signed())
    }

    /// Returns true if the child has ended. It is not reaped, so that the number of the group is not reused.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(pid) = self.pid() else {
            return Ok(true);
        };
        Ok(waitid(WaitId::Pid(pid), options)?.is_some())
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(pid) = self.pid() {
            // The group may be empty.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The PID of a reaped child may have been reused.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.end();
        }
    }
}

/// Reads the content of the pipe, but stops at `end` if a process writes without pause.
fn drain(stdout: &mut ChildStdout, text: &mut Vec<u8>, end: Instant) -> io::Result<()> {
    let mut part = [0; 4096];
    while Instant::now() < end {
        match stdout.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                let room = KEPT.saturating_sub(text.len());
                text.extend_from_slice(&part[..n.min(room)]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    fn sh(line: &str, limit: Duration) -> Result<String, NotPrinted> {
        printed(&["sh", "-c", line].map(str::to_owned), limit)
    }

    /// Returns true if a process exists and is not a zombie.
    fn lives(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    fn dies(pid: &str) -> bool {
        let end = Instant::now() + LIMIT;
        while lives(pid) && Instant::now() < end {
            sleep(MOMENT);
        }
        !lives(pid)
    }

    #[test]
    fn a_process_that_keeps_stdout_open_holds_nobody_up() {
        let began = Instant::now();
        let text = sh("sleep 100 & echo $!", LIMIT).expect("a number");
        assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
        assert!(dies(text.trim()), "{text}");
    }

    #[test]
    fn a_process_that_prints_for_ever_holds_nobody_up() {
        for line in ["yes & echo 3", "yes"] {
            let began = Instant::now();
            let _ = sh(line, Duration::from_millis(300));
            assert!(began.elapsed() < LIMIT, "{line}: {:?}", began.elapsed());
        }
    }

    #[test]
    fn a_process_that_left_the_group_holds_nobody_up() {
        let began = Instant::now();
        let text = sh("setsid sleep 7 & echo 3", LIMIT).expect("a number");
        assert_eq!(text.trim(), "3");
        assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_its_children() {
        let folder = std::env::temp_dir().join(format!("hugewise-printed-{}", std::process::id()));
        let line = format!("sleep 100 & echo $! > {}; wait", folder.display());
        let limit = Duration::from_millis(500);
        let error = sh(&line, limit).expect_err("it waits");
        assert!(matches!(error, NotPrinted::TooLong(_)), "{error}");
        let pid = std::fs::read_to_string(&folder).expect("a number");
        std::fs::remove_file(&folder).expect("a file");
        assert!(dies(pid.trim()), "{pid}");
    }

    #[test]
    fn more_than_a_pipe_holds_is_printed_to_the_end() {
        let text = sh("head -c 300000 /dev/zero | tr '\\0' x", LIMIT).expect("a text");
        assert_eq!(text.len(), KEPT);
    }

    #[test]
    fn a_command_that_fails_says_its_status() {
        let error = sh("echo 3; exit 4", LIMIT).expect_err("it fails");
        assert!(error.to_string().contains('4'), "{error}");
        assert!(printed(&["/no/such/program".to_owned()], LIMIT).is_err());
        assert!(matches!(printed(&[], LIMIT), Err(NotPrinted::Empty)));
    }
}
