//! The measuring program's side of a keeper.

use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hugewise_base::host::ThpDisable;
use hugewise_base::missing::Missing;

use super::calls::wait_readable;
use super::cgroup::not_made;
use super::drain::{Drain, Echo};
use super::wire::{self, End, Event, Order, Ready, fault};
use super::{CgroupChoice, CgroupPlan, ExitRequest, KEEPER_WORD, Launch, Output, TreeCgroup};
use crate::machine::descriptors::{Room, hint};
use crate::machine::error::{Error, Result};

/// The number of bytes of stdout kept with [`Output::Keep`], from the end, because summaries are printed last.
const OUTPUT_KEPT: usize = 16 << 20;
/// The number of bytes of stderr kept.
const STDERR_KEPT: usize = 4 << 10;

/// The result of starting.
#[derive(Debug)]
pub enum StartResult {
    /// The workload's process is ready to exec.
    Suspended(Suspended),
    /// It did not get ready; a sentence.
    NotStarted(String),
}

/// A process that will execute the workload when released.
#[derive(Debug)]
pub struct Suspended {
    keeper: Running,
    ready: Ready,
    cgroup: std::result::Result<TreeCgroup, Missing>,
}

/// A workload under its keeper. Dropping it kills the whole tree.
#[derive(Debug)]
pub struct Running {
    process: Child,
    socket: UnixStream,
    stdout: Option<Drain>,
    stderr: Drain,
}

/// The output of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Its stdout with [`Output::Keep`]: the last 16 MiB.
    pub stdout: Vec<u8>,
    /// The last 4 KiB of its stderr; with [`Output::Log`] the last 16 MiB of both streams.
    pub stderr_tail: Vec<u8>,
}

/// Starts a keeper, which prepares the workload up to the point before exec.
///
/// # Errors
/// The keeper could not be started, or died.
pub fn start(launch: &Launch, question: &ExitRequest) -> Result<StartResult> {
    let cgroup = CgroupPlan::of(launch.group);
    if let (CgroupChoice::Limit(_), Err(missing)) = (launch.group, &cgroup) {
        return Ok(StartResult::NotStarted(not_made(missing)));
    }
    let order = Order {
        cgroup: cgroup.clone().ok(),
        ..Order::of(launch, question)?
    };
    let mut keeper = start_keeper(launch.output)?;
    let answer = wire::write_frame(&mut keeper.socket, &order)
        .and_then(|()| wire::read_frame(&mut keeper.socket))
        .map_err(|error| lost(&error))?;
    match answer {
        Event::Ready(ready) => Ok(StartResult::Suspended(Suspended {
            keeper,
            ready,
            cgroup: cgroup.and_then(TreeCgroup::of),
        })),
        Event::Refused(sentence) => Ok(StartResult::NotStarted(sentence)),
        Event::Ended(_) => Err(fault("starting", "the keeper ended the trial too early")),
    }
}

fn start_keeper(output: Output) -> Result<Running> {
    let program = Path::new("/proc/self/exe");
    let starting = |error| Error::io("starting the keeper from", program, error);
    let by = |call: &'static str| {
        move |error: io::Error| {
            fault(
                "starting the keeper",
                format!("{call}: {error}{}", hint(&error)),
            )
        }
    };
    let _room = Room::make();
    let (socket, theirs) = UnixStream::pair().map_err(by("socketpair(2)"))?;
    let (errors, stderr) = io::pipe().map_err(by("pipe(2)"))?;
    let (out, stdout) = stdout_of(output, &stderr).map_err(by("pipe(2)"))?;
    let echo = match output {
        Output::Show => Echo::Stderr,
        Output::Discard | Output::Keep => Echo::Silent,
        Output::Log(echo) => echo,
    };
    let kept = match output {
        Output::Log(_) => OUTPUT_KEPT,
        _ => STDERR_KEPT,
    };
    // Steps that may fail come before the process is started, because no one would wait for it.
    let out = out.map(|pipe| Drain::start(pipe, OUTPUT_KEPT, Echo::Silent));
    let out = out.transpose().map_err(starting)?;
    let errors = Drain::start(errors.into(), kept, echo).map_err(starting)?;
    let process = Command::new(program)
        .arg(KEEPER_WORD)
        .stdin(OwnedFd::from(theirs))
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(starting)?;
    Ok(Running {
        process,
        socket,
        stdout: out,
        stderr: errors,
    })
}

