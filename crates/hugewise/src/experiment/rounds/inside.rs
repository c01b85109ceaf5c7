//! Periods inside the servers: pages are switched while a server of the baseline is under load, after its own trials.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_experiment::run::compare;
use hugewise_experiment::run::plan::Slot;
use hugewise_experiment::run::plan::service::Service;
use hugewise_experiment::run::record::{Header, Record, StopReason};
use hugewise_experiment::run::trial::{Role, Trial};
use hugewise_linux::apply::Machine;
use hugewise_linux::collect::service::{LiveServer, NoLook, SteadyLoad};

use super::{Flow, Place, Rounds};
use crate::exit;
use crate::experiment::progress::Progress;
use crate::experiment::recorder::Recorder;
use crate::interrupt::Interrupt;
use crate::options::Options;

/// Measures inside servers that are under load.
pub trait Switchbacks: fmt::Debug {
    /// Adds the periods of one start to the record. Returns the pages that are not as they were found, in words.
    ///
    /// # Errors
    /// Why no more periods are possible.
    fn measure(&self, server: &LoadedServer<'_>, recorder: &mut Recorder) -> Result<Vec<String>>;
}

/// A server under a load that does not pause.
#[derive(Debug)]
pub struct LoadedServer<'a> {
    /// The ancestor of its processes.
    pub keeper: u32,
    /// Its `{port}`.
    pub port: u16,
    /// The number of its start.
    pub start: u32,
    /// The time for its periods.
    pub time: Duration,
    /// Set once the load runs no more.
    pub unloaded: Arc<AtomicBool>,
    /// The flags of the experiment.
    pub options: &'a Options,
    /// Ends the periods early.
    pub interrupt: &'a Interrupt,
}

/// The periods of an experiment so far.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    /// The time that they took.
    spent: Duration,
    /// Set once they are not possible.
    is_over: bool,
    /// The last start that had some.
    start: Option<u32>,
}

/// Periods take at most one in so many seconds of the experiment.
const PART: u32 = 3;
/// The most time of one start.
const MOST: Duration = Duration::from_secs(60);
/// The least time of the first start with periods, which also calibrates, and of a later one.
const LEAST: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(5)];
/// The load runs for so long before anything is counted.
const BEFORE: Duration = Duration::from_millis(500);
/// So many starts are enough once the periods decide.
const ENOUGH_STARTS: u32 = 3;

impl<'a> Rounds<'a> {
    /// The same, with periods inside the servers.
    pub fn inside(self, switchbacks: Option<&'a dyn Switchbacks>) -> Self {
        Self {
            switchbacks,
            ..self
        }
    }
}

