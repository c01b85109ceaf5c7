//! Observes one trial of a server: it is started under the policy, polled until it is ready, loaded, and stopped. The
//! readings cover the server's tree during the load.
//!
//! Every command has its own keeper, so nothing outlives the measuring program, even if it is killed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hugewise_base::host::Host;
use hugewise_experiment::run::plan::service as plan;
use hugewise_experiment::run::plan::service::{CommandLine, Places};
use hugewise_experiment::run::timeline::TrialSeconds;
use hugewise_experiment::run::trial::{Outcome, Party};

use super::pools::Pools;
use super::sampler::Sampler;
use super::{Instruments, TAIL, TrialObservation, machine, question};
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::spawn::{self, ExitRequest, Launch};
use crate::undo::Steps;

mod idle;
mod live;
mod ports;
mod ready;
mod server;
mod service_trial;
mod side_commands;
mod steady_load;
mod window;

pub use live::{LiveServer, available_bytes};
use server::Server;
pub use steady_load::SteadyLoad;
use window::Window;

/// A server and its load.
#[derive(Clone, Copy, Debug)]
pub struct Service<'a> {
    /// How it is driven.
    pub plan: &'a plan::Service,
    /// The server's command, with its placeholders.
    pub command: &'a CommandLine,
    /// The environment of the server.
    pub server: &'a Launch,
    /// The environment of the load, and of all other commands run next to the server.
    pub load: &'a Launch,
    /// The parent directory of the trials' scratch directories.
    pub scratch: &'a Path,
    /// Notified before each step.
    pub steps: &'a dyn Steps,
    /// Reads the results in the directory before it is removed.
    pub last_look: &'a dyn LastLook,
}

/// The parts of a trial, and its observers.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The machine's files.
    pub root: &'a Root,
    /// The machine's facts.
    pub host: &'a Host,
    /// The server and its load.
    pub service: &'a Service<'a>,
    /// The observations.
    pub watch: &'a Instruments<'a>,
    /// When it becomes true, everything is killed.
    pub interrupt: &'a AtomicBool,
}

/// Reads a trial's directory: when the server and its load are dead, or before and after each load of a live server.
pub trait LastLook: fmt::Debug {
    /// Called before a load of a live server, which may have been loaded before.
    fn look_before(&self, _: &Places) {}

    /// `places` contains the directory, which is removed afterwards.
    fn look(&self, places: &Places);
}

/// Does not read the directory.
#[derive(Clone, Copy, Debug)]
pub struct NoLook;

impl LastLook for NoLook {
    fn look(&self, _: &Places) {}
}

/// Further observations of a trial with a server.
#[derive(Clone, Debug)]
pub struct ServiceObservation {
    /// The last 16 MiB of the server's output.
    pub log: Vec<u8>,
    /// How it ended.
    pub ended: ServerEnd,
    /// Its timeline, second by second; `None` if the load failed.
    pub seen: Option<TrialSeconds>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// It ended on request, or earlier without one.
    Itself,
    /// It was killed, because it had not ended in time.
    Killed,
    /// Not ended: it will be loaded again, or stopped.
    Lives,
}

/// The reason for halting a trial.
enum Halt {
    /// The user asked to end the experiment.
    Interrupted,
    /// A failure; the end of the load's output, if the load caused it.
    Failed(Outcome, Vec<u8>),
}

impl Halt {
    fn service(error: String) -> Self {
        let party = Party::Service;
        Self::Failed(Outcome::ServiceFailed { party, error }, Vec::new())
    }

    fn load(error: String, tail: Vec<u8>) -> Self {
        let party = Party::Load;
        Self::Failed(Outcome::ServiceFailed { party, error }, tail)
    }
}

/// The result of a step: its value, the reason why the trial is halted, or a failure of the measurement.
type Step<T> = Result<std::result::Result<T, Halt>>;

/// Returns the value, or halts.
macro_rules! go {
    ($step:expr) => {
        match $step? {
            Ok(value) => value,
            Err(halt) => return Ok(Err(halt)),
        }
    };
}
use go;

/// Another program may take a free port a moment later, but hardly several times in a row.
const TRIES: u32 = 3;

