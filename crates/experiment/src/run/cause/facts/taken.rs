//! Settings that the C library takes in some starts only.

use serde::Serialize;

use crate::run::compare::Table;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::policy::advice_by_chance;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// Fewer trials have no typical ratio.
const FEWEST: usize = 6;

/// Trials of an arm that ran with its setting.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Taken {
    /// Trials with more huge memory than any of the baseline.
    pub taken: usize,
    /// All its trials with a reading.
    pub of: usize,
    /// The judged metric in those that took it, as a ratio to the baseline; `None` with fewer than six, and when all took it.
    pub ratio: Option<f64>,
}

/// Returns `None` when the C library takes the setting always, and when no trial took it.
#[must_use]
pub fn taken_by_chance(record: &Record, table: &Table, arm: &str) -> Option<Taken> {
    let mut policies = record.header.plan.policies.iter();
    let policy = policies.find(|policy| policy.name == arm)?;
    advice_by_chance(policy, &record.header.host)?;
    let baseline = table.verdict.baseline.as_str();
    let usual = huge_bytes(record, baseline)
        .map(|(_, bytes)| bytes)
        .fold(0.0, f64::max);
    let own: Vec<(&Trial, f64)> = huge_bytes(record, arm).collect();
    let with_it = own
        .iter()
        .filter(|(_, bytes)| *bytes > usual)
        .map(|(trial, _)| *trial);
    let with_it: Vec<&Trial> = with_it.collect();
    let (taken, of) = (with_it.len(), own.len());
    let some = (taken < of).then(|| ratio(record, table, &with_it));
    (taken > 0 && arm != baseline).then_some(Taken {
        taken,
        of,
        ratio: some.flatten(),
    })
}

fn huge_bytes<'a>(record: &'a Record, arm: &str) -> impl Iterator<Item = (&'a Trial, f64)> {
    let good = arm_trials(record, arm).filter(|trial| trial.succeeded());
    good.filter_map(|trial| Some((trial, trial.value(MetricId::HugeAnonPeakBytes)?)))
}

/// Returns the median ratio of these trials to the baseline of their rounds.
///
/// The setting depends on what is on the stack at the start, which does not change the speed: the choice favours none.
fn ratio(record: &Record, table: &Table, trials: &[&Trial]) -> Option<f64> {
    let metric = table.verdict.metric.as_str();
    let baseline = |round: u32| {
        let runs = record.trials.iter().filter(|trial| {
            trial.round == round && trial.policy == table.verdict.baseline && trial.succeeded()
        });
        let values: Vec<f64> = runs.filter_map(|trial| trial.value(metric)).collect();
        median(&values).filter(|value| *value > 0.0)
    };
    let ratios = trials
        .iter()
        .filter_map(|trial| Some(trial.value(metric)? / baseline(trial.round)?));
    let ratios: Vec<f64> = ratios.collect();
    median(&ratios).filter(|_| ratios.len() >= FEWEST)
}
