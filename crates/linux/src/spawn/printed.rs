//! What a short command prints, under a time limit that holds whatever the command leaves running.

use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

const MOMENT: Duration = Duration::from_millis(10);
/// What is kept; the rest is read and forgotten, so that no command waits for a reader.
const KEPT: usize = 4096;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NotPrinted {
    /// There is no program.
    #[error("it is empty")]
    Empty,
    /// The kernel refused something.
    #[error(transparent)]
    Failed(#[from] io::Error),
    /// It ended without success.
    #[error("{0}")]
    Ended(ExitStatus),
    /// It was killed.
    #[error("it took more than {} s", .0.as_secs_f64())]
    TooLong(Duration),
}

/// Runs a command in a process group of its own and gives the beginning of what it printed. When it
/// ends, or after `limit`, the whole group is killed. A process that left the group (setsid) lives
/// on, but does not hold us up.
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

/// A child that leads its group; both end with this.
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
            // Asked first: what it printed before its end is then in the pipe.
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

    /// Whether the child ended. It is not reaped, so that the group's number stays its own.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(pid) = self.pid() else {
            return Ok(true);
        };
        Ok(waitid(WaitId::Pid(pid), options)?.is_some())
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(pid) = self.pid() {
            // Nobody may be left in it.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that was reaped has given its number away.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.end();
        }
    }
}

/// Takes what is in the pipe, until `end` where somebody fills it without a pause.
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

    /// Whether a process is there and no zombie.
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
