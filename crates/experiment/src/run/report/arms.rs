//! The trials of one metric by policy.

use crate::run::record::Record;
use crate::run::trial::{Role, Trial};
use crate::text::wrap::{plain, shortened};

/// Longer names leave too little space.
const LONGEST_NAME: usize = 22;

/// The trials of one policy, or of the control.
pub(super) struct Arm<'a> {
    pub(super) name: String,
    /// The position of the policy in the plan.
    pub(super) index: usize,
    /// A policy under test, or the control.
    pub(super) role: Role,
    /// In the order of the rounds, with the reading.
    pub(super) trials: Vec<(&'a Trial, Option<f64>)>,
}

impl Arm<'_> {
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.trials.iter().filter_map(|(_, value)| *value)
    }

    pub(super) fn failed(&self) -> usize {
        let failed = self.trials.iter().filter(|(trial, _)| !trial.succeeded());
        failed.count()
    }

    pub(super) fn marked(&self) -> usize {
        let marked = self.trials.iter().filter(|(it, _)| !it.marks.is_empty());
        marked.count()
    }
}

/// The policies in the order of the plan, with the control after the policy that it repeats.
pub(super) fn arms<'a>(record: &'a Record, metric: &str) -> Vec<Arm<'a>> {
    let arm = |index: usize, policy: &str, role: Role, more: &str| {
        let its_own = move |trial: &&Trial| trial.role == role && trial.policy == policy;
        let value = |trial: &'a Trial| {
            let reading = trial.readings.get(metric).filter(|_| trial.succeeded());
            (trial, reading.and_then(|reading| reading.middle().ok()))
        };
        let trials: Vec<_> = record.trials.iter().filter(its_own).map(value).collect();
        let name = shortened(&plain(policy), LONGEST_NAME - more.len()) + more;
        (!trials.is_empty()).then_some(Arm {
            name,
            index,
            role,
            trials,
        })
    };
    let policies = record.header.plan.policies.iter().enumerate();
    policies
        .flat_map(|(index, policy)| {
            let name = policy.name.as_str();
            [
                arm(index, name, Role::Arm, ""),
                arm(index, name, Role::Control, ", control"),
            ]
        })
        .flatten()
        .collect()
}