/// Runs a server once under its load and observes it.
///
/// A failing server or load is no error: the outcome records it.
///
/// # Errors
/// The measurement failed: no keeper could be started, or the keeper was killed.
pub fn trial(stage: Stage<'_>) -> Result<TrialObservation> {
    let mut tries = 0;
    loop {
        tries += 1;
        let attempt = Attempt::new(stage)?;
        let observed = attempt.run()?;
        if tries == TRIES || !attempt.lost_its_port(&observed) {
            return Ok(observed);
        }
    }
}

/// One attempt at a trial, with its port and its directory.
struct Attempt<'a> {
    root: &'a Root,
    host: &'a Host,
    service: &'a Service<'a>,
    watch: &'a Instruments<'a>,
    interrupt: &'a AtomicBool,
    places: Places,
    dir: PathBuf,
}

impl<'a> Attempt<'a> {
    /// Chooses a free port and a new directory.
    fn new(stage: Stage<'a>) -> Result<Self> {
        let service = stage.service;
        let owner = match &service.server.identity {
            Some(identity) => identity.uid,
            None => rustix::process::geteuid().as_raw(),
        };
        spawn::sweep_scratch(service.scratch, owner);
        let dir = spawn::scratch_name(service.scratch);
        let places = Places {
            port: ports::free()?,
            dir: dir.to_string_lossy().into_owned(),
        };
        Ok(Self::at(stage, places, dir))
    }

    fn at(stage: Stage<'a>, places: Places, dir: PathBuf) -> Self {
        Self {
            root: stage.root,
            host: stage.host,
            service: stage.service,
            watch: stage.watch,
            interrupt: stage.interrupt,
            places,
            dir,
        }
    }

    fn step(&self, doing: &str) {
        self.service.steps.step(doing, &self.dir);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn run(&self) -> Result<TrialObservation> {
        let pools = Pools::before(self.root);
        let mut server = match self.start()? {
            Ok(server) => server,
            Err(observed) => return Ok(*observed),
        };
        let (sizes, question) = self.questions();
        let sampler = Sampler::new(self.root, &sizes, pools);
        let driven = self.drive(&mut server, sampler, &sizes, &question)?;
        let ended = self.stop(&mut server)?;
        self.step("closing the books");
        self.service.last_look.look(&self.places);
        Ok(self.observed(server, driven, ended, &sizes))
    }

    /// Returns the watched folio sizes in KiB, and the readings of the main process at its end.
    fn questions(&self) -> (Vec<u64>, ExitRequest) {
        let sizes = machine::watched_sizes(self.root, self.host, self.watch.files);
        let question = question(self.host, &sizes);
        (sizes, question)
    }

    /// Returns a launch with this command, with all placeholders filled in.
    fn filled(&self, surroundings: &Launch, command: &CommandLine) -> Launch {
        let words = command.words(&self.places).into_iter();
        let environment = surroundings.environment.iter();
        Launch {
            command: words.map(Into::into).collect(),
            environment: environment
                .map(|(name, value)| (name.clone(), self.places.fill(value)))
                .collect(),
            ..surroundings.clone()
        }
    }

    /// Runs the server from its start to the end of the load.
    fn drive(
        &self,
        server: &mut Server,
        sampler: Sampler<'_>,
        sizes: &[u64],
        question: &ExitRequest,
    ) -> Step<Window<'a>> {
        let ready = go!(self.bring_up(server));
        self.step("loading");
        let window = go!(self.window(server, sampler, sizes, question, ready));
        self.step("the load has ended");
        Ok(Ok(window))
    }

    /// Starts the server and waits until it is ready and warm; returns how long it took to get ready.
    fn bring_up(&self, server: &mut Server) -> Step<Duration> {
        self.step("waiting for the service");
        let ready = go!(self.wait_until_ready(server));
        if let Some(line) = &self.service.plan.warm_up_load {
            self.step("warming up");
            go!(self.warm_up(server, line));
        }
        Ok(Ok(ready))
    }

    /// Returns true if the server died because another program took its port in the interval.
    fn lost_its_port(&self, observed: &TrialObservation) -> bool {
        let plan = self.service.plan;
        let asked = self.service.command.mentions("{port}") || plan.ready.mentions("{port}");
        let failed = matches!(
            observed.outcome,
            Outcome::ServiceFailed {
                party: Party::Service,
                ..
            }
        );
        asked && failed && !observed.interrupted && !ports::is_free(self.places.port)
    }
}
