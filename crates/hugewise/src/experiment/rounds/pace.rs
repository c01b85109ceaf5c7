//! Time: how long a round takes, how many there is time for, and when there is none left.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_experiment::run::compare::Progress;
use hugewise_experiment::run::plan::Bounds;
use hugewise_experiment::run::record::{Record, StopReason};
use hugewise_experiment::run::stats::median;
use hugewise_experiment::run::trial::{Reading, Trial};

use super::duration::{Forecast, Starts, refusal};
use crate::exit;

/// What a trial may take later, as a share of what the first ones took.
const FASTER: f64 = 0.5;

/// How fast an experiment goes.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    /// Of each unmeasured trial, in seconds.
    warm_up: Vec<f64>,
    /// Unmeasured trials that are still to come.
    warm_up_ahead: u32,
    /// When the first measured trial began.
    measuring: Option<Instant>,
    /// Measured trials.
    trials: u32,
    /// What starting servers took since then.
    starts: Duration,
    /// What the last start of all servers took.
    last_start: Duration,
    /// Rounds between two starts.
    rounds_per_start: u32,
}

impl Pace {
    /// An experiment that begins now.
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

    /// What it took so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// An unmeasured trial is over, and so many are to come.
    pub(super) fn warmed_up(&mut self, since: Instant, ahead: u32) {
        self.warm_up.push(since.elapsed().as_secs_f64());
        self.warm_up_ahead = ahead;
    }

    /// All servers were started, for so many rounds.
    pub(super) fn servers_started(&mut self, since: Instant, rounds: u32) {
        self.last_start = since.elapsed();
        self.rounds_per_start = rounds;
        if self.measuring.is_some() {
            self.starts += self.last_start;
        }
    }

    /// A measured trial begins.
    pub(super) fn trial_begins(&mut self) {
        self.measuring.get_or_insert_with(Instant::now);
    }

    /// A measured trial is over.
    pub(super) fn trial_over(&mut self) {
        self.trials += 1;
    }

    /// What a trial takes, all that belongs to it included. The warm-up tells it as long as
    /// nothing was measured.
    pub(super) fn trial(&self) -> Option<Duration> {
        match self.measuring {
            Some(since) if self.trials > 0 => {
                Some(since.elapsed().saturating_sub(self.starts) / self.trials)
            }
            _ => median(&self.warm_up).and_then(|it| Duration::try_from_secs_f64(it).ok()),
        }
    }

    /// What is known of the time of an experiment with so many rounds done, whose rounds have so many trials.
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

    /// How many more rounds there is time for.
    pub(super) fn rounds_left(&self, bounds: &Bounds, done: u32, slots: usize) -> u32 {
        let planned = bounds.max_rounds.saturating_sub(done);
        let fit = self
            .forecast(done, slots)
            .zip(bounds.max_time)
            .map(|(forecast, most)| forecast.rounds_in(most));
        fit.map_or(planned, |fit| fit.min(planned))
    }

    /// The longest that the experiment can still take.
    pub(super) fn time_left(&self, bounds: &Bounds, done: u32, slots: usize) -> Option<Duration> {
        let forecast = self.forecast(done, slots)?;
        Some(
            forecast
                .longest(bounds, done)
                .saturating_sub(self.elapsed()),
        )
    }

    /// Whether the next round would end too late. `starts` is how often its servers start.
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

    /// Refuses during the warm-up a time in which not one round fits, even if what is to come takes so
    /// much less than what was: a first trial finds a cold page cache.
    pub(super) fn check_early(&self, bounds: &Bounds, slots: usize, fewest: u32) -> Result<()> {
        self.check_at(FASTER, bounds, slots, fewest)
    }

    /// Refuses a time in which not one round fits.
    pub(super) fn check(&self, bounds: &Bounds, slots: usize, fewest: u32) -> Result<()> {
        self.check_at(1.0, bounds, slots, fewest)
    }

    /// Refuses a time in which not one round fits if what is to come takes this share of the time.
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

/// Why no further round is needed, if so.
pub(super) fn stop(record: &Record, so_far: &Progress) -> Option<StopReason> {
    // A server may fail by chance, such as for want of a port.
    let enough = if record.header.plan.service.is_some() {
        2
    } else {
        1
    };
    let nothing = (so_far.rounds >= enough).then(|| nothing_to_judge(record));
    nothing.flatten().or(so_far.stop)
}

/// Why more rounds would bring nothing either.
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
