//! Unmeasured rounds before the first.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_experiment::run::plan::{Plan, Slot};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Role;
use hugewise_linux::apply::Machine;

use super::progress_text::failure;
use super::{Flow, Place, Rounds};
use crate::experiment::progress::Progress;

/// How long a warm-up may last before its progress is shown.
const PATIENCE: Duration = Duration::from_secs(3);

impl Rounds<'_> {
    /// Runs unmeasured trials, which fill the page cache and make the host back this machine's memory.
    pub(super) fn warm_up(
        &self,
        record: &Record,
        machine: &mut Machine,
        progress: &Progress,
    ) -> Result<Flow> {
        let header = &record.header;
        let plan = &header.plan;
        let mut reported = false;
        for round in 0..plan.bounds.warmup_rounds {
            let slots = plan.round(round, |policy| record.is_run(policy, record.next_round()));
            let mut slots: Vec<Slot> = slots
                .into_iter()
                .filter(|slot| slot.role == Role::Arm)
                .collect();
            // What the others reach may spare them, and the machine as it is tells how long a run is.
            slots.sort_by_key(|slot| {
                let policy = &plan.policies[slot.policy].name;
                let is_first = self.scout.is_some() && plan.is_baseline(policy);
                (!is_first, plan.is_overhead_control(policy))
            });
            for (at, &slot) in slots.iter().enumerate() {
                let policy = &plan.policies[slot.policy].name;
                if self.idle.has(policy) {
                    continue;
                }
                let left = self.time_left(record, record.next_round());
                progress.now(left, &format!("warming up: {policy}"));
                let place = Place {
                    index: None,
                    round,
                    slot,
                };
                let since = Instant::now();
                let (trial, flow) = self.warming_trial(header, machine, place, progress)?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                self.idle.learn(header, &trial);
                let later = plan.bounds.warmup_rounds - round - 1;
                let ahead = self.acting(plan, &slots[at + 1..]);
                let ahead = ahead + later as usize * self.acting(plan, &slots);
                let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
                self.pace.borrow_mut().warmed_up(since, ahead);
                self.check_early(record)?;
                let is_waited_for = self.pace.borrow().elapsed() >= PATIENCE;
                // A failing command most likely ends with the first round, which then reports the reason.
                if !trial.succeeded() && !self.options.ignore_failure {
                    self.plan_told.set(true);
                }
                if !trial.succeeded() && !reported && is_waited_for {
                    reported = true;
                    progress.print_above(&failure(&trial));
                }
                if is_waited_for && !self.idle.is_open(header) {
                    self.tell_plan(record, progress);
                }
            }
        }
        Ok(Flow::Go)
    }

    /// The number of these trials that will run, without those of ineffective policies.
    pub(super) fn acting(&self, plan: &Plan, slots: &[Slot]) -> usize {
        let name = |slot: &&Slot| &plan.policies[slot.policy].name;
        let acting = slots.iter().filter(|slot| !self.idle.has(name(slot)));
        acting.count()
    }
}
