//! Trials on memory that the hypervisor has taken back: what a cold start costs.

use anyhow::Result;
use hugewise_linux::apply::Machine;
use hugewise_model::run::compare;
use hugewise_model::run::plan::{Plan, Slot};
use hugewise_model::run::record::StopReason;
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
        use StopReason::{Decided, MaxRounds, Measured, Precise};
        if !matches!(reason, Decided | MaxRounds | Measured | Precise) {
            return Ok(reason);
        }
        let record = recorder.record();
        if !record.prices_cold_memory() {
            return Ok(reason);
        }
        let best = compare::table(record, &compare::Options::default())?
            .verdict
            .best;
        let due = record.cold_trials_due(self.pace.borrow().elapsed(), best.as_deref());
        for (round, policy) in (0..).zip(due) {
            let name = &plan.policies[policy].name;
            progress.now(None, &format!("on cold memory: {name}"));
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
}
