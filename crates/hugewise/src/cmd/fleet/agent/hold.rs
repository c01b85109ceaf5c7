//! Holds an arm: applies its policy once, for all periods that it lasts.

use anyhow::Result;
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::policy::realise::{FileWrite, Reach, Realisation};
use hugewise_fleet::Phase;
use hugewise_linux::machine::turn::{Purpose, Turn};
use hugewise_linux::undo::UndoFolder;

use super::orders::{Order, Task};
use super::period::End;
use super::{Agent, Repeat};
use crate::experiment::plan::realise_one;
use crate::stderr::message;
use crate::turn;
use crate::{exit, paths};

/// The state that a task needs while its settings are active.
pub(super) struct Held<'a> {
    pub(super) place: &'a UndoFolder,
    pub(super) files: &'a [FileWrite],
    pub(super) stratum: String,
}

impl Agent {
    /// Applies the arm's policy, runs its periods, and restores the old settings.
    pub(super) fn carry_out(&mut self, task: Task) -> Result<()> {
        let policy = task.policy();
        let (turn, realisation) = self.take(&policy)?;
        let place = UndoFolder::new(&self.root, &paths::machine_state());
        let held = Held {
            place: &place,
            files: &realisation.files,
            stratum: self.stratum(task.plan(), &self.host()?),
        };
        let Some(turn) = turn else {
            self.begin(&task, &realisation);
            return self.periods(task, &policy, &held);
        };
        let mut machine = paths::begin(&self.root, turn.settings, &[&realisation])?;
        let done = {
            let _applied = machine.apply(&realisation)?;
            drop(turn.measuring);
            self.begin(&task, &realisation);
            self.periods(task, &policy, &held)
        };
        let left = machine.finish()?;
        for left in &left {
            message(left);
        }
        if left.is_empty() {
            self.say("the old settings are back".to_owned());
        }
        done
    }

    /// Takes the machine, if the policy needs that.
    fn take(&self, policy: &Policy) -> Result<(Option<Turn>, Realisation)> {
        let read = || {
            let realisation = realise_one(&self.host()?, policy, Reach::Machine)?;
            check(policy, realisation)
        };
        let realisation = read()?;
        if realisation.files.is_empty() {
            return Ok((None, realisation));
        }
        let (turn, realisation) = turn::take_with(Purpose::Change, Some(self.wait), read)?;
        Ok((Some(turn), realisation))
    }

    fn begin(&mut self, task: &Task, realisation: &Realisation) {
        let name = &task.plan().name;
        let arm = task.arm();
        let what = match (task.part.phase, realisation.files.is_empty()) {
            (Phase::Before, _) => "nothing is changed before the plan starts".to_owned(),
            (_, true) => format!("{}, already set", task.policy().name),
            (_, false) => {
                let one = |file: &FileWrite| format!("/{} = {}", file.path, file.value);
                let files: Vec<String> = realisation.files.iter().map(one).collect();
                files.join(", ")
            }
        };
        self.say(format!("{}: arm {arm} of {name}: {what}", self.unit));
    }

    /// Runs periods for as long as the settings stay the same.
    fn periods(&mut self, mut task: Task, policy: &Policy, held: &Held<'_>) -> Result<()> {
        loop {
            match self.period(&task, held)? {
                End::Breach | End::Interrupted => return Ok(()),
                End::Whole | End::Changed if self.repeat == Repeat::Once => return Ok(()),
                End::Whole | End::Changed => {}
            }
            match self.orders.next() {
                Order::Do(next) if next.policy() == *policy => task = *next,
                _ => return Ok(()),
            }
        }
    }
}

/// Settings that processes inherit do not reach programs that are running already.
fn check(policy: &Policy, realisation: Realisation) -> Result<Realisation> {
    if realisation.is_of_machine() {
        return Ok(realisation);
    }
    Err(exit::refused(format!(
        "{policy} is not a setting of the machine alone ({}): let the units be starts, and begin \
         each by `hugewise exec`",
        realisation.means()
    )))
}
