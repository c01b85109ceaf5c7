//! The median reading of every metric under every policy, for rules and tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::base::missing::Missing;
use crate::run::compare::rounds::numbers;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Role, Trial};

/// Medians over the successful trials of each policy. For the baseline, both runs in a round count, as in every
/// comparison. With only one, a table would show a baseline to which none of its changes refer. Each median is computed
/// on demand, because a record may have thousands of trials and only a few of their readings are shown.
#[derive(Clone, Debug)]
pub struct Medians<'a> {
    /// The successful trials by policy, or why there are none.
    good: BTreeMap<&'a str, Result<Vec<&'a Trial>, Missing>>,
}

impl<'a> Medians<'a> {
    /// The medians of one record.
    #[must_use]
    pub fn of(record: &'a Record) -> Self {
        let policies = record.header.plan.policies.iter();
        let good = policies.map(|policy| {
            let own = |trial: &&Trial| trial.policy == policy.name;
            let mut trials = record.trials.iter().filter(own).peekable();
            let why = match trials.peek() {
                None => Missing::NotRun,
                Some(_) => Missing::TrialFailed,
            };
            let good: Vec<&Trial> = trials.filter(|trial| trial.succeeded()).collect();
            let good = if good.is_empty() { Err(why) } else { Ok(good) };
            (policy.name.as_str(), good)
        });
        Self {
            good: good.collect(),
        }
    }

    /// The median of a metric under a policy.
    ///
    /// # Errors
    /// Fails with the first reason given by a trial.
    pub fn get(&self, policy: &str, metric: impl AsRef<str>) -> Result<f64, Missing> {
        match self.good.get(policy) {
            Some(Ok(good)) => middle(good, metric.as_ref()),
            Some(Err(why)) => Err(why.clone()),
            None => Err(Missing::NotAsked),
        }
    }
}

/// The trials of a policy in the order in which they ran, failed ones too, without the control.
pub fn arm_trials<'a>(record: &'a Record, policy: &str) -> impl Iterator<Item = &'a Trial> {
    record
        .trials
        .iter()
        .filter(move |trial| trial.role == Role::Arm && trial.policy == policy)
}

/// The typical value of each trial with a reading (its number, or the median of its numbers), and the first reason why
/// another has none.
pub(super) fn middles<'a>(
    trials: impl IntoIterator<Item = &'a Trial>,
    metric: &str,
) -> (Vec<f64>, Option<Missing>) {
    let (mut values, mut why) = (Vec::new(), None);
    for trial in trials {
        match numbers(trial, metric) {
            Ok(numbers) => values.extend(numbers.middle()),
            Err(missing) => why = why.or(Some(missing)),
        }
    }
    (values, why.map(Cow::into_owned))
}

fn middle(trials: &[&Trial], metric: &str) -> Result<f64, Missing> {
    let asked = trials.iter().copied();
    let asked = asked.filter(|trial| trial.readings.contains_key(metric));
    let (values, why) = middles(asked, metric);
    median(&values).ok_or_else(|| why.unwrap_or(Missing::NotAsked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_lies_between() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
