//! A server that lives for several trials: each trial is one load, a window in the life of the server.

use std::path::PathBuf;
use std::time::Duration;

use hugewise_experiment::run::plan::service::Places;

use super::{Attempt, Halt, Server, ServerEnd, Stage, SteadyLoad, Step, TRIES, go};
use crate::collect::TrialObservation;
use crate::collect::pools::{self, Pools};
use crate::collect::sampler::Sampler;
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::observe::stat::usage::{UsageObserver, UsageScope};
use crate::proc::meminfo;
use crate::proc::smaps_rollup::read_smaps_rollup;
use crate::proc::stat::ticks_per_second;
use crate::proc::tree::read_descendants;
use crate::spawn::Output;
use crate::sys::cgroup::read_memory_group;

/// Returns the memory available to programs, in bytes: that of the machine, or less if a cgroup has a limit. The page
/// cache of a cgroup counts as used.
///
/// # Errors
/// A file could not be read or parsed.
pub fn available_bytes(root: &Root) -> Result<u64> {
    let machine = meminfo::require(root, &meminfo::read_meminfo(root)?, "MemAvailable")?;
    let group = read_memory_group(root)?;
    let limit = group.cgroup.limit_bytes.zip(group.used_bytes);
    let left = limit.map(|(limit, used)| limit.saturating_sub(used));
    Ok(left.map_or(machine, |left| left.min(machine)))
}

/// A ready and warmed-up server. Dropping it kills its tree.
#[derive(Debug)]
pub struct LiveServer {
    server: Server,
    places: Places,
    dir: PathBuf,
    ready: Duration,
    /// The pool memory in use before it was started, in bytes.
    taken: Option<u64>,
}

impl LiveServer {
    /// Starts a server and warms it up with the plan's warm-up load; on failure returns the failed trial.
    ///
    /// # Errors
    /// The measurement failed: no keeper could be started, or the keeper was killed.
    pub fn start(stage: Stage<'_>) -> Result<std::result::Result<Self, Box<TrialObservation>>> {
        let mut tries = 0;
        loop {
            tries += 1;
            let attempt = Attempt::new(stage)?;
            match attempt.start_live()? {
                Err(observed) if tries < TRIES && attempt.lost_its_port(&observed) => {}
                done => return Ok(done),
            }
        }
    }

    /// Returns the PID of its keeper, the ancestor of its whole tree.
    #[must_use]
    pub fn keeper(&self) -> u32 {
        self.server.running.keeper()
    }

    /// Returns its `{port}`.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.places.port
    }

    /// Begins a load that is started again whenever it ends. Nothing is observed.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn keep_loaded(&self, stage: Stage<'_>) -> Result<SteadyLoad> {
        let attempt = Attempt::at(stage, self.places.clone(), self.dir.clone());
        SteadyLoad::begin(attempt.beside(&stage.service.plan.load, Output::Discard))
    }

    /// Returns the memory of its processes in bytes: shared memory counts once, pools do not count.
    #[must_use]
    pub fn memory_bytes(&self, root: &Root) -> u64 {
        let processes = read_descendants(root, self.keeper());
        let rollups = processes
            .iter()
            .filter_map(|&pid| read_smaps_rollup(root, pid).ok());
        rollups.map(|it| it.pss_bytes).sum()
    }

    /// Applies one load and observes the server during it. `others` are the keepers of the other servers, which should
    /// be idle. A failing server or load is no error: the outcome records it.
    ///
    /// # Errors
    /// The measurement failed.
    pub fn load(&mut self, stage: Stage<'_>, others: &[u32]) -> Result<TrialObservation> {
        let attempt = Attempt::at(stage, self.places.clone(), self.dir.clone());
        let (sizes, question) = attempt.questions();
        let pools = Pools::since(stage.root, self.taken);
        let sampler = Sampler::new(stage.root, &sizes, pools);
        stage.service.last_look.look_before(&self.places);
        let begin = |&keeper: &u32| UsageObserver::begin(stage.root, UsageScope::Below(keeper));
        let mut idle: Vec<_> = others.iter().map(begin).collect();
        attempt.step("loading");
        let mut driven = match self.server.has_ended(Duration::ZERO)? {
            true => Err(ended_between(&self.server)),
            false => attempt.window(&mut self.server, sampler, &sizes, &question, self.ready)?,
        };
        attempt.step("the load has ended");
        if let Ok(window) = &mut driven {
            window.other_servers_ns = idle.iter_mut().map(used_ns).sum();
        }
        stage.service.last_look.look(&self.places);
        Ok(attempt.observed_window(&self.server, driven, &sizes))
    }

    /// Ends it as described in the plan, or kills it.
    ///
    /// # Errors
    /// Its keeper died.
    pub fn stop(mut self, stage: Stage<'_>) -> Result<ServerEnd> {
        let attempt = Attempt::at(stage, self.places, self.dir);
        let ended = attempt.stop(&mut self.server)?;
        // Waits for its keeper, which removes its directory.
        drop(self.server.running.into_printed());
        Ok(ended)
    }
}

impl Attempt<'_> {
    /// As [`Self::bring_up`], and waits until the server is idle.
    fn bring_up_and_rest(&self, server: &mut Server) -> Step<Duration> {
        let ready = go!(self.bring_up(server));
        go!(self.wait_until_idle(server));
        Ok(Ok(ready))
    }

    fn start_live(&self) -> Result<std::result::Result<LiveServer, Box<TrialObservation>>> {
        let taken = pools::taken(self.root);
        let mut server = match self.start()? {
            Ok(server) => server,
            Err(observed) => return Ok(Err(observed)),
        };
        match self.bring_up_and_rest(&mut server)? {
            Ok(ready) => Ok(Ok(LiveServer {
                server,
                places: self.places.clone(),
                dir: self.dir.clone(),
                ready,
                taken,
            })),
            Err(halt) => {
                let ended = self.stop(&mut server)?;
                Ok(Err(Box::new(self.observed(server, Err(halt), ended, &[]))))
            }
        }
    }
}

fn ended_between(server: &Server) -> Halt {
    Halt::service(format!(
        "the service ended between two loads: {}",
        server.how()
    ))
}

/// Returns the processor time since the last reading; 0 if the tree has ended.
fn used_ns(observer: &mut UsageObserver<'_>) -> u64 {
    let used = observer.growth().unwrap_or_default();
    (used.user_ticks + used.system_ticks) * (1_000_000_000 / ticks_per_second())
}
