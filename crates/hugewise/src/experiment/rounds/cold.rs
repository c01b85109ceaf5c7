//! Trials on memory that the hypervisor has taken back: what a cold start costs.

use std::time::Duration;

use anyhow::Result;
use hugewise_linux::apply::Machine;
use hugewise_model::run::compare;
use hugewise_model::run::plan::{Plan, Slot};
use hugewise_model::run::record::{COLD_REST, COLD_SHARE, Record, StopReason};
use hugewise_model::run::trial::Role;

use super::{Flow, Place, Rounds};
use crate::experiment::progress::Progress;
use crate::experiment::recorder::Recorder;

impl Rounds<'_> {
    /// Runs those that are worth their time once the rounds ended for `reason`; why the experiment
    /// ends then.
    pub(super) fn cold_trials(
        &self,
        plan: &Plan,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
        reason: StopReason,
    ) -> Result<StopReason> {
        use StopReason::{Decided, MaxRounds, MaxTime, Measured, Precise};
        if !matches!(reason, Decided | MaxRounds | MaxTime | Measured | Precise) {
            return Ok(reason);
        }
        let record = recorder.record();
        if !record.prices_cold_memory() {
            return Ok(reason);
        }
        let best = best(record)?;
        let due = record.cold_trials_due(self.pace.borrow().elapsed(), best.as_deref());
        let count = due.len() as u32;
        if count > 0 {
            self.interrupt.wait(FIRST_WAIT);
        }
        for (round, policy) in (0..).zip(due) {
            let name = &plan.policies[policy].name;
            let now = format!("start {} of {count} after a rest: {name}", round + 1);
            progress.now(Some(COLD_REST * (count - round)), &now);
            let role = Role::Cold;
            let place = Place {
                index: Some(recorder.next_index()),
                round,
                slot: Slot { policy, role },
            };
            let (trial, flow) = self.trial(&recorder.record().header, machine, place)?;
            // The rounds are whole: a signal cuts off nothing that is compared.
            if flow == Flow::Stop {
                break;
            }
            recorder.push(trial);
        }
        Ok(reason)
    }

    /// The time that the rounds leave to the trials on cold memory, once it is known which policy is to be
    /// recommended.
    pub(super) fn kept_for_cold_trials(&self, record: &Record) -> Result<Duration> {
        let elapsed = self.pace.borrow().elapsed();
        let begin = record.header.plan.bounds.max_time;
        let begin = begin.map(|most| most.mul_f64(1.0 - COLD_SHARE));
        // To find the best policy takes time, and before then it changes nothing.
        if begin.is_none_or(|begin| elapsed < begin) || !record.prices_cold_memory() {
            return Ok(Duration::ZERO);
        }
        let Some(best) = best(record)? else {
            return Ok(Duration::ZERO);
        };
        let needed = record.time_of_cold_trials(elapsed, Some(&best));
        Ok(needed.map_or(Duration::ZERO, |needed| FIRST_WAIT + needed.mul_f64(SLACK)))
    }
}

/// What the rounds warmed is much, and was freed while the guest reported: the first of the starts met warm memory
/// after a rest that was enough for those behind it.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// A round may take longer than those before it.
const SLACK: f64 = 1.05;

/// The policy to recommend after the rounds that a record holds.
fn best(record: &Record) -> Result<Option<String>> {
    let table = compare::table(record, &compare::Options::default())?;
    Ok(table.verdict.best)
}
