//! Unmeasured rounds before the first.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_linux::apply::Machine;
use hugewise_model::run::record::Record;
use hugewise_model::run::trial::Role;

use super::progress_text::failure;
use super::{Flow, Place, Rounds};
use crate::experiment::progress::Progress;

/// Somebody who waits wants to know for how long, even if the warm-up is not over.
const PATIENCE: Duration = Duration::from_secs(3);

impl Rounds<'_> {
    /// They fill the page cache and make the host back this machine's memory.
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
            for slot in slots.into_iter().filter(|slot| slot.role == Role::Arm) {
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
                let (trial, flow) = self.trial(header, machine, place)?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                self.pace.borrow_mut().warmed_up(since);
                if self.pace.borrow().elapsed() >= PATIENCE {
                    self.tell_plan(record, progress);
                }
                self.idle.learn(header, &trial);
                if !trial.succeeded() && !reported {
                    reported = true;
                    progress.print_above(&failure(&trial));
                }
            }
        }
        Ok(Flow::Go)
    }
}
