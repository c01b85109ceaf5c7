//! Runs that are long enough for an experiment inside them.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_base::units::rough;
use hugewise_experiment::run::record::Header;
use hugewise_experiment::run::trial::Trial;
use hugewise_linux::apply::Machine;

use super::{Flow, Place, Rounds};
use crate::experiment::progress::Progress;

/// A trial that still runs after this time is long.
const LONG: Duration = Duration::from_secs(10);

/// Looks inside a long trial while it runs.
pub trait Scout: fmt::Debug + Sync {
    /// Looks at the processes below this one, the trial's among them. Returns the source that counts their work.
    ///
    /// # Errors
    /// Why an experiment inside the program is not possible.
    fn look(&self) -> Result<String, String>;
}

/// The error of whole runs that are given up, because an experiment inside them is possible.
#[derive(Clone, Debug)]
pub struct LongRuns {
    /// The length of the first trial.
    pub trial: Duration,
    /// The source that counts the work of the program.
    pub source: String,
}

impl fmt::Display for LongRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a run takes {}", rough(self.trial))
    }
}

impl std::error::Error for LongRuns {}

impl Rounds<'_> {
    /// Runs a trial of the warm-up. The first one of the machine as it is decides whether whole runs are compared at all.
    ///
    /// # Errors
    /// [`LongRuns`] if they are not.
    pub(super) fn warming_trial(
        &self,
        header: &Header,
        machine: &mut Machine,
        place: Place,
        progress: &Progress,
    ) -> Result<(Trial, Flow)> {
        let is_asked = place.round == 0 && self.is_baseline(header, place);
        let Some(scout) = self.scout.filter(|_| is_asked) else {
            return self.trial(header, machine, place);
        };
        let began = Instant::now();
        let (over, ended) = channel();
        let (trial, looked) = thread::scope(|scope| {
            let looking = scope.spawn(move || look_late(scout, &ended));
            let trial = self.trial(header, machine, place);
            drop(over);
            (trial, looking.join().ok().flatten())
        });
        let (trial, flow) = trial?;
        match looked {
            Some(Ok(source)) if flow == Flow::Go && trial.succeeded() => Err(LongRuns {
                trial: began.elapsed(),
                source,
            }
            .into()),
            Some(Err(why)) => {
                progress.say(&format!(
                    "runs are long, but cannot be measured inside: {why}"
                ));
                Ok((trial, flow))
            }
            _ => Ok((trial, flow)),
        }
    }

    pub(super) fn is_baseline(&self, header: &Header, place: Place) -> bool {
        let plan = &header.plan;
        plan.is_baseline(&plan.policies[place.slot.policy].name)
    }
}

/// Looks once the trial is long; `None` if it ended before.
fn look_late(scout: &dyn Scout, ended: &Receiver<()>) -> Option<Result<String, String>> {
    match ended.recv_timeout(LONG) {
        Err(RecvTimeoutError::Timeout) => Some(scout.look()),
        _ => None,
    }
}