impl Rounds<'_> {
    /// Adds periods inside the baseline's server if the start ends with this round.
    pub(super) fn after_round(
        &self,
        round: u32,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let servers = self.servers.borrow();
        let ends = servers.as_ref().is_none_or(|it| it.ends_with(round));
        drop(servers);
        match ends {
            true => self.inside_start(round, recorder, machine, progress),
            false => Ok(Flow::Go),
        }
    }

    /// Adds periods inside the baseline's server after the last round, unless its start already has some.
    pub(super) fn after_rounds(
        &self,
        reason: StopReason,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<()> {
        use StopReason::{Decided, MaxRounds, MaxTime, OutOfReach, Precise};
        let round = recorder.record().next_round().saturating_sub(1);
        let is_done = self.so_far.borrow().start == Some(self.number_of_start(round));
        let is_wanted = matches!(reason, Decided | MaxRounds | MaxTime | OutOfReach | Precise);
        if is_wanted && !is_done {
            self.inside_start(round, recorder, machine, progress)?;
        }
        Ok(())
    }

    /// The time to reserve for the first periods, before any were measured.
    pub(super) fn kept_for_periods(&self, record: &Record) -> Duration {
        let kept = self.time_inside(record).filter(|_| record.inside.is_none());
        kept.unwrap_or_default()
    }

    /// The time for periods now; `None` if it is too short for a round.
    fn time_inside(&self, record: &Record) -> Option<Duration> {
        let so_far = self.so_far.borrow();
        let plan = &record.header.plan;
        let is_asked = self.switchbacks.is_some() && plan.service.is_some();
        if !is_asked || so_far.is_over || plan.policies.len() < 2 {
            return None;
        }
        let elapsed = self.pace.borrow().elapsed();
        let left = plan
            .bounds
            .max_time
            .filter(|_| plan.bounds.least_rounds.is_none());
        let left = left.map_or(MOST, |most| most.saturating_sub(elapsed));
        let time = share(elapsed, so_far.spent).min(MOST).min(left);
        let least = LEAST[usize::from(record.inside.is_some())];
        (time >= least && !has_enough(record)).then_some(time)
    }

    fn inside_start(
        &self,
        round: u32,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let asked = self.switchbacks.zip(self.time_inside(recorder.record()));
        let Some((switchbacks, time)) = asked else {
            return Ok(Flow::Go);
        };
        if recorder.record().inside.is_none() {
            progress.say(&format!(
                "inside the servers of {}: their memory is switched between huge and small pages under the load, \
                 in at most a third of the time; --whole-runs leaves that out",
                recorder.record().header.plan.baseline
            ));
        }
        progress.now(
            Some(time),
            "inside the server: periods of huge and small pages",
        );
        let since = Instant::now();
        let measured = self.periods(switchbacks, (round, time), recorder, machine)?;
        let took = since.elapsed();
        self.pace.borrow_mut().switched_inside(took);
        let mut so_far = self.so_far.borrow_mut();
        so_far.spent += took;
        so_far.start = Some(self.number_of_start(round));
        match measured {
            _ if self.interrupt.asked() => return Ok(Flow::Stop),
            Ok(left) => left.iter().for_each(|text| progress.say(text)),
            Err(why) => {
                so_far.is_over = true;
                progress.say(&format!("no periods inside the servers: {why:#}"));
            }
        }
        Ok(Flow::Go)
    }

    /// Loads the server of the baseline without pauses, and measures periods. The inner error says why there are none.
    fn periods(
        &self,
        switchbacks: &dyn Switchbacks,
        (round, time): (u32, Duration),
        recorder: &mut Recorder,
        machine: &mut Machine,
    ) -> Result<Result<Vec<String>>> {
        let header = &recorder.record().header.clone();
        let driving = header.plan.service.as_ref();
        let driving = driving.context("only a plan with a service has servers")?;
        let place = baseline(header, round)?;
        let policy = &header.plan.policies[place.slot.policy].name;
        let until = Instant::now() + time;
        let loaded = |live: &LiveServer, load: &SteadyLoad| LoadedServer {
            keeper: live.keeper(),
            port: live.port(),
            start: self.number_of_start(round),
            time: until.saturating_duration_since(Instant::now()),
            unloaded: load.over(),
            options: self.options,
            interrupt: self.interrupt,
        };
        if let Some(servers) = &*self.servers.borrow() {
            let Some(live) = servers.server_of(place.slot) else {
                return Ok(Ok(Vec::new()));
            };
            let applied = machine.apply(&header.realisations[policy]);
            let applied = applied.map_err(exit::refused)?;
            let load = self.load_of(header, driving, place, live)?;
            self.interrupt.wait(BEFORE);
            let measured = switchbacks.measure(&loaded(live, &load), recorder);
            drop(applied);
            return Ok(measured);
        }
        self.inside_another(header, driving, place, machine, |live, load| {
            match load.has_run(time / 2, self.interrupt.flag()) {
                true => switchbacks.measure(&loaded(live, load), recorder),
                false => Ok(Vec::new()),
            }
        })
    }

    /// Starts one more server for the periods, if each trial starts another one.
    fn inside_another(
        &self,
        header: &Header,
        driving: &Service,
        place: Place,
        machine: &mut Machine,
        measure: impl FnOnce(&LiveServer, &SteadyLoad) -> Result<Vec<String>>,
    ) -> Result<Result<Vec<String>>> {
        let policy = &header.plan.policies[place.slot.policy];
        let realisation = &header.realisations[&policy.name];
        if let Err(why) = self.prepare(policy, realisation, place.slot.role) {
            return Ok(Err(anyhow::anyhow!(why)));
        }
        let measured = match self.started(header, place, machine)? {
            Err(failed) => Err(anyhow::anyhow!("{}", failed.outcome)),
            Ok(live) => {
                let load = self.load_of(header, driving, place, &live)?;
                let measured = measure(&live, &load);
                drop(load);
                let ended =
                    self.on_stage(header, driving, place, &NoLook, |stage| live.stop(stage))?;
                self.report_killing(driving, Some(ended));
                measured
            }
        };
        let closed = self.closing_hook("--conclude", self.options.conclude.as_deref());
        Ok(closed.map_err(|why| anyhow::anyhow!(why)).and(measured))
    }

    fn load_of(
        &self,
        header: &Header,
        driving: &Service,
        place: Place,
        live: &LiveServer,
    ) -> Result<SteadyLoad> {
        self.on_stage(header, driving, place, &NoLook, |stage| {
            live.keep_loaded(stage)
        })
    }

    /// The number of the start that a round belongs to. A server that each trial starts is one start a round.
    fn number_of_start(&self, round: u32) -> u32 {
        self.start_of(round).unwrap_or(round)
    }
}

/// The time for more periods, after `elapsed` of the experiment with `spent` in periods.
fn share(elapsed: Duration, spent: Duration) -> Duration {
    elapsed.saturating_sub(spent * PART) / (PART - 1)
}

/// Returns true if the periods decide, in enough starts.
fn has_enough(record: &Record) -> bool {
    let Some(inside) = &record.inside else {
        return false;
    };
    let starts = inside.trials.iter().filter_map(|trial: &Trial| trial.start);
    let starts: std::collections::BTreeSet<u32> = starts.collect();
    let decides = || compare::progress(inside, 0).is_ok_and(|it| it.stop.is_some());
    starts.len() >= ENOUGH_STARTS as usize && decides()
}

/// The place of the baseline in a round.
fn baseline(header: &Header, round: u32) -> Result<Place> {
    let plan = &header.plan;
    let mut policies = plan.policies.iter();
    let policy = policies.position(|it| it.name == plan.baseline);
    Ok(Place {
        index: None,
        round,
        slot: Slot {
            policy: policy.context("the plan has no baseline")?,
            role: Role::Arm,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_take_at_most_a_third_of_the_time() {
        let share = |elapsed, spent| {
            let [elapsed, spent] = [elapsed, spent].map(Duration::from_secs);
            share(elapsed, spent).as_secs()
        };
        assert_eq!(share(20, 0), 10);
        assert_eq!(share(30, 10), 0);
        assert_eq!(share(50, 10), 10);
        assert_eq!(share(5, 10), 0);
    }
}
