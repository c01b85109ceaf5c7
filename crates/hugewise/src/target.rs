//! The targets of `stat` and `misses`: a new command, a running process, a cgroup, or the whole machine.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use hugewise_base::units::parse_duration;
use hugewise_experiment::run::trial::Outcome;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::WaitResult;
use hugewise_linux::observe::stat::subject::{CountedProcess, Subject};
use hugewise_linux::spawn;
use hugewise_linux::spawn::{
    AtExit, End, ExitRequest, Launch, Output as Prints, Running, StartResult, Suspended,
};
use hugewise_observe::stat::Target;

use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::process_name::parse_process;
use crate::{cgroup_name, invoker, program};

/// How often signals and the end of a process are checked.
pub const SOON: Duration = Duration::from_millis(50);

/// Flags that name the target and limit the observation time.
#[derive(Debug, Args)]
pub struct TargetFlags {
    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// A running process with its threads and descendants
    #[arg(short, long, value_name = "PID|NAME", value_parser = parse_process)]
    pub pid: Option<u32>,

    /// Observe the whole machine
    #[arg(short, long)]
    pub all: bool,

    /// Observe a cgroup, by its path below the mount point
    #[arg(long, value_name = "GROUP")]
    pub cgroup: Option<String>,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    #[command(flatten)]
    prints: PrintFlags,
}

/// Flags for the output of an observed command.
#[derive(Debug, Args)]
pub struct PrintFlags {
    /// Output of the command: discard, show (on stderr) [default: discard]
    #[arg(
        hide_short_help = true,
        long = "output",
        value_enum,
        hide_possible_values = true,
        value_name = "WHAT"
    )]
    printed: Option<Printed>,

    /// The same as --output show
    #[arg(hide = true, long, conflicts_with = "printed")]
    show: bool,
}

/// How the output of a command is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Printed {
    /// Thrown away
    Discard,
    /// Shown on stderr
    Show,
}

impl PrintFlags {
    /// Returns true if the output is shown.
    pub fn is_shown(&self) -> bool {
        self.show || self.printed == Some(Printed::Show)
    }
}

impl TargetFlags {
    /// The words of the command as text.
    pub fn words(&self) -> Vec<String> {
        let words = self.command.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    /// Finds the running target.
    pub fn find(&self, root: &Root) -> Result<(Subject, Target)> {
        if let Some(pid) = self.pid {
            let process = CountedProcess::find(root, pid).map_err(|error| match error.kind {
                Kind::NotFound => exit::no_process(pid),
                _ => error.into(),
            })?;
            let target = Target::Process {
                pid,
                comm: process.comm.clone(),
            };
            return Ok((Subject::Process(process), target));
        }
        if let Some(name) = &self.cgroup {
            let group = cgroup_name::find(root, name)?;
            let target = Target::Cgroup { path: name.clone() };
            return Ok((Subject::Cgroup(group), target));
        }
        Ok((Subject::Machine, Target::Machine))
    }

    /// Starts the command, stopped right after its exec.
    pub fn start(&self) -> Result<Suspended> {
        program::check_observed(&self.command)?;
        let launch = Launch {
            identity: invoker::identity()?,
            output: if self.prints.is_shown() {
                Prints::Show
            } else {
                Prints::Discard
            },
            at_exit: AtExit::Pass,
            timeout: self.duration,
            ..Launch::new(self.command.clone())
        };
        match spawn::start(&launch, &ExitRequest::default())? {
            StartResult::Suspended(suspended) => Ok(suspended),
            StartResult::NotStarted(error) => Err(exit::trial_failed(error)),
        }
    }
}

/// The exit code after a command ended with this outcome.
pub fn exit_of(outcome: Option<&Outcome>, interrupt: &Interrupt) -> Exit {
    match outcome {
        _ if interrupt.asked() => Exit::Interrupted,
        // Timed out: the end that --duration asked for.
        Some(Outcome::Exited { code: 0 } | Outcome::TimedOut) => Exit::Done,
        _ => Exit::TrialFailed,
    }
}

/// A command that runs under its keeper.
pub struct Watched {
    running: Running,
    stopped: bool,
    /// How the command ended; `None` while it runs.
    pub end: Option<End>,
}

impl Watched {
    /// Lets the command run.
    pub fn release(suspended: Suspended) -> Result<Self> {
        Ok(Self {
            running: suspended.release().context("releasing the command")?,
            stopped: false,
            end: None,
        })
    }

    /// Ends the keeper, which flushes the rest of the command's output.
    pub fn close(self) {
        drop(self.running.into_printed());
    }

    /// Waits for the command's end, but only briefly, and kills it if a signal asks to end.
    pub fn wait(&mut self, time: Duration, interrupt: &Interrupt) -> Result<WaitResult> {
        if interrupt.asked() && !self.stopped {
            self.running.stop()?;
            self.stopped = true;
        }
        self.end = self.running.wait(time.min(SOON))?;
        Ok(match self.end {
            Some(_) => WaitResult::Over,
            None => WaitResult::Passed,
        })
    }
}

/// `--duration`.
#[derive(Clone, Copy, Debug)]
pub struct Limit(Option<Instant>);

impl Limit {
    /// Starts a limit now; unlimited if no time is given.
    pub fn new(duration: Option<Duration>) -> Self {
        Self(duration.and_then(|duration| Instant::now().checked_add(duration)))
    }

    /// The time left.
    pub fn left(&self) -> Duration {
        self.0.map_or(Duration::MAX, |end| {
            end.saturating_duration_since(Instant::now())
        })
    }

    /// Returns true if the time is over.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}
