//! The time limit of an experiment: its messages, and the check whether it is over.

use std::cell::Cell;
use std::time::Duration;

use anyhow::Result;
use hugewise_experiment::run::compare::first_answer;
use hugewise_experiment::run::plan::{Bounds, Plan};
use hugewise_experiment::run::record::Record;
use hugewise_text::number::counted;
use hugewise_text::wrap::plain;

use super::Rounds;
use super::duration::{Forecast, plan_text};
use crate::experiment::plan::USUAL_BENCH_TIME;
use crate::experiment::progress::{Progress, Telling};

/// Factor by which the time of a round that began in time may exceed the plan.
const OVERRUN: f64 = 1.1;

/// A round that may not fit into the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) round: u32,
    /// Completed rounds.
    pub(super) done: u32,
    /// The time to reserve after this round.
    pub(super) kept: Duration,
}

impl Rounds<'_> {
    /// Sets the kind of progress messages.
    pub fn telling(self, telling: Telling) -> Self {
        Self {
            // A design announces its time before it begins.
            plan_told: Cell::new(telling == Telling::Rows),
            telling,
            ..self
        }
    }

    /// Returns true if there is no time for the next round.
    pub(super) fn is_time_over(&self, next: Next, record: &Record, progress: &Progress) -> bool {
        let Next { round, done, kept } = next;
        let mut bounds = record.header.plan.bounds;
        bounds.max_time = bounds.max_time.map(|most| most.saturating_sub(kept));
        let pace = self.pace.borrow();
        let over = |starts| pace.is_over(&bounds, done, record.slots(round), starts);
        if over(0) {
            return true;
        }
        let over = self.servers_due(round) && over(1);
        if over {
            progress.say("the rounds end here: one more start of all servers would take too long");
        }
        over
    }

    /// Returns true if the time is exceeded so far that the round is abandoned because it is slower than the `done`
    /// rounds before. Rounds that a decision needs are never abandoned.
    pub(super) fn is_overdue(&self, bounds: &Bounds, done: u32) -> bool {
        let is_due = bounds.least_rounds.is_none_or(|least| done >= least);
        let latest = bounds.max_time.map(|most| most.mul_f64(OVERRUN));
        is_due && latest.is_some_and(|latest| self.pace.borrow().elapsed() > latest)
    }

    /// The longest remaining time of the experiment.
    pub(super) fn time_left(&self, record: &Record, round: u32) -> Option<Duration> {
        let bounds = &record.header.plan.bounds;
        let pace = self.pace.borrow();
        pace.time_left(bounds, record.rounds_run(), record.slots(round))
    }

    /// Announces the plan once, as soon as the time of a trial is known.
    pub(super) fn tell_plan(&self, record: &Record, progress: &Progress) {
        let plan = &record.header.plan;
        let next = record.next_round();
        let slots = plan.round(next, |policy| record.is_run(policy, next));
        let done = record.rounds_run();
        let forecast = self.pace.borrow().forecast(done, self.acting(plan, &slots));
        let Some(forecast) = forecast.filter(|_| !self.plan_told.get()) else {
            return;
        };
        self.plan_told.set(true);
        let left = plan.bounds.max_rounds.saturating_sub(done);
        // If the first trials fail, the only round is over before the time of a trial is known.
        if left == 0 {
            return;
        }
        let bounds = Bounds {
            max_rounds: left,
            least_rounds: plan.bounds.least_rounds.map(|it| it.saturating_sub(done)),
            ..plan.bounds
        };
        let fewest = fewest(record);
        let forecast = Forecast {
            behind: record.cold_trials_to_come(forecast.trial, forecast.after(fewest)),
            ..forecast
        };
        progress.say(&plan_text(
            &forecast,
            self.arms(record).as_deref(),
            &bounds,
            fewest,
        ));
    }

    /// Describes the arms of a round; `None` for a single policy. An overhead control counts as a control.
    fn arms(&self, record: &Record) -> Option<String> {
        let plan = &record.header.plan;
        let next = record.next_round();
        let is_run = |it: &&str| !self.idle.has(it) && record.is_run(it, next);
        let (controls, policies): (Vec<&str>, Vec<&str>) = match plan.programs.is_empty() {
            true => {
                let run = plan.own_policies().into_iter().filter(is_run);
                run.partition(|it| plan.policies.len() > 2 && plan.is_overhead_control(it))
            }
            false => (Vec::new(), plan.own_policies()),
        };
        let programs = plan.programs.len();
        let number = counted(policies.len() as u64, "policy");
        let controls = plan.controls().len() + controls.len();
        let controls = match controls {
            1 => "the control".to_owned(),
            more => counted(more as u64, "control"),
        };
        (plan.policies.len() > 1).then(|| match programs {
            0 => format!("{} and {controls}", named(&policies).unwrap_or(number)),
            _ => format!("{programs} programs under {number}, with {controls}"),
        })
    }

    /// Refuses a time limit in which nothing can be measured, as soon as the warm-up proves it.
    pub(super) fn check_early(&self, record: &Record) -> Result<()> {
        let plan = &record.header.plan;
        if has_usual_time(plan) {
            return Ok(());
        }
        let next = record.next_round();
        let slots = plan.round(next, |policy| record.is_run(policy, next));
        let slots = self.acting(plan, &slots);
        let pace = self.pace.borrow();
        pace.check_early(&plan.bounds, slots, fewest(record))
    }

    /// Announces the plan, and refuses a time limit in which nothing can be measured.
    pub(super) fn check_time(&self, record: &Record, progress: &Progress) -> Result<()> {
        let plan = &record.header.plan;
        let slots = record.slots(record.next_round());
        if !has_usual_time(plan) {
            let pace = self.pace.borrow();
            pace.check(&plan.bounds, slots, fewest(record))?;
        }
        self.tell_plan(record, progress);
        Ok(())
    }
}

/// Maximum length of a list of names; longer lists show a count, because a program's own settings have long names.
const NAMED: usize = 50;

/// The names of a few policies; `None` if they are too long for a line.
fn named(policies: &[&str]) -> Option<String> {
    let names = policies.iter().map(|name| plain(name));
    let names = names.collect::<Vec<String>>().join(", ");
    (names.chars().count() <= NAMED).then_some(names)
}

/// Returns true for a bench with at least the default time: on a slow machine it shows its single round.
fn has_usual_time(plan: &Plan) -> bool {
    let is_usual = |time| time >= USUAL_BENCH_TIME;
    plan.bench.is_some() && plan.bounds.max_time.is_none_or(is_usual)
}

/// The fewest rounds still missing for an answer.
fn fewest(record: &Record) -> u32 {
    let fewest = first_answer(&record.header.plan);
    fewest.saturating_sub(record.rounds_run()).max(1)
}
