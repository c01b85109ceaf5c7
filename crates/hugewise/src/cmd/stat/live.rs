//! Observing what runs now.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::error::Kind;
use hugewise_linux::perf::open::Kernel;
use hugewise_linux::root::Root;
use hugewise_linux::spawn::{
    self, AtExit, Beginning, End, Launch, Output as Prints, Question, Running, Suspended,
};
use hugewise_linux::stat::plan::{self, Events};
use hugewise_linux::stat::subject::{Cgroup, Process, Subject};
use hugewise_linux::stat::{Observation, Waited, Wanted};
use hugewise_model::host::Host;
use hugewise_model::observation::Outcome;
use hugewise_model::stat::Target;

use super::sink::Sink;
use super::{Arguments, unknown_event};
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::{invoker, paths, program};

/// Observes until the subject ends, the time is over, or a signal comes.
pub(super) fn run(root: &Root, arguments: &Arguments) -> Result<Exit> {
    check_events(root, &arguments.events())?;
    let host = paths::host(root)?;
    let interrupt = Interrupt::catch()?;
    if !arguments.command.is_empty() {
        return run_command(root, &host, arguments, &interrupt);
    }
    let (subject, target) = subject(root, arguments)?;
    let mut process = None;
    if let Subject::Process(found) = &subject {
        process = Some(found.clone());
    }
    let wanted = wanted(arguments, subject, target);
    let mut observation = Observation::begin(root, &host, &Kernel, &wanted);
    let header = observation.header().clone();
    let mut sink = Sink::begin(&header, &arguments.output)?;
    let limit = Limit::new(arguments.duration);
    let gone = || process.as_ref().is_some_and(|process| !process.runs(root));
    observation.released();
    loop {
        let (interval, state) = observation.next(|time| {
            if gone() || interrupt.asked() || limit.is_over() {
                return Waited::Over;
            }
            thread::sleep(time.min(limit.left()).min(SOON));
            Waited::Passed
        });
        sink.interval(interval)?;
        if state == Waited::Over || limit.is_over() || gone() {
            break;
        }
    }
    sink.finish(None)?;
    // Observing has no end of its own: a signal is the ordinary way to end it.
    Ok(Exit::Done)
}

/// How soon a signal, or the end of a process, is noticed.
pub(super) const SOON: Duration = Duration::from_millis(50);

fn check_events(root: &Root, events: &Events) -> Result<()> {
    let Ok(sources) = plan::sources(root) else {
        return Ok(());
    };
    match events.unknown(&sources)[..] {
        [] => Ok(()),
        ref names => Err(unknown_event(names)),
    }
}

pub(super) fn subject(root: &Root, arguments: &Arguments) -> Result<(Subject, Target)> {
    if let Some(pid) = arguments.pid {
        let process = Process::find(root, pid).map_err(|error| match error.kind {
            Kind::NotFound => exit::usage(format!("-p {pid}: there is no such process")),
            _ => error.into(),
        })?;
        let target = Target::Process {
            pid,
            comm: process.comm.clone(),
        };
        return Ok((Subject::Process(process), target));
    }
    if let Some(name) = &arguments.cgroup {
        let group = Cgroup::find(root, name).map_err(|error| match error.kind {
            Kind::NotFound => exit::usage(format!(
                "--cgroup {name}: no such folder below any mounted hierarchy of cgroups"
            )),
            _ => error.into(),
        })?;
        let target = Target::Cgroup { path: name.clone() };
        return Ok((Subject::Cgroup(group), target));
    }
    Ok((Subject::Machine, Target::Machine))
}

fn wanted(arguments: &Arguments, subject: Subject, target: Target) -> Wanted {
    Wanted {
        subject,
        target,
        interval: arguments.interval,
        mode: arguments.mode(),
        events: arguments.events(),
        program: concat!("hugewise ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// A command is started as `run` starts one, by a keeper that lets nothing escape.
fn run_command(
    root: &Root,
    host: &Host,
    arguments: &Arguments,
    interrupt: &Interrupt,
) -> Result<Exit> {
    let suspended = start(arguments)?;
    let subject = Subject::Command {
        main: suspended.main(),
        keeper: suspended.keeper(),
    };
    let words = arguments.command.iter();
    let target = Target::Command {
        words: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    };
    let wanted = wanted(arguments, subject, target);
    let mut observation = Observation::begin(root, host, &Kernel, &wanted);
    let header = observation.header().clone();
    let mut sink = Sink::begin(&header, &arguments.output)?;
    let mut watched = Watched::release(suspended)?;
    observation.released();
    while watched.end.is_none() {
        let mut trouble = None;
        let (interval, _) = observation.next(|time| match watched.wait(time, interrupt) {
            Ok(waited) => waited,
            Err(error) => {
                trouble = Some(error);
                Waited::Over
            }
        });
        if let Some(error) = trouble {
            return Err(error);
        }
        sink.interval(interval)?;
    }
    let outcome = watched.end.as_ref().map(|end| end.outcome.clone());
    let exit = exit_of(outcome.as_ref(), interrupt);
    sink.finish(outcome)?;
    watched.close();
    Ok(exit)
}

/// Starts the command of the line, up to its exec.
pub(super) fn start(arguments: &Arguments) -> Result<Suspended> {
    program::check(&arguments.command)?;
    let launch = Launch {
        identity: invoker::identity()?,
        output: if arguments.show {
            Prints::Show
        } else {
            Prints::Discard
        },
        at_exit: AtExit::Pass,
        timeout: arguments.duration,
        ..Launch::new(arguments.command.clone())
    };
    match spawn::start(&launch, &Question::default())? {
        Beginning::Suspended(suspended) => Ok(suspended),
        Beginning::NotStarted(error) => Err(exit::trial_failed(error)),
    }
}

pub(super) fn exit_of(outcome: Option<&Outcome>, interrupt: &Interrupt) -> Exit {
    match outcome {
        _ if interrupt.asked() => Exit::Interrupted,
        // Timed out: the end that --duration asked for.
        Some(Outcome::Exited { code: 0 } | Outcome::TimedOut) => Exit::Done,
        _ => Exit::TrialFailed,
    }
}

/// A command that runs under its keeper.
pub(super) struct Watched {
    running: Running,
    stopped: bool,
    pub(super) end: Option<End>,
}

impl Watched {
    pub(super) fn release(suspended: Suspended) -> Result<Self> {
        Ok(Self {
            running: suspended.release().context("releasing the command")?,
            stopped: false,
            end: None,
        })
    }

    /// Only then is the last of what it printed through.
    pub(super) fn close(self) {
        drop(self.running.into_printed());
    }

    pub(super) fn wait(&mut self, time: Duration, interrupt: &Interrupt) -> Result<Waited> {
        if interrupt.asked() && !self.stopped {
            self.running.stop()?;
            self.stopped = true;
        }
        self.end = self.running.wait(time.min(SOON))?;
        Ok(match self.end {
            Some(_) => Waited::Over,
            None => Waited::Passed,
        })
    }
}

/// `--duration`.
pub(super) struct Limit(Option<Instant>);

impl Limit {
    pub(super) fn new(duration: Option<Duration>) -> Self {
        Self(duration.and_then(|duration| Instant::now().checked_add(duration)))
    }

    pub(super) fn left(&self) -> Duration {
        self.0.map_or(Duration::MAX, |end| {
            end.saturating_duration_since(Instant::now())
        })
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}
