//! Starts the server up to its exec, and ends it.

use std::time::{Duration, Instant};

use hugewise_base::host::ThpDisable;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Outcome;

use super::{Attempt, Halt, ServerEnd, ready};
use crate::collect::TrialObservation;
use crate::collect::read_back;
use crate::machine::error::Result;
use crate::spawn::{self, AtExit, End, ExitRequest, Running, StartResult, TreeCgroup};

/// The server under its keeper.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) running: Running,
    pub(super) main: u32,
    /// The time of its release.
    pub(super) born: Instant,
    pub(super) thp_disable: Option<ThpDisable>,
    pub(super) numa: Option<String>,
    pub(super) tmpfs: Option<String>,
    pub(super) cgroup: std::result::Result<TreeCgroup, Missing>,
    pub(super) over: Option<End>,
}

impl Server {
    /// Waits at most `limit`; returns true if it has ended.
    pub(super) fn has_ended(&mut self, limit: Duration) -> Result<bool> {
        if self.over.is_none() {
            self.over = self.running.wait(limit)?;
        }
        Ok(self.over.is_some())
    }

    /// Returns true if it ended without a failure, as a program does when it becomes a daemon.
    pub(super) fn has_left(&self) -> bool {
        let end = self.over.as_ref();
        end.is_some_and(|end| end.outcome == Outcome::Exited { code: 0 })
    }

    /// Describes its end, for a failure message.
    pub(super) fn how(&self) -> String {
        let outcome = self.over.as_ref().map(|end| end.outcome.to_string());
        outcome.unwrap_or_else(|| "it runs".to_owned())
    }
}

impl Attempt<'_> {
    /// Starts the server up to its exec, or returns the failed trial.
    pub(super) fn start(&self) -> Result<std::result::Result<Server, Box<TrialObservation>>> {
        let plan = self.service.plan;
        if let Some(stranger) = ready::stranger(&plan.ready) {
            return Ok(Err(Box::new(self.halted(Halt::service(stranger), None))));
        }
        self.step("starting the service");
        let mut launch = self.filled(self.service.server, self.service.command);
        launch.cpus = plan
            .service_cpus
            .as_ref()
            .map(|cpus| cpus.iter().copied().collect());
        launch.scratch = Some(self.dir.clone());
        // Nothing is read at its end: only its state under the load counts.
        launch.at_exit = AtExit::Pass;
        let suspended = match spawn::start(&launch, &ExitRequest::default())? {
            StartResult::Suspended(suspended) => suspended,
            StartResult::NotStarted(error) => {
                let outcome = Outcome::NotStarted { error };
                return Ok(Err(Box::new(TrialObservation::not_run(outcome))));
            }
        };
        let main = suspended.main();
        let cgroup = suspended.cgroup();
        let thp_disable = suspended.thp_disable();
        let numa = read_back::numa(self.root, self.watch.expected, main);
        let tmpfs = read_back::tmpfs(self.root, self.watch.expected, main);
        self.step("releasing the service");
        Ok(Ok(Server {
            born: Instant::now(),
            running: suspended.release()?,
            main,
            thp_disable,
            numa,
            tmpfs,
            cgroup,
            over: None,
        }))
    }

    /// Ends the server as configured, and kills its tree if that has no effect.
    pub(super) fn stop(&self, server: &mut Server) -> Result<ServerEnd> {
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
}
