//! Samples a running target.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_linux::machine::clock::{self, nanoseconds};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::faults::TaskSet;
use hugewise_linux::observe::stat::subject::{CountedProcess, Subject};
use hugewise_linux::observe::tlb_misses::{self, Instrument, KernelSampler, MissTarget, Misses};
use hugewise_linux::observe::verify::EventIdentity;
use hugewise_linux::sys::cpu;
use hugewise_observe::faults::{Known, Modes};
use hugewise_text::number::counted;
use hugewise_tlb::misses::{Absence, Analysis, Closing, Conditions, Event, Facility, MissEvent};

use super::Arguments;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::program;
use crate::recording::{self, PageLines};
use crate::stderr::message;
use crate::target::{Limit, SOON, Watched, exit_of};
use crate::verified;

/// The consumer of misses.
type Sink = recording::Sink<Analysis>;

/// How sampling ended.
pub(super) enum Ended {
    /// With samples, or without any.
    Sampled(Box<Analysis>, Exit),
    /// The target cannot be sampled.
    Absent(Box<Absence>),
}

/// The target to sample.
pub(super) enum Wanted {
    /// The command of the line, not started yet.
    Command,
    /// A running target.
    Running {
        target: MissTarget,
        /// The process whose end ends the sampling.
        process: Option<CountedProcess>,
    },
}

impl Wanted {
    /// Finds the target that the command line names.
    pub(super) fn find(root: &Root, arguments: &Arguments) -> Result<Self> {
        if !arguments.target.command.is_empty() {
            program::check_observed(&arguments.target.command)?;
            return Ok(Self::Command);
        }
        let (subject, _) = arguments.target.find(root)?;
        Ok(match subject {
            Subject::Process(process) => Self::Running {
                target: MissTarget::Running(TaskSet::of(root, process.pid)?),
                process: Some(process),
            },
            Subject::Cgroup(group) => Self::Running {
                target: MissTarget::Cgroup(Arc::new(group.open(root).map_err(exit::refused)?)),
                process: None,
            },
            _ => Self::Running {
                target: MissTarget::Machine,
                process: None,
            },
        })
    }
}

/// Samples to the end.
pub(super) fn watch(
    root: &Root,
    host: &Host,
    instruments: &[Instrument],
    wanted: Wanted,
    arguments: &Arguments,
) -> Result<Ended> {
    let interrupt = Interrupt::catch()?;
    let sampling = Sampling {
        root,
        host,
        instruments,
        arguments,
    };
    match wanted {
        Wanted::Command => sampling.command(&interrupt),
        Wanted::Running { target, process } => {
            sampling.running(&target, process.as_ref(), &interrupt)
        }
    }
}

/// The state that every kind of target needs.
#[derive(Clone, Copy)]
struct Sampling<'a> {
    root: &'a Root,
    host: &'a Host,
    instruments: &'a [Instrument],
    arguments: &'a Arguments,
}

