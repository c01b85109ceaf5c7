//! The middle reading of every metric under every policy: what rules and tables speak of.

use std::collections::BTreeMap;

use crate::base::missing::Missing;
use crate::run::compare::rounds::numbers;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Role, Trial};

/// Medians over the successful trials of each policy, the control left out.
#[derive(Clone, Debug)]
pub struct Medians<'a> {
    cells: BTreeMap<(&'a str, &'a str), Result<f64, Missing>>,
    /// Of policies without a successful trial: why they have none.
    without: BTreeMap<&'a str, Missing>,
}

impl<'a> Medians<'a> {
    /// Works out all medians of one record.
    #[must_use]
    pub fn of(record: &'a Record) -> Self {
        let mut cells = BTreeMap::new();
        let mut without = BTreeMap::new();
        for policy in &record.header.plan.policies {
            let trials: Vec<&Trial> = arm_trials(record, &policy.name).collect();
            let good: Vec<&Trial> = trials.iter().copied().filter(|t| t.succeeded()).collect();
            if good.is_empty() {
                let why = match trials.is_empty() {
                    true => Missing::NotRun,
                    false => Missing::TrialFailed,
                };
                without.insert(policy.name.as_str(), why);
            }
            for name in good.iter().flat_map(|trial| trial.readings.keys()) {
                cells
                    .entry((policy.name.as_str(), name.as_str()))
                    .or_insert_with(|| middle(&good, name));
            }
        }
        Self { cells, without }
    }

    /// The median of a metric under a policy.
    ///
    /// # Errors
    /// Why there is none: the first reason that a trial gave.
    pub fn get(&self, policy: &str, metric: impl AsRef<str>) -> Result<f64, Missing> {
        match (
            self.cells.get(&(policy, metric.as_ref())),
            self.without.get(policy),
        ) {
            (Some(cell), _) => cell.clone(),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Err(Missing::NotAsked),
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

/// The typical value of each trial that was read, its number or the median of its numbers; and
/// the first reason why another was not.
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
    (values, why)
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
