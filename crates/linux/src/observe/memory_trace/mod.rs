//! The memory accesses of a command, in program order, from valgrind's lackey.
//!
//! Lackey needs only the valgrind package. It makes one system call per line, so much of its time is spent in the
//! kernel. A plugin for QEMU's user mode would have to be compiled on the machine against the header of its QEMU, and
//! was not tried.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Outcome;
use hugewise_observe::faults::Map;
use hugewise_tlb::simulation::{Cut, MemoryAccess, PageNow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::machine::error::{Error, Result};
use crate::machine::identity::Identity;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::spawn::become_identity;
use crate::spawn::page_scan::{self, HUGE, PRESENT, scan_span};

mod lackey;

pub use lackey::{Line, parse_line};

const VALGRIND: &str = "valgrind";

/// Parameters of a trace.
#[derive(Debug)]
pub struct TraceRequest<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// The user to run it as, if different from the user of this process.
    pub identity: Option<&'a Identity>,
    /// The destination of the command's output.
    pub prints: CommandOutput,
    /// The maximum number of accesses in the trace.
    pub most: u64,
}

/// The destination of the command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutput {
    /// Nothing is shown.
    Discard,
    /// Both streams go to stderr, because stdout is for the result.
    Show,
}

/// How a trace ended.
#[derive(Debug)]
pub struct TraceEnd {
    /// The completeness of the trace.
    pub cut: Cut,
    /// How the command ended; `None` if it was killed at the end of the trace.
    pub outcome: Option<Outcome>,
}

/// Asks valgrind for its name and version.
///
/// # Errors
/// It is not installed ([`NotFound`](crate::machine::error::Kind::NotFound)), or does not answer.
pub fn probe() -> Result<String> {
    let failed = |source| Error::io("starting", Path::new(VALGRIND), source);
    let output = Command::new(VALGRIND)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let name = text.lines().next().unwrap_or_default().trim();
    if output.status.success() && !name.is_empty() {
        Ok(name.to_owned())
    } else {
        let what = format!("--version gave no version ({})", output.status);
        Err(Error::malformed(Path::new(VALGRIND), what))
    }
}

/// The process being traced.
#[derive(Clone, Copy, Debug)]
pub struct TracedProcess {
    pid: u32,
}

impl TracedProcess {
    /// Returns its current mappings, including those of its tracer; empty if they cannot be read or the process has
    /// ended.
    #[must_use]
    pub fn mappings(&self, root: &Root) -> Vec<Map> {
        maps::read(root, self.pid)
    }

    /// Returns how an address is mapped now, on a machine whose base pages have `page_bytes`.
    ///
    /// # Errors
    /// The kernel has no page scan, or this process may not use it.
    pub fn page_now(
        &self,
        root: &Root,
        address: u64,
        page_bytes: u64,
    ) -> std::result::Result<PageNow, Missing> {
        let path = root.path(format!("proc/{}/pagemap", self.pid));
        let pagemap = match File::open(&path) {
            Ok(pagemap) => pagemap,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PageNow::Absent),
            Err(error) => return Err(Error::io("opening", &path, error).into_missing("root")),
        };
        let first = address - address % page_bytes;
        let wanted = page_scan::PageFilter {
            any_of: PRESENT,
            returned: PRESENT | HUGE,
            ..page_scan::PageFilter::default()
        };
        let mut now = PageNow::Absent;
        let asked = scan_span(
            &pagemap,
            first..first.saturating_add(page_bytes),
            wanted,
            |region| {
                now = if region.categories & HUGE == 0 {
                    PageNow::Base
                } else {
                    PageNow::Huge
                };
            },
        );
        match asked {
            // The process has ended, or the address belongs to the kernel.
            Err(Missing::Unreadable { .. }) => Ok(PageNow::Absent),
            answer => answer.map(|()| now),
        }
    }
}

/// Runs a command and passes its accesses to `each`, in order.
///
/// Only the first process is traced: a forked child appears nowhere, and a program executed in its place runs untraced.
/// The command is killed with its process group when the trace has grown long enough or `interrupt` is set.
///
/// # Errors
/// It could not be started, or a line of the trace could not be parsed.
pub fn collect(
    wanted: &TraceRequest<'_>,
    interrupt: &AtomicBool,
    mut each: impl FnMut(MemoryAccess, &TracedProcess),
) -> Result<TraceEnd> {
    let most = wanted.most;
    let (mut child, pipe) = start(wanted)?;
    let traced = TracedProcess { pid: child.id() };
    let mut reading = Reading {
        pipe,
        rest: Vec::new(),
        lines: 0,
        accesses: 0,
        most,
        each: |access| each(access, &traced),
    };
    let read = reading.until_end(&mut child, interrupt);
    if !matches!(read, Ok(Cut::Whole)) {
        kill(&mut child);
    }
    let status = child
        .wait()
        .map_err(|source| Error::io("waiting for", Path::new(VALGRIND), source))?;
    let cut = read?;
    let outcome = (cut == Cut::Whole).then(|| outcome(status));
    Ok(TraceEnd { cut, outcome })
}

