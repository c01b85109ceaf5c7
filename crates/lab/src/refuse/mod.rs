//! Runs a program and refuses one system call of one of its processes: that call gets an error, and all others go to
//! the kernel.
//!
//! A seccomp filter forwards the calls (`SECCOMP_RET_USER_NOTIF`), so the program is not traced and can trace others.
//! Only calls of the program itself count, not those of its child programs or its dynamic loader.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Trouble;
use crate::arguments::Arguments;

mod call;
mod listener;
mod site;

use listener::{Listener, Notice};
use site::Program;

/// How long processes may outlive the command.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time limit of the command. Its processes must end before this one: without it, all their calls fail, and loops
/// that wait by a call would spin for ever.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a command and writes the place of each of its calls.
pub(crate) fn list(rest: &mut Arguments) -> Result<ExitCode, Trouble> {
    let file = needed(rest, "a file")?;
    run(&file, None, rest.all())
}

/// Runs a command and refuses one of its calls.
pub(crate) fn refuse(rest: &mut Arguments) -> Result<ExitCode, Trouble> {
    let file = needed(rest, "a file")?;
    let error = needed(rest, "an error")?;
    let turn = needed(rest, "a number")?;
    let usage = |what: &str| Trouble::Usage(format!("refuse does not know the {what}"));
    let refusal = Refusal {
        error: call::error(&error).ok_or_else(|| usage(&error))?,
        turn: turn.parse().map_err(|_| usage(&turn))?,
        site: needed(rest, "a place")?,
        seen: 0,
    };
    run(&file, Some(refusal), rest.all())
}

fn needed(rest: &mut Arguments, what: &str) -> Result<String, Trouble> {
    rest.next_word()
        .ok_or_else(|| Trouble::Usage(format!("{what} is missing")))
}

/// The call to refuse.
struct Refusal {
    /// The number of the error.
    error: i32,
    /// Which call from that place, counted from 1.
    turn: u64,
    /// The place, as it is listed.
    site: String,
    /// The number of calls from there so far.
    seen: u64,
}

/// The thread that starts the command installs the filter, so that this thread stays unfiltered.
fn run(file: &str, refusal: Option<Refusal>, command: Vec<String>) -> Result<ExitCode, Trouble> {
    let kernel = |doing| move |error| Trouble::Kernel(doing, error);
    let mut words = command.into_iter();
    let Some(first) = words.next() else {
        return Err(Trouble::Usage("no command given".to_owned()));
    };
    let path = PathBuf::from(&first).canonicalize();
    let program = Program::of(path.map_err(kernel("finding the program"))?);
    let log = File::create(file).map_err(kernel("making the list"))?;
    let mut command = Command::new(first);
    command.args(words);
    let (sender, receiver) = mpsc::sync_channel(1);
    let starter = thread::spawn(move || {
        let _ = sender.send(Listener::install(&call::numbers()));
        command.spawn()
    });
    let listener = receiver.recv().map_err(|_| Trouble::last("filtering"))?;
    let listener = listener.map_err(kernel("filtering the calls of the command"))?;
    let mut watch = Watch {
        listener,
        program,
        refusal,
        log,
        callers: BTreeSet::new(),
    };
    let status = watch.until_the_end(starter);
    let status = status.map_err(kernel("answering for the kernel"))?;
    let signal = status.signal().map(|signal| signal + 128);
    let code = status.code().or(signal).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// A command whose calls this program answers.
struct Watch {
    listener: Listener,
    program: Program,
    refusal: Option<Refusal>,
    log: File,
    /// Processes that made calls.
    callers: BTreeSet<u32>,
}

impl Watch {
    /// Answers calls until no process is left, or the command has ended and the others stay.
    fn until_the_end(&mut self, starter: JoinHandle<io::Result<Child>>) -> io::Result<ExitStatus> {
        let mut starter = Some(starter);
        let mut child: Option<Child> = None;
        let mut ended: Option<(ExitStatus, Instant)> = None;
        let begun = Instant::now();
        let mut is_killed = false;
        loop {
            let is_over = match self.listener.next(Duration::from_millis(20))? {
                Notice::Call(notice) => {
                    self.answer(&notice)?;
                    false
                }
                Notice::Nothing => false,
                Notice::NobodyLeft => true,
            };
            if let Some(done) = starter.take_if(|starter| starter.is_finished()) {
                let started = done.join().map_err(|_| io::Error::other("a panic"))?;
                child = Some(started?);
            }
            if let (Some(child), None) = (&mut child, ended) {
                ended = child.try_wait()?.map(|status| (status, Instant::now()));
                if ended.is_none() && !is_killed && begun.elapsed() > LIMIT {
                    writeln!(self.log, "it did not end")?;
                    child.kill()?;
                    is_killed = true;
                }
            }
            match ended {
                Some((status, _)) if is_over => return Ok(status),
                Some((status, since)) if since.elapsed() > PATIENCE => {
                    writeln!(self.log, "a process is left")?;
                    self.end_callers();
                    return Ok(status);
                }
                // A zombie does not use the filter any more; the next iteration reaps it.
                _ if is_over => thread::sleep(Duration::from_millis(1)),
                _ => {}
            }
        }
    }

    /// Kills the remaining callers: without answers their calls fail with ENOSYS, and would be retried for ever.
    fn end_callers(&self) {
        let is_filtered = |pid: &&u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            status.is_ok_and(|text| text.contains("\nSeccomp:\t2\n"))
        };
        for &pid in self.callers.iter().filter(is_filtered) {
            // SAFETY: kill takes two numbers. The process is one of the command's, by its filter.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
    }

    fn answer(&mut self, notice: &libc::seccomp_notif) -> io::Result<()> {
        self.callers.insert(notice.pid);
        let Some(site) = self.program.site(notice) else {
            return self.listener.answer(notice.id, None);
        };
        let Some(refusal) = &mut self.refusal else {
            writeln!(self.log, "{site}")?;
            return self.listener.answer(notice.id, None);
        };
        if refusal.site != site {
            return self.listener.answer(notice.id, None);
        }
        refusal.seen += 1;
        if refusal.seen != refusal.turn {
            return self.listener.answer(notice.id, None);
        }
        writeln!(self.log, "refused")?;
        self.listener.answer(notice.id, Some(refusal.error))
    }
}
