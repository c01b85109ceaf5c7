//! The servers of all policies at once: started together, loaded one at a time, and stopped.

use std::time::Instant;

use anyhow::{Context, Result};
use hugewise_base::missing::Missing;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::plan::service::{Service, Windows, shortage};
use hugewise_experiment::run::plan::{Plan, Slot};
use hugewise_experiment::run::record::{Header, Record};
use hugewise_experiment::run::trial::{Outcome, Reading};
use hugewise_linux::apply::Machine;
use hugewise_linux::collect::TrialObservation;
use hugewise_linux::collect::service::{LiveServer, NoLook, Stage, available_bytes};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;

use super::{Flow, Place, Rounds};
use crate::exit;
use crate::experiment::progress::Progress;
use crate::stderr::message;

/// A started server, or the failed trial.
type Start = std::result::Result<LiveServer, Box<TrialObservation>>;

/// Servers that run at the same time, one for each slot of a round.
#[derive(Debug)]
pub(super) struct Servers {
    windows: Windows,
    slots: Vec<Server>,
}

/// The server of one slot, or the trial in which its start failed.
#[derive(Debug)]
struct Server {
    slot: Slot,
    live: Start,
    /// True if a measured trial has loaded it.
    measured: bool,
}

impl Servers {
    /// Makes an empty set if the trials of the plan are windows.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let windows = plan.service.as_ref()?.interleave.windows()?;
        Some(Self {
            windows,
            slots: Vec::new(),
        })
    }

    /// Loads the server of a slot once; the others idle.
    pub(super) fn load(
        &mut self,
        stage: Stage<'_>,
        place: Place,
    ) -> hugewise_linux::machine::error::Result<TrialObservation> {
        let lives = |server: &&Server| server.slot != place.slot;
        let others = self.slots.iter().filter(lives);
        let others: Vec<u32> = others
            .filter_map(|it| Some(it.live.as_ref().ok()?.keeper()))
            .collect();
        let mut servers = self.slots.iter_mut();
        let Some(server) = servers.find(|it| it.slot == place.slot) else {
            let error = "its server was not started".to_owned();
            return Ok(TrialObservation::not_run(Outcome::NotStarted { error }));
        };
        let mut observed = match &mut server.live {
            Ok(live) => live.load(stage, &others)?,
            Err(failed) => TrialObservation {
                started_unix_ms: unix_ms(),
                ..(**failed).clone()
            },
        };
        if std::mem::replace(&mut server.measured, place.index.is_some()) {
            let ready = MetricId::ServiceReadySeconds.to_string();
            observed.readings.insert(ready, started_before());
        }
        Ok(observed)
    }

    /// Returns true if the servers are restarted after a round.
    pub(super) fn ends_with(&self, round: u32) -> bool {
        self.windows.begins_at(round + 1)
    }

    /// The running server of a slot.
    pub(super) fn server_of(&self, slot: Slot) -> Option<&LiveServer> {
        let server = self.slots.iter().find(|it| it.slot == slot)?;
        server.live.as_ref().ok()
    }

    /// The memory of each running server, in bytes.
    fn memory(&self, root: &Root) -> Vec<u64> {
        let live = self.slots.iter().filter_map(|it| it.live.as_ref().ok());
        live.map(|live| live.memory_bytes(root)).collect()
    }
}

/// The start time is one reading, in the first trial after it.
fn started_before() -> Reading {
    Reading::missing(Missing::NotCounted {
        obstacle: "the server was started for an earlier trial".to_owned(),
    })
}

fn driving(header: &Header) -> Result<&Service> {
    let service = header.plan.service.as_ref();
    service.context("only a plan with a service has servers")
}

