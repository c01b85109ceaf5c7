//! Runs commands next to the server, each under a separate keeper.

use std::time::Duration;

use hugewise_experiment::run::plan::service::CommandLine;
use hugewise_experiment::run::trial::Outcome;

use super::service_trial::last;
use super::{Attempt, Halt, Server, Step, TAIL, go};
use crate::machine::error::Result;
use crate::spawn::{
    self, AtExit, CapturedOutput, CgroupChoice, End, ExitRequest, Launch, Output, Running,
    StartResult, Suspended,
};

/// How long to wait for the end of the server after a load has failed: the server may be the cause.
const SECOND_LOOK: Duration = Duration::from_millis(200);

impl Attempt<'_> {
    /// Returns the launch of a command next to the server, with its output.
    pub(super) fn beside(&self, line: &CommandLine, output: Output) -> Launch {
        let cpus = self.service.plan.load_cpus.as_ref();
        Launch {
            output,
            at_exit: AtExit::Pass,
            group: CgroupChoice::Leave,
            cpus: cpus.map(|cpus| cpus.iter().copied().collect()),
            ..self.filled(self.service.load, line)
        }
    }

    /// Prepares a load up to its exec.
    pub(super) fn prepare(&self, launch: &Launch) -> Step<Suspended> {
        Ok(match spawn::start(launch, &ExitRequest::default())? {
            StartResult::Suspended(suspended) => Ok(suspended),
            StartResult::NotStarted(error) => Err(Halt::load(
                format!("the load could not be started: {error}"),
                Vec::new(),
            )),
        })
    }

    /// Waits for the end of a load; calls `meanwhile` in between, which returns how long to wait.
    pub(super) fn finish(
        &self,
        load: &mut Running,
        server: &mut Server,
        mut meanwhile: impl FnMut(&mut Server) -> Duration,
    ) -> Step<End> {
        /// A signal may be delivered to another thread and not end the wait.
        const LONGEST_WAIT: Duration = Duration::from_millis(50);
        loop {
            let wait = meanwhile(server).min(LONGEST_WAIT);
            if let Some(end) = load.wait(wait)? {
                return Ok(Ok(end));
            }
            if self.interrupted() {
                return Ok(Err(Halt::Interrupted));
            }
            if server.has_ended(Duration::ZERO)? {
                return Ok(Err(ended_under_load(server)));
            }
        }
    }

    /// Returns the failure of a load, which may be caused by the server.
    pub(super) fn failure(
        &self,
        what: &str,
        end: &End,
        printed: CapturedOutput,
        server: &mut Server,
    ) -> Result<Halt> {
        if self.interrupted() {
            return Ok(Halt::Interrupted);
        }
        if server.has_ended(SECOND_LOOK)? {
            return Ok(ended_under_load(server));
        }
        let error = match &end.outcome {
            Outcome::NotStarted { .. } => format!("{what} {}", end.outcome),
            outcome => format!("{what} failed: {outcome}"),
        };
        // Many programs print the reason for their failure on stdout.
        let tail = match printed.stderr_tail.is_empty() {
            true => last(&printed.stdout, TAIL).to_vec(),
            false => printed.stderr_tail,
        };
        Ok(Halt::load(error, tail))
    }

    pub(super) fn warm_up(&self, server: &mut Server, line: &CommandLine) -> Step<()> {
        let launch = self.beside(line, Output::Keep);
        let mut load = go!(self.prepare(&launch)).release()?;
        let end = go!(self.finish(&mut load, server, |_| Duration::MAX));
        let printed = load.into_printed();
        if end.outcome == (Outcome::Exited { code: 0 }) {
            return Ok(Ok(()));
        }
        self.failure("the warm-up load", &end, printed, server)
            .map(Err)
    }

    /// Runs the command that stops the server. A failure is visible because the server stays.
    pub(super) fn ask_to_stop(&self, line: &CommandLine, grace: Duration) -> Result<()> {
        self.run_beside(line, grace).map(drop)
    }

    /// Runs a command to its end; returns true if it succeeded.
    pub(super) fn run_beside(&self, line: &CommandLine, limit: Duration) -> Result<bool> {
        let mut launch = self.beside(line, Output::Discard);
        launch.timeout = Some(limit);
        let StartResult::Suspended(suspended) = spawn::start(&launch, &ExitRequest::default())?
        else {
            return Ok(false);
        };
        let mut running = suspended.release()?;
        loop {
            if let Some(end) = running.wait(Duration::from_millis(50))? {
                return Ok(end.outcome == Outcome::Exited { code: 0 });
            }
            if self.interrupted() {
                return Ok(false);
            }
        }
    }
}

fn ended_under_load(server: &Server) -> Halt {
    Halt::service(format!("the service ended under load: {}", server.how()))
}