/// Returns the target of the workload's stdout, and the read end if it differs from that of `stderr`.
fn stdout_of(output: Output, stderr: &PipeWriter) -> io::Result<(Option<OwnedFd>, Stdio)> {
    Ok(match output {
        Output::Discard => (None, Stdio::null()),
        Output::Log(_) => (None, stderr.try_clone()?.into()),
        Output::Show => (None, io::stderr().as_fd().try_clone_to_owned()?.into()),
        Output::Keep => {
            let (reading, writing) = io::pipe()?;
            (Some(reading.into()), writing.into())
        }
    })
}

fn lost(error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => "the keeper of the workload was killed".to_owned(),
        _ => format!("the keeper of the workload is lost: {error}"),
    };
    fault("running", what)
}

impl Suspended {
    /// Returns the PID of the workload's main process.
    #[must_use]
    pub fn main(&self) -> u32 {
        self.ready.main
    }

    /// Returns the PID of the keeper, the ancestor of the whole tree.
    #[must_use]
    pub fn keeper(&self) -> u32 {
        self.keeper.keeper()
    }

    /// Returns its `PR_GET_THP_DISABLE` after all settings; `None` if the kernel's answer is unknown.
    #[must_use]
    pub fn thp_disable(&self) -> Option<ThpDisable> {
        self.ready.thp_disable
    }

    /// Returns its memory cgroup, or why it has none. The group is removed after the tree, once its [`Running`] is
    /// dropped.
    ///
    /// # Errors
    /// No group was requested, or it could not be created.
    pub fn cgroup(&self) -> std::result::Result<TreeCgroup, Missing> {
        self.cgroup.clone()
    }

    /// Lets it execute the workload.
    ///
    /// # Errors
    /// The keeper died.
    pub fn release(mut self) -> Result<Running> {
        self.keeper.say(wire::RELEASE)?;
        Ok(self.keeper)
    }
}

impl Running {
    /// Returns the PID of the keeper, the ancestor of the whole tree.
    #[must_use]
    pub fn keeper(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the end, but at most `limit`; `None` if it is still running. A signal to this process ends the wait
    /// early.
    ///
    /// # Errors
    /// The keeper died; the kernel then has killed the main process.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<End>> {
        let [ended] = wait_readable([self.socket.as_fd()], Some(limit));
        if !ended {
            return Ok(None);
        }
        match wire::read_frame(&mut self.socket).map_err(|error| lost(&error))? {
            Event::Ended(end) => Ok(Some(*end)),
            Event::Ready(_) | Event::Refused(_) => {
                Err(fault("running", "the keeper lost track of the workload"))
            }
        }
    }

    /// Kills the whole tree; [`Running::wait`] then returns its end.
    ///
    /// # Errors
    /// The keeper died.
    pub fn stop(&mut self) -> Result<()> {
        self.say(wire::STOP)
    }

    /// Sends the main process a signal, unless it has ended.
    ///
    /// # Errors
    /// The keeper died.
    pub fn signal(&mut self, number: u8) -> Result<()> {
        let words = [wire::SIGNAL, number];
        self.socket.write_all(&words).map_err(|error| lost(&error))
    }

    /// Returns the output so far, from the log ([`Output::Log`]) or else from stderr: the last `most` bytes of the kept
    /// part.
    #[must_use]
    pub fn log_so_far(&self, most: usize) -> Vec<u8> {
        self.stderr.so_far(most)
    }

    fn say(&mut self, word: u8) -> Result<()> {
        self.socket.write_all(&[word]).map_err(|error| lost(&error))
    }

    /// Returns the output of the workload; to be called after its end. This removes its scratch directory.
    #[must_use]
    pub fn into_printed(self) -> CapturedOutput {
        let Self {
            mut process,
            socket,
            stdout,
            stderr,
        } = self;
        drop(socket);
        let _ = process.wait();
        CapturedOutput {
            stdout: stdout.map(Drain::finish).unwrap_or_default(),
            stderr_tail: stderr.finish(),
        }
    }
}
