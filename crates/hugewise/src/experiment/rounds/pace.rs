//! Pace: how long a round takes, how many rounds fit into the time, and when the time is over.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_experiment::run::compare::Progress;
use hugewise_experiment::run::plan::Bounds;
use hugewise_experiment::run::record::{Record, StopReason};
use hugewise_experiment::run::stats::median;
use hugewise_experiment::run::trial::{Reading, Trial};

use super::duration::{Forecast, Starts, refusal};
use crate::exit;

/// The share of the first trials' time that later trials may take.
const FASTER: f64 = 0.5;

/// The speed of an experiment.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    /// The time of each unmeasured trial, in seconds.
    warm_up: Vec<f64>,
    /// Unmeasured trials still to run.
    warm_up_ahead: u32,
    /// When the first measured trial began.
    measuring: Option<Instant>,
    /// Measured trials.
    trials: u32,
    /// The total time of server starts since then, and of periods inside servers.
    starts: Duration,
    /// The time of the last start of all servers.
    last_start: Duration,
    /// Rounds between two starts.
    rounds_per_start: u32,
}

impl Pace {
    /// Starts the clock of an experiment.
    pub(super) fn begin() -> Self {
        Self {
            began: Instant::now(),
            warm_up: Vec::new(),
            warm_up_ahead: 0,
            measuring: None,
            trials: 0,
            starts: Duration::ZERO,
            last_start: Duration::ZERO,
            rounds_per_start: 1,
        }
    }

    /// The time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes the end of an unmeasured trial, with `ahead` more to run.
    pub(super) fn warmed_up(&mut self, since: Instant, ahead: u32) {
        self.warm_up.push(since.elapsed().as_secs_f64());
        self.warm_up_ahead = ahead;
    }

    /// Notes the start of all servers for this many rounds.
    pub(super) fn servers_started(&mut self, since: Instant, rounds: u32) {
        self.last_start = since.elapsed();
        self.rounds_per_start = rounds;
        if self.measuring.is_some() {
            self.starts += self.last_start;
        }
    }

    /// Notes periods inside a server, which are not part of any trial.
    pub(super) fn switched_inside(&mut self, took: Duration) {
        if self.measuring.is_some() {
            self.starts += took;
        }
    }

    /// Notes the start of a measured trial.
    pub(super) fn trial_begins(&mut self) {
        self.measuring.get_or_insert_with(Instant::now);
    }

    /// Notes the end of a measured trial.
    pub(super) fn trial_over(&mut self) {
        self.trials += 1;
    }

    /// The time of one trial with its overhead. Uses the warm-up until a trial was measured.
    pub(super) fn trial(&self) -> Option<Duration> {
        match self.measuring {
            Some(since) if self.trials > 0 => {
                Some(since.elapsed().saturating_sub(self.starts) / self.trials)
            }
            _ => median(&self.warm_up).and_then(|it| Duration::try_from_secs_f64(it).ok()),
        }
    }

    /// The forecast of an experiment after `done` rounds, with `slots` trials per round.
    pub(super) fn forecast(&self, done: u32, slots: usize) -> Option<Forecast> {
        let trial = self.trial()?;
        Some(Forecast {
            elapsed: self.elapsed(),
            warm_up: trial * self.warm_up_ahead,
            trial,
            slots: u32::try_from(slots).unwrap_or(u32::MAX),
            starts: Starts {
                each: self.last_start,
                rounds: self.rounds_per_start,
                done,
            },
            behind: Duration::ZERO,
        })
    }

    /// How many more rounds fit into the time.
    pub(super) fn rounds_left(&self, bounds: &Bounds, done: u32, slots: usize) -> u32 {
        let planned = bounds.max_rounds.saturating_sub(done);
        let fit = self
            .forecast(done, slots)
            .zip(bounds.max_time)
            .map(|(forecast, most)| forecast.rounds_in(most));
        fit.map_or(planned, |fit| fit.min(planned))
    }

    /// The longest remaining time of the experiment.
    pub(super) fn time_left(&self, bounds: &Bounds, done: u32, slots: usize) -> Option<Duration> {
        let forecast = self.forecast(done, slots)?;
        Some(
            forecast
                .longest(bounds, done)
                .saturating_sub(self.elapsed()),
        )
    }

    /// Returns true if the next round would end too late. `starts` is the number of its server starts.
    pub(super) fn is_over(&self, bounds: &Bounds, done: u32, slots: usize, starts: u32) -> bool {
        let Some(most) = bounds.max_time else {
            return false;
        };
        if bounds.least_rounds.is_some_and(|least| done < least) {
            return false;
        }
        let forecast = self.forecast(done, slots);
        let round = forecast.map_or(Duration::ZERO, |it| it.round());
        self.elapsed() + self.last_start * starts + round > most
    }

    /// Refuses during the warm-up a time limit that is too short for one round, even if later trials are faster by
    /// `FASTER`: the first trial finds a cold page cache.
    pub(super) fn check_early(&self, bounds: &Bounds, slots: usize, fewest: u32) -> Result<()> {
        self.check_at(FASTER, bounds, slots, fewest)
    }

    /// Refuses a time limit that is too short for one round.
    pub(super) fn check(&self, bounds: &Bounds, slots: usize, fewest: u32) -> Result<()> {
        self.check_at(1.0, bounds, slots, fewest)
    }

    /// Refuses a time limit that is too short for one round if the remaining work takes this share of the time.
    fn check_at(&self, share: f64, bounds: &Bounds, slots: usize, fewest: u32) -> Result<()> {
        let (Some(forecast), Some(most), None) = (
            self.forecast(0, slots),
            bounds.max_time,
            bounds.least_rounds,
        ) else {
            return Ok(());
        };
        match forecast.at_pace(share).rounds_in(most) {
            0 => Err(exit::usage(refusal(&forecast, most, fewest))),
            _ => Ok(()),
        }
    }
}

/// Returns why no further round is needed, if so.
pub(super) fn stop(record: &Record, so_far: &Progress) -> Option<StopReason> {
    // A server can fail by chance, such as when no port is free.
    let enough = if record.header.plan.service.is_some() {
        2
    } else {
        1
    };
    let nothing = (so_far.rounds >= enough).then(|| nothing_to_judge(record));
    nothing.flatten().or(so_far.stop)
}

/// Returns why more rounds cannot help, if so.
fn nothing_to_judge(record: &Record) -> Option<StopReason> {
    let metric = &record.header.plan.verdict_metric;
    let judged = |trial: &Trial| match trial.readings.get(metric) {
        Some(Reading::Missing { .. }) | None => false,
        Some(_) => true,
    };
    let mut succeeded = record
        .trials
        .iter()
        .filter(|trial| trial.succeeded())
        .peekable();
    if succeeded.peek().is_none() {
        return Some(StopReason::WorkloadFails);
    }
    (!succeeded.any(judged)).then_some(StopReason::VerdictUnmeasured)
}
