//! The time limit of an experiment: messages about it, and whether it is over.

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

/// A round that began in time may end so much later than planned.
const OVERRUN: f64 = 1.1;

/// A round for which there may be no time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) round: u32,
    /// How many rounds were run.
    pub(super) done: u32,
    /// What has to be left when it is over.
    pub(super) kept: Duration,
}

impl Rounds<'_> {
    /// The same, of which this is told.
    pub fn telling(self, telling: Telling) -> Self {
        Self {
            // What a design takes is said before it begins.
            plan_told: Cell::new(telling == Telling::Rows),
            telling,
            ..self
        }
    }

    /// Whether there is no time for the next round.
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

    /// Whether the time is over by so much that the round is given up: the `done` rounds before
    /// were faster than this one. Rounds without which nothing can be decided are never given up.
    pub(super) fn is_overdue(&self, bounds: &Bounds, done: u32) -> bool {
        let is_due = bounds.least_rounds.is_none_or(|least| done >= least);
        let latest = bounds.max_time.map(|most| most.mul_f64(OVERRUN));
        is_due && latest.is_some_and(|latest| self.pace.borrow().elapsed() > latest)
    }

    /// The longest that the experiment can still take.
    pub(super) fn time_left(&self, record: &Record, round: u32) -> Option<Duration> {
        let bounds = &record.header.plan.bounds;
        let pace = self.pace.borrow();
        pace.time_left(bounds, record.rounds_run(), record.slots(round))
    }

    /// Says once what is to come, as soon as it is known what a trial takes.
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
        // Where the first trials failed, the only round is over before it is known what one takes.
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

    /// What a round compares; `None` where one policy is measured. An overhead control is a control too.
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

    /// Refuses a time in which nothing can be measured, as soon as the warm-up proves it.
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

    /// Says what is to come, and refuses a time in which nothing can be measured.
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

/// Longer lists of policies are counted: names of what a program sets itself are long.
const NAMED: usize = 50;

/// The names of a few policies; `None` where they are too many for a line.
fn named(policies: &[&str]) -> Option<String> {
    let names = policies.iter().map(|name| plain(name));
    let names = names.collect::<Vec<String>>().join(", ");
    (names.chars().count() <= NAMED).then_some(names)
}

/// Whether this is a bench whose time nobody shortened: on a slow machine it shows the round that it
/// has.
fn has_usual_time(plan: &Plan) -> bool {
    let is_usual = |time| time >= USUAL_BENCH_TIME;
    plan.bench.is_some() && plan.bounds.max_time.is_none_or(is_usual)
}

/// The fewest rounds that are missing for an answer.
fn fewest(record: &Record) -> u32 {
    let fewest = first_answer(&record.header.plan);
    fewest.saturating_sub(record.rounds_run()).max(1)
}
