//! The rounds in which both an arm and the baseline succeeded: the basis of all differences in seconds.
//!
//! Means over the same rounds add up, unlike medians.

use std::collections::BTreeMap;

use super::Pair;
use crate::base::missing::Missing;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::record::Record;
use crate::run::trial::{Reading, Trial};

/// Returns the successful trials of an arm, without the control.
pub(super) fn good_trials<'a>(record: &'a Record, arm: &str) -> impl Iterator<Item = &'a Trial> {
    arm_trials(record, arm).filter(|trial| trial.succeeded())
}

/// Returns the successful runs of the baseline in one round, including the control.
pub(super) fn baseline_runs<'a>(
    record: &'a Record,
    baseline: &str,
    round: u32,
) -> impl Iterator<Item = &'a Trial> {
    let runs = record.trials.iter();
    let runs = runs.filter(move |it| it.round == round && it.policy == baseline);
    runs.filter(|it| it.succeeded())
}

/// Trials of the baseline with those of an arm in the same rounds.
#[derive(Debug)]
pub(super) struct PairedRounds<'a> {
    rounds: Vec<(&'a Trial, &'a Trial)>,
}

/// Mean changes in the time of a run and its parts, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) wall: f64,
    pub(super) user: f64,
    pub(super) system: f64,
}

impl<'a> PairedRounds<'a> {
    pub(super) fn of(record: &'a Record, baseline: &str, arm: &str) -> Self {
        let of = |arm: &str| -> BTreeMap<u32, &'a Trial> {
            let trials = good_trials(record, arm);
            trials.map(|trial| (trial.round, trial)).collect()
        };
        let (here, there) = (of(arm), of(baseline).into_iter());
        let both = there.filter_map(|(round, base)| Some((base, *here.get(&round)?)));
        let rounds = both.collect();
        Self { rounds }
    }

    /// Returns all trials, those of the baseline and those of the arm.
    pub(super) fn trials(&self) -> impl Iterator<Item = &'a Trial> {
        self.rounds.iter().flat_map(|(base, here)| [*base, *here])
    }

    /// Returns the means under the baseline and under the arm.
    ///
    /// # Errors
    /// Fails with the reason of a missing reading: the means would be over different rounds.
    pub(super) fn means(&self, metric: impl AsRef<str>) -> Result<Pair, Missing> {
        let read = |trial: &Trial| match trial.readings.get(metric.as_ref()) {
            Some(Reading::Missing { missing }) => Err(missing.clone()),
            Some(reading) => reading.middle(),
            None => Err(Missing::NotAsked),
        };
        let (mut before, mut after) = (0.0, 0.0);
        for (base, here) in &self.rounds {
            before += read(base)?;
            after += read(here)?;
        }
        let n = self.rounds.len() as f64;
        match self.rounds.is_empty() {
            true => Err(Missing::NotRun),
            false => Ok(Pair {
                baseline: before / n,
                arm: after / n,
            }),
        }
    }

    /// Returns the mean of the arm minus that of the baseline; `None` if a reading is missing.
    pub(super) fn change(&self, metric: impl AsRef<str>) -> Option<f64> {
        Some(self.means(metric).ok()?.change())
    }

    /// Returns `None` if wall, user or kernel time is unknown.
    pub(super) fn times(&self) -> Option<Times> {
        Some(Times {
            wall: self.change(MetricId::WallSeconds)?,
            user: self.change(MetricId::UserSeconds)?,
            system: self.change(MetricId::SystemSeconds)?,
        })
    }
}