fn start(wanted: &TraceRequest<'_>) -> Result<(Child, PipeReader)> {
    let failed = |source| Error::io("starting", Path::new(VALGRIND), source);
    let (reader, writer) = io::pipe().map_err(failed)?;
    let [out, err] = match wanted.prints {
        CommandOutput::Show => [duplicate().map_err(failed)?, duplicate().map_err(failed)?],
        CommandOutput::Discard => [Stdio::null(), Stdio::null()],
    };
    let mut command = Command::new(VALGRIND);
    command
        .args(["--tool=lackey", "--basic-counts=no", "--trace-mem=yes"])
        .arg("--child-silent-after-fork=yes")
        // The pipes of valgrind's debugger would stay in /tmp after a kill.
        .arg("--vgdb=no")
        .arg(format!("--log-fd={}", writer.as_raw_fd()))
        .args(wanted.command)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(0);
    if let Some(identity) = wanted.identity {
        become_identity(&mut command, identity);
    }
    inherit(&mut command, writer.as_raw_fd());
    let child = command.spawn().map_err(failed)?;
    Ok((child, reader))
}

/// Duplicates stderr: stdout is for the result.
fn duplicate() -> io::Result<Stdio> {
    io::stderr().as_fd().try_clone_to_owned().map(Stdio::from)
}

/// Leaves a descriptor open in the command, and makes the command die with this process.
fn inherit(command: &mut Command, descriptor: RawFd) {
    let prepare = move || {
        // SAFETY: plain system calls on a descriptor that this process has open.
        let done = unsafe {
            libc::fcntl(descriptor, libc::F_SETFD, 0) == 0
                && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
        };
        done.then_some(()).ok_or_else(io::Error::last_os_error)
    };
    // SAFETY: the closure allocates nothing and makes system calls only.
    unsafe { command.pre_exec(prepare) };
}

/// Kills the command and the processes that it started, unless they left its process group.
fn kill(child: &mut Child) {
    if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        // The child is not reaped yet, so its PID cannot have been reused; it is no error if the group has ended
        // already.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited { code },
        (None, signal) => Outcome::Signalled {
            signal: signal.unwrap_or(0),
        },
    }
}

/// A trace during the reading: at most one buffer of it is kept.
struct Reading<F> {
    pipe: PipeReader,
    /// An incomplete last line.
    rest: Vec<u8>,
    lines: u64,
    accesses: u64,
    most: u64,
    each: F,
}

impl<F: FnMut(MemoryAccess)> Reading<F> {
    fn until_end(&mut self, child: &mut Child, interrupt: &AtomicBool) -> Result<Cut> {
        let mut buffer = vec![0; 1 << 16];
        let failed = |source| Error::io("reading the trace of", Path::new(VALGRIND), source);
        loop {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(Cut::Interrupted);
            }
            // A leftover child may keep the pipe open without writing to it, so the trace ends with the first process.
            let ended = child.try_wait().map_err(failed)?.is_some();
            if !self.is_ready().map_err(failed)? {
                if ended {
                    return Ok(Cut::Whole);
                }
                continue;
            }
            let count = self.pipe.read(&mut buffer).map_err(failed)?;
            if count == 0 {
                return Ok(Cut::Whole);
            }
            if self.take(buffer.get(..count).unwrap_or_default())? == Cut::AtMost {
                return Ok(Cut::AtMost);
            }
        }
    }

    /// Waits briefly; returns true if there is data or the end of the pipe was reached.
    fn is_ready(&self) -> io::Result<bool> {
        const MOMENT: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 50_000_000,
        };
        let mut asked = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut asked, Some(&MOMENT)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Processes the next piece of the trace.
    fn take(&mut self, bytes: &[u8]) -> Result<Cut> {
        let mut left = bytes;
        while let Some(end) = left.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = left.split_at(end);
            left = rest.get(1..).unwrap_or_default();
            let read = if self.rest.is_empty() {
                parse_line(line)
            } else {
                self.rest.extend_from_slice(line);
                parse_line(&std::mem::take(&mut self.rest))
            };
            self.lines += 1;
            let line = read.map_err(|what| self.fault(what))?;
            if self.count(line) == Cut::AtMost {
                return Ok(Cut::AtMost);
            }
        }
        self.rest.extend_from_slice(left);
        if self.rest.len() > LONGEST_LINE {
            return Err(self.fault("a line without an end"));
        }
        Ok(Cut::Whole)
    }

    fn count(&mut self, line: Line) -> Cut {
        let (first, second) = match line {
            Line::One(access) => (Some(access), None),
            Line::Both { load, store } => (Some(load), Some(store)),
            Line::Remark => (None, None),
        };
        for access in first.into_iter().chain(second) {
            if self.accesses == self.most {
                return Cut::AtMost;
            }
            self.accesses += 1;
            (self.each)(access);
        }
        Cut::Whole
    }

    fn fault(&self, what: &str) -> Error {
        let what = format!("line {} of its trace: {what}", self.lines);
        Error::malformed(Path::new(VALGRIND), what)
    }
}

/// Valgrind repeats the command, which may be long, in a remark.
const LONGEST_LINE: usize = 4 << 20;

#[cfg(test)]
mod tests;
