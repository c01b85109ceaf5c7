//! Holds the main process at its exit. A program that allows no tracer fails because of that.

use std::cell::Cell;

use anyhow::Result;
use hugewise_experiment::run::record::Header;
use hugewise_experiment::run::trial::{Outcome, Trial};
use hugewise_linux::apply::Machine;
use hugewise_linux::spawn::AtExit;

use super::{Place, Rounds};
use crate::options::{Options, Switch};
use crate::stderr::message;

/// How the main process is handled at its exit, and whether the program is known to tolerate that.
#[derive(Debug)]
pub(super) struct Hold {
    at_exit: Cell<AtExit>,
    /// True until the first trial that only the hold traces shows that the program tolerates it.
    is_open: Cell<bool>,
}

impl Hold {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            at_exit: Cell::new(match options.exit_hold {
                Some(Switch::Off) => AtExit::Pass,
                _ => AtExit::Hold,
            }),
            is_open: Cell::new(options.exit_hold.is_none()),
        }
    }

    pub(super) fn at_exit(&self) -> AtExit {
        self.at_exit.get()
    }

    /// Closes the question if this trial settles it or needs a proof; returns true if it needs one.
    fn asks(&self, header: &Header, trial: &Trial) -> bool {
        let plan = &header.plan;
        let is_alone = !header.realisations[&trial.policy].is_traced();
        let concerns = is_alone && plan.service.is_none() && plan.bench.is_none();
        concerns && self.is_open.replace(false) && fails_by_itself(trial)
    }
}

fn fails_by_itself(trial: &Trial) -> bool {
    match trial.outcome {
        Outcome::Exited { code } => code != 0,
        Outcome::Signalled { .. } => true,
        _ => false,
    }
}

impl Rounds<'_> {
    /// Runs a trial. If the command fails while held, runs it once without the hold and once with it. Gives up the hold
    /// if both show that only the hold makes the command fail.
    pub(super) fn held_or_spared(
        &self,
        header: &Header,
        machine: &mut Machine,
        place: Place,
    ) -> Result<(Trial, bool)> {
        let held = self.prepared(header, machine, place)?;
        if held.1 || !self.hold.asks(header, &held.0) {
            return Ok(held);
        }
        self.hold.at_exit.set(AtExit::Spare);
        let spared = self.prepared(header, machine, place)?;
        self.hold.at_exit.set(AtExit::Hold);
        if spared.1 || fails_by_itself(&spared.0) {
            return Ok(held);
        }
        let again = self.prepared(header, machine, place)?;
        if again.1 || !fails_by_itself(&again.0) {
            return Ok(again);
        }
        self.hold.at_exit.set(AtExit::Spare);
        message(
            "the command fails if it is held at its end (ptrace), so its memory is not read there, \
             as with --exit-hold off",
        );
        Ok(spared)
    }
}
