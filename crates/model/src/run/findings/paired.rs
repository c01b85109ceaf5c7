//! The rounds in which a policy and the baseline both succeeded: the one basis of whatever findings
//! say in seconds. Means over the same rounds add up, as medians do not, so the parts of a
//! difference are the whole, and no two findings tell another difference.

use std::collections::BTreeMap;

use super::context::{Context, MissingInput, PolicyView};
use crate::base::missing::Missing;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::trial::{Reading, Trial};

/// Trials of the baseline with those of a policy in the same rounds.
pub(super) struct PairedRounds<'a> {
    rounds: Vec<(&'a Trial, &'a Trial)>,
}

/// Mean changes of the time of a run and of its parts, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) wall: f64,
    pub(super) user: f64,
    pub(super) system: f64,
}

impl<'a> PairedRounds<'a> {
    pub(super) fn of(context: &Context<'a>, policy: &str) -> Self {
        let of = |policy: &str| -> BTreeMap<u32, &'a Trial> {
            let trials = arm_trials(context.record, policy).filter(|trial| trial.succeeded());
            trials.map(|trial| (trial.round, trial)).collect()
        };
        let (there, here) = (of(context.baseline()), of(policy));
        let both = there
            .into_iter()
            .filter_map(|(round, base)| Some((base, *here.get(&round)?)));
        Self {
            rounds: both.collect(),
        }
    }

    /// All trials, those of the baseline and those of the policy.
    pub(super) fn trials(&self) -> impl Iterator<Item = &'a Trial> {
        self.rounds.iter().flat_map(|(base, here)| [*base, *here])
    }

    /// The means under the baseline and under the policy.
    ///
    /// # Errors
    /// Why a reading is missing: the means would be those of other rounds.
    pub(super) fn means(&self, metric: impl AsRef<str>) -> Result<(f64, f64), Missing> {
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
            false => Ok((before / n, after / n)),
        }
    }

    /// The mean of the policy less that of the baseline; `None` where a reading is missing.
    pub(super) fn change(&self, metric: impl AsRef<str>) -> Option<f64> {
        let (before, after) = self.means(metric).ok()?;
        Some(after - before)
    }

    /// `None` where the time of a run, or its parts in user mode and in the kernel, is not known.
    pub(super) fn times(&self) -> Option<Times> {
        Some(Times {
            wall: self.change(MetricId::WallSeconds)?,
            user: self.change(MetricId::UserSeconds)?,
            system: self.change(MetricId::SystemSeconds)?,
        })
    }
}

impl PolicyView<'_, '_> {
    /// The means of a metric over paired rounds, under the baseline and under this policy, with a
    /// note of both.
    pub(super) fn means(&mut self, metric: impl AsRef<str>) -> Result<(f64, f64), MissingInput> {
        let metric = metric.as_ref();
        let rounds = PairedRounds::of(self.context, self.policy);
        let (before, after) = rounds.means(metric).map_err(|missing| MissingInput {
            metric: metric.to_owned(),
            policy: self.policy.to_owned(),
            missing,
        })?;
        let baseline = self.context.baseline();
        self.evidence.reading(metric, baseline, before);
        self.evidence.reading(metric, self.policy, after);
        Ok((before, after))
    }
}