impl Rounds<'_> {
    /// The start that the trials of a round belong to, if they are windows.
    pub(super) fn start_of(&self, round: u32) -> Option<u32> {
        let servers = self.servers.borrow();
        servers.as_ref().map(|it| it.windows.start_of(round))
    }

    /// The round to begin with: one that begins with a server start.
    pub(super) fn first_round(&self, record: &Record) -> u32 {
        let next = record.next_round();
        let servers = self.servers.borrow();
        servers.as_ref().map_or(next, |it| {
            next.next_multiple_of(it.windows.rounds_per_start)
        })
    }

    /// Restarts all servers if this round requires it. If memory is too short, each later trial starts its own server.
    pub(super) fn start_servers(
        &self,
        record: &Record,
        round: u32,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let header = &record.header;
        let windows = self.servers.borrow().as_ref().map(|it| it.windows);
        let Some(windows) = windows.filter(|_| self.servers_due(round)) else {
            return Ok(Flow::Go);
        };
        let since = Instant::now();
        self.stop_servers(header)?;
        let available = available_bytes(self.root)?;
        let slots = header
            .plan
            .round(round, |policy| record.is_run(policy, round));
        for &slot in &slots {
            if self.start_server(header, (round, slot), machine, progress)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            let memory = self
                .servers
                .borrow()
                .as_ref()
                .map(|it| it.memory(self.root));
            let short = shortage(&memory.unwrap_or_default(), slots.len(), available);
            if let Some((needed, most)) = short.filter(|_| round == 0) {
                return self.do_without(header, windows, (needed, most), slots.len());
            }
        }
        self.pace
            .borrow_mut()
            .servers_started(since, windows.rounds_per_start);
        Ok(Flow::Go)
    }

    /// Returns true if all servers restart before a round.
    pub(super) fn servers_due(&self, round: u32) -> bool {
        let servers = self.servers.borrow();
        let due = |it: &Servers| it.windows.begins_at(round) || it.slots.is_empty();
        servers.as_ref().is_some_and(due)
    }

    /// Starts one server and applies the warm-up loads of the plan.
    fn start_server(
        &self,
        header: &Header,
        (round, slot): (u32, Slot),
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let policy = &header.plan.policies[slot.policy].name;
        progress.now(None, &format!("starting the server: {policy}"));
        let place = Place {
            index: None,
            round,
            slot,
        };
        let live = self.started(header, place, machine)?;
        if self.interrupt.asked() {
            return Ok(Flow::Stop);
        }
        if let Some(servers) = &mut *self.servers.borrow_mut() {
            servers.slots.push(Server {
                slot,
                live,
                measured: false,
            });
        }
        for _ in 0..header.plan.bounds.warmup_rounds {
            let since = Instant::now();
            if self.trial(header, machine, place)?.1 == Flow::Stop {
                return Ok(Flow::Stop);
            }
            self.pace.borrow_mut().warmed_up(since, 0);
        }
        Ok(Flow::Go)
    }

    /// Starts a server under its policy.
    pub(super) fn started(
        &self,
        header: &Header,
        place: Place,
        machine: &mut Machine,
    ) -> Result<Start> {
        let policy = &header.plan.policies[place.slot.policy].name;
        let applied = machine.apply(&header.realisations[policy]);
        let applied = applied
            .map_err(|error| exit::refused(format!("applying policy `{policy}`: {error}")))?;
        let driving = driving(header)?;
        let live = self.on_stage(header, driving, place, &NoLook, LiveServer::start)?;
        drop(applied);
        Ok(live)
    }

    /// Memory is short: each trial starts its own server, or the experiment ends.
    fn do_without(
        &self,
        header: &Header,
        windows: Windows,
        (needed, most): (u64, u64),
        servers: usize,
    ) -> Result<Flow> {
        self.stop_servers(header)?;
        *self.servers.borrow_mut() = None;
        let why = format!(
            "{servers} servers at once need about {}, more than 60 % of the available memory ({})",
            bytes_text(needed),
            bytes_text(most)
        );
        if windows.required {
            return Err(exit::refused(format!("--interleave yes: {why}")));
        }
        message(format_args!("each trial starts its server: {why}"));
        Ok(Flow::Go)
    }

    /// Stops all running servers.
    pub(super) fn stop_servers(&self, header: &Header) -> Result<()> {
        let mut servers = self.servers.borrow_mut();
        let slots = servers.as_mut().map(|it| std::mem::take(&mut it.slots));
        drop(servers);
        for server in slots.into_iter().flatten() {
            let Ok(live) = server.live else { continue };
            let place = Place {
                index: None,
                round: 0,
                slot: server.slot,
            };
            let driving = driving(header)?;
            let ended = self.on_stage(header, driving, place, &NoLook, |stage| live.stop(stage))?;
            self.report_killing(driving, Some(ended));
        }
        Ok(())
    }
}