impl Sampling<'_> {
    fn command(self, interrupt: &Interrupt) -> Result<Ended> {
        let suspended = self.arguments.target.start()?;
        let target = MissTarget::BeforeExec {
            pid: suspended.main(),
        };
        let (mut misses, mut sink) = match self.open(&target)? {
            Ok(opened) => opened,
            Err(absence) => return Ok(Ended::Absent(absence)),
        };
        let mut watched = Watched::release(suspended)?;
        let begun = Instant::now();
        while watched.end.is_none() {
            watched.wait(SOON, interrupt)?;
            misses.drain(|event| sink.push(&event));
        }
        let wall_ns = nanoseconds(begun.elapsed());
        let outcome = watched.end.as_ref().map(|end| end.outcome.clone());
        let exit = exit_of(outcome.as_ref(), interrupt);
        let outcome = outcome.filter(|_| !interrupt.asked());
        let outlived = watched.end.as_ref().map_or(0, |end| end.outlived);
        watched.close();
        let closing = |closing| Closing {
            wall_ns,
            outcome,
            outlived,
            ..closing
        };
        let analysis = close(misses, sink, closing)?;
        Ok(Ended::Sampled(Box::new(analysis), exit))
    }

    fn running(
        self,
        target: &MissTarget,
        process: Option<&CountedProcess>,
        interrupt: &Interrupt,
    ) -> Result<Ended> {
        let (mut misses, mut sink) = match self.open(target)? {
            Ok(opened) => opened,
            Err(absence) => return Ok(Ended::Absent(absence)),
        };
        if !self.arguments.output.quiet {
            message("sampling; Ctrl-C ends it and reports");
        }
        let begun = Instant::now();
        let limit = Limit::new(self.arguments.target.duration);
        let gone = || process.is_some_and(|process| !process.runs(self.root));
        while !(gone() || interrupt.asked() || limit.is_over()) {
            thread::sleep(SOON.min(limit.left()));
            misses.drain(|event| sink.push(&event));
        }
        let wall_ns = nanoseconds(begun.elapsed());
        let closing = |closing| Closing { wall_ns, ..closing };
        let analysis = close(misses, sink, closing)?;
        Ok(Ended::Sampled(Box::new(analysis), Exit::Done))
    }

    fn open(self, target: &MissTarget) -> Result<Result<(Misses, Sink), Box<Absence>>> {
        let (root, host) = (self.root, self.host);
        let cpus = cpu::read_online_members(root)?;
        let opened = Misses::open(root, host, &KernelSampler, self.instruments, target, &cpus);
        let misses = match opened {
            Ok(misses) => misses,
            Err(error) => {
                let means = self
                    .instruments
                    .first()
                    .map_or(Facility::Pebs, |one| one.means);
                return match tlb_misses::explain(root, host, means, target, &error) {
                    Some(absence) => Ok(Err(Box::new(absence))),
                    None => Err(exit::usage(
                        "the process has ended; there is nothing to sample",
                    )),
                };
            }
        };
        let conditions = self.conditions();
        let begin = Event::Misses(MissEvent::Sampling(Box::new(conditions.clone())));
        let out = self.arguments.out.as_deref();
        let mut sink = Sink::new(Analysis::new(conditions), out, PageLines::default())?;
        sink.push(&begin);
        Ok(Ok((misses, sink)))
    }

    fn conditions(self) -> Conditions {
        let mut conditions = Conditions {
            hugewise: env!("CARGO_PKG_VERSION").to_owned(),
            subject: self.subject(),
            started_unix_ms: clock::unix_ms(),
            kernel: self.host.kernel.clone(),
            cpu_model: self.host.cpu_model.clone(),
            page_bytes: self.host.page_bytes,
            pmd_bytes: self.host.pmd_bytes(),
            means: Facility::Pebs,
            sampled: String::new(),
            every: 1,
            modes: Modes::User,
            page_size: Known::No(Missing::NotAsked),
            verification: verified::of(self.root, self.host, &self.events()),
        };
        tlb_misses::describe(self.instruments, &mut conditions);
        conditions
    }

    fn events(self) -> Vec<EventIdentity> {
        let instruments = self.instruments.iter();
        instruments.flat_map(|one| one.identities.clone()).collect()
    }

    fn subject(self) -> String {
        let words = self.arguments.target.words();
        match (self.arguments.target.pid, &self.arguments.target.cgroup) {
            (Some(pid), _) => format!("process {pid}"),
            (None, Some(name)) => format!("cgroup {name}"),
            (None, None) if words.is_empty() => "the whole machine".to_owned(),
            (None, None) => words.join(" "),
        }
    }
}

/// Reads the rest, and resolves the names of all places, so that a replay finds them in the recording.
fn close(
    mut misses: Misses,
    mut sink: Sink,
    ended: impl FnOnce(Closing) -> Closing,
) -> Result<Analysis> {
    let closing = misses.finish(|event| sink.push(&event));
    if let Some(first) = misses.malformed() {
        message(format_args!(
            "{} could not be decoded; the first: {first}",
            counted(closing.malformed, "record")
        ));
    }
    drop(misses);
    for name in recording::names(sink.analysis.nameless()) {
        sink.push(&Event::Space(name));
    }
    let closing = ended(closing);
    sink.push(&Event::Misses(MissEvent::Sampled(Box::new(closing))));
    Ok(sink.finish()?.0)
}
