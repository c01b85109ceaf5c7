//! Observing one trial of a server: started under the policy, asked until it is ready, loaded,
//! stopped. What is read is of the server's tree while the load runs.
//!
//! Everything that runs has a keeper of its own, so that nothing survives the measuring program,
//! whenever it is killed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hugewise_model::base::host::{Host, ThpDisable};
use hugewise_model::base::missing::Missing;
use hugewise_model::run::plan::service as plan;
use hugewise_model::run::plan::service::{CommandLine, Places};
use hugewise_model::run::timeline::Seen;
use hugewise_model::run::trial::{Outcome, Party};

use super::group::TrialGroup;
use super::pools::Pools;
use super::sampler::Sampler;
use super::{Instruments, TAIL, TrialObservation, group, machine, question};
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::spawn::{self, AtExit, End, ExitRequest, Launch, Running, StartResult};
use crate::undo::Steps;

mod aside;
mod books;
mod ports;
mod ready;
mod window;

use window::Window;

/// A server and what drives it.
#[derive(Clone, Copy, Debug)]
pub struct Service<'a> {
    /// How it is driven.
    pub plan: &'a plan::Service,
    /// The server's command, with its placeholders.
    pub command: &'a CommandLine,
    /// The surroundings of the server.
    pub server: &'a Launch,
    /// The surroundings of the load, and of what else is run beside the server.
    pub load: &'a Launch,
    /// Below which folder each trial gets one of its own.
    pub scratch: &'a Path,
    /// Told of each step, before it is done.
    pub steps: &'a dyn Steps,
    /// Reads what was written in the folder, before it goes.
    pub last_look: &'a dyn LastLook,
}

/// Looks at a trial's folder when the server and its load are dead.
pub trait LastLook: fmt::Debug {
    /// The folder is in the places, and is removed afterwards.
    fn look(&self, places: &Places);
}

/// No look at the folder.
#[derive(Clone, Copy, Debug)]
pub struct NoLook;

impl LastLook for NoLook {
    fn look(&self, _: &Places) {}
}

/// Further observations of a trial with a server.
#[derive(Clone, Debug)]
pub struct ServiceObservation {
    /// What the server printed, the last 16 MiB.
    pub log: Vec<u8>,
    /// How it ended.
    pub ended: ServerEnd,
    /// Its timeline, second by second; `None` where the load failed.
    pub seen: Option<Seen>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// By itself, on request or before.
    Itself,
    /// It was killed, because it had not ended in time.
    Killed,
}

/// Why a trial was halted.
enum Halt {
    /// Somebody asked for the end of the experiment.
    Interrupted,
    /// A failure; the end of what the load wrote, where it is its fault.
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

/// The result of a step: its value, or the reason why the trial is halted, or a failure of the
/// measurement itself.
type Step<T> = Result<std::result::Result<T, Halt>>;

/// Gives the value, or halts.
macro_rules! go {
    ($step:expr) => {
        match $step? {
            Ok(value) => value,
            Err(halt) => return Ok(Err(halt)),
        }
    };
}
use go;

/// Runs a server once under its load and observes it.
///
/// When `interrupt` becomes true, everything is killed. A server or a load that fails is no
/// error: the outcome says so.
///
/// # Errors
/// Measuring itself failed: no keeper could be started, or somebody killed it.
pub fn trial(
    root: &Root,
    host: &Host,
    service: &Service<'_>,
    watch: &Instruments<'_>,
    interrupt: &AtomicBool,
) -> Result<TrialObservation> {
    /// A port that was free may be another's a moment later, but hardly again and again.
    const TRIES: u32 = 3;
    let owner = match &service.server.identity {
        Some(identity) => identity.uid,
        None => rustix::process::geteuid().as_raw(),
    };
    spawn::sweep_scratch(service.scratch, owner);
    let mut tries = 0;
    loop {
        tries += 1;
        let dir = spawn::scratch_name(service.scratch);
        let attempt = Attempt {
            root,
            host,
            service,
            watch,
            interrupt,
            places: Places {
                port: ports::free()?,
                dir: dir.to_string_lossy().into_owned(),
            },
            dir,
        };
        let observed = attempt.run()?;
        if tries == TRIES || !attempt.lost_its_port(&observed) {
            return Ok(observed);
        }
    }
}

/// One way through a trial, with its port and its folder.
struct Attempt<'a> {
    root: &'a Root,
    host: &'a Host,
    service: &'a Service<'a>,
    watch: &'a Instruments<'a>,
    interrupt: &'a AtomicBool,
    places: Places,
    dir: PathBuf,
}

