//! Trials on memory that the hypervisor has taken back: they measure the cost of a cold start.

use std::time::Duration;

use anyhow::Result;
use hugewise_experiment::run::compare;
use hugewise_experiment::run::compare::PolicyAnswer;
use hugewise_experiment::run::plan::{Plan, Slot};
use hugewise_experiment::run::record::{FIRST_WAIT, IdleRun, Record, StopReason};
use hugewise_experiment::run::trial::Role;
use hugewise_linux::apply::Machine;

use super::{Flow, Place, Rounds};
use crate::experiment::progress::Progress;
use crate::experiment::recorder::Recorder;

impl Rounds<'_> {
    /// Runs the cold trials that are worth their time after the rounds ended for `reason`; returns the final reason.
    pub(super) fn cold_trials(
        &self,
        plan: &Plan,
        recorder: &mut Recorder,
        machine: &mut Machine,
        progress: &Progress,
        reason: StopReason,
    ) -> Result<StopReason> {
        use StopReason::{Decided, MaxRounds, MaxTime, Measured, OutOfReach, Precise};
        let record = recorder.record();
        if !record.prices_cold_memory() {
            return Ok(reason);
        }
        let asked = asked(record)?;
        let is_wanted = match reason {
            Decided | MaxRounds | MaxTime | Measured | Precise => true,
            // A recommendation raises the question even if other questions stay open.
            OutOfReach => asked.is_some(),
            _ => false,
        };
        if !is_wanted {
            return Ok(reason);
        }
        let due = record.cold_trials_due(self.pace.borrow().elapsed(), asked.as_deref());
        let count = due.len() as u32;
        if count > 0 {
            progress.rounds_are_over();
            self.interrupt.wait(FIRST_WAIT);
        }
        let pair = due.first().and_then(|run| record.time_of_pair(run.policy));
        for (done, IdleRun { block, policy }) in (0..).zip(due) {
            let name = &plan.policies[policy].name;
            let now = format!("run {} of {count} after a rest: {name}", done + 1);
            progress.now(pair.map(|pair| pair / 2 * (count - done)), &now);
            let role = Role::Cold;
            let place = Place {
                index: Some(recorder.next_index()),
                round: block,
                slot: Slot { policy, role },
            };
            let (trial, flow) = self.trial(&recorder.record().header, machine, place)?;
            // The rounds are complete, so a signal cuts off no part of a comparison.
            if flow == Flow::Stop {
                break;
            }
            recorder.push(trial);
        }
        Ok(reason)
    }

    /// The time to reserve for the cold trials after round `round`, once the policy to test is known.
    pub(super) fn kept_for_cold_trials(&self, record: &Record, round: u32) -> Result<Duration> {
        let pace = self.pace.borrow();
        let forecast = pace.forecast(record.rounds_run(), record.slots(round));
        let most = record.header.plan.bounds.max_time;
        let Some((forecast, most)) = forecast.zip(most) else {
            return Ok(Duration::ZERO);
        };
        let foreseen = record.cold_trials_to_come(forecast.trial, pace.elapsed());
        // Finding that policy takes time, and early on it makes no difference.
        let is_early = pace.elapsed() + forecast.round() * ROUNDS_AHEAD + foreseen < most;
        if is_early || foreseen.is_zero() {
            return Ok(Duration::ZERO);
        }
        let Some(asked) = asked(record)? else {
            return Ok(Duration::ZERO);
        };
        let needed = record.time_of_cold_trials(pace.elapsed(), Some(&asked));
        Ok(needed.unwrap_or_default())
    }
}

/// A margin in rounds: a round can take longer than earlier ones, and trials of some policies take longer than others.
const ROUNDS_AHEAD: u32 = 3;

/// The policy whose runs after a rest are part of the answer: the one to recommend, or else one whose effect depends on
/// the previous trial.
fn asked(record: &Record) -> Result<Option<String>> {
    let table = compare::table(record, &compare::Options::default())?;
    let verdict = &table.verdict;
    let order = verdict.order.as_ref().filter(|order| order.matters());
    let mut sensitive = order.into_iter().flat_map(|order| &order.policies);
    let depends = sensitive.find(|policy| {
        let answer = verdict.policies.get(*policy);
        matches!(
            answer,
            Some(PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse | PolicyAnswer::DependsOnOrder)
        )
    });
    let best = verdict.best.clone();
    Ok(best
        .filter(|best| *best != verdict.baseline)
        .or(depends.cloned()))
}