/// The server under its keeper.
struct Server {
    running: Running,
    main: u32,
    /// When it was released.
    born: Instant,
    thp_disable: Option<ThpDisable>,
    group: std::result::Result<TrialGroup, Missing>,
    over: Option<End>,
}

impl Server {
    /// Whether it has ended; waits that long for it.
    fn has_ended(&mut self, limit: Duration) -> Result<bool> {
        if self.over.is_none() {
            self.over = self.running.wait(limit)?;
        }
        Ok(self.over.is_some())
    }

    /// How it ended, in the words of a failure.
    fn how(&self) -> String {
        let outcome = self.over.as_ref().map(|end| end.outcome.to_string());
        outcome.unwrap_or_else(|| "it runs".to_owned())
    }
}

impl<'a> Attempt<'a> {
    fn step(&self, doing: &str) {
        self.service.steps.step(doing, &self.dir);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn run(&self) -> Result<TrialObservation> {
        if let Some(stranger) = ready::stranger(&self.service.plan.ready) {
            let halt = Halt::service(stranger);
            return Ok(self.halted(halt, None));
        }
        let sizes = machine::watched_sizes(self.root, self.host, self.watch.files);
        let question = question(self.host, &sizes);
        let pools = Pools::before(self.root);
        self.step("starting the service");
        let server = self.start()?;
        let mut server = match server {
            Ok(server) => server,
            Err(outcome) => return Ok(TrialObservation::not_run(outcome)),
        };
        let sampler = Sampler::new(self.root, &sizes, pools);
        let driven = self.drive(&mut server, sampler, &sizes, &question)?;
        let ended = self.stop(&mut server)?;
        self.step("closing the books");
        self.service.last_look.look(&self.places);
        Ok(self.observed(server, driven, ended, &sizes))
    }

    /// Starts the server, up to its exec.
    fn start(&self) -> Result<std::result::Result<Server, Outcome>> {
        let plan = self.service.plan;
        let mut launch = self.filled(self.service.server, self.service.command);
        launch.cpus = plan
            .service_cpus
            .as_ref()
            .map(|cpus| cpus.iter().copied().collect());
        launch.scratch = Some(self.dir.clone());
        // Nothing is read at its end: what counts is what it was under the load.
        launch.at_exit = AtExit::Pass;
        let suspended = match spawn::start(&launch, &ExitRequest::default())? {
            StartResult::Suspended(suspended) => suspended,
            StartResult::NotStarted(error) => return Ok(Err(Outcome::NotStarted { error })),
        };
        let main = suspended.main();
        let group = group::make(self.root, launch.group, main);
        let thp_disable = suspended.thp_disable();
        self.step("releasing the service");
        Ok(Ok(Server {
            born: Instant::now(),
            running: suspended.release()?,
            main,
            thp_disable,
            group,
            over: None,
        }))
    }

    /// A launch with this command, and all placeholders filled in.
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

    /// From the server's first moment to the end of the load.
    fn drive(
        &self,
        server: &mut Server,
        sampler: Sampler<'_>,
        sizes: &[u64],
        question: &ExitRequest,
    ) -> Step<Window<'a>> {
        self.step("waiting for the service");
        let ready = go!(self.wait_until_ready(server));
        if let Some(line) = &self.service.plan.warm_up_load {
            self.step("warming up");
            go!(self.warm_up(server, line));
        }
        self.step("loading");
        let window = go!(self.window(server, sampler, sizes, question, ready));
        self.step("the load has ended");
        Ok(Ok(window))
    }

    /// Has the server end in the documented way, and where that does not help, kills its tree.
    fn stop(&self, server: &mut Server) -> Result<ServerEnd> {
        let plan = self.service.plan;
        if !self.interrupted() && server.over.is_none() {
            self.step("stopping the service");
            let since = Instant::now();
            match &plan.stop_command {
                Some(line) => self.ask_to_stop(line, plan.grace)?,
                None => server.running.signal(plan.stop_signal.number())?,
            }
            while !server.has_ended(Duration::from_millis(50))? {
                if since.elapsed() > plan.grace || self.interrupted() {
                    break;
                }
            }
        }
        if server.over.is_some() {
            return Ok(ServerEnd::Itself);
        }
        self.step("killing the service");
        server.running.stop()?;
        while !server.has_ended(Duration::from_secs(1))? {}
        Ok(ServerEnd::Killed)
    }

    /// Whether the server died because the port that was free had been taken meanwhile.
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
