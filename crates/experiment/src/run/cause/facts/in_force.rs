//! Trials in which a policy was not in force.

use serde::Serialize;

use crate::base::host::ThpDisable;
use crate::run::compare::medians::arm_trials;
use crate::run::policy::realise::{Realisation, ThpPrctl};
use crate::run::record::Record;
use crate::run::trial::{Mark, Trial};

/// The settings of a policy as they were read back.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum InForce {
    /// Everything was as set, in so many trials that were read back.
    ReadBack {
        /// Trials that were read back.
        read: usize,
        /// All its trials.
        of: usize,
    },
    /// It could be read back in no trial.
    Unread {
        /// All its trials.
        of: usize,
    },
    /// Nothing that it sets can be read back.
    NotReadable,
    /// It was not in force in some trials.
    Not(NotApplied),
}

/// Trials in which a policy was not in force.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct NotApplied {
    /// How many.
    pub trials: usize,
    /// All its trials.
    pub of: usize,
    /// The first difference.
    pub detail: String,
}

/// Returns the trials in which a policy was not in force; `None` when there are none.
#[must_use]
pub fn not_applied(record: &Record, arm: &str) -> Option<NotApplied> {
    match in_force(record, arm)? {
        InForce::Not(found) => Some(found),
        _ => None,
    }
}

/// Returns `None` when the policy has no trial.
#[must_use]
pub fn in_force(record: &Record, arm: &str) -> Option<InForce> {
    let set = record.header.realisations.get(arm);
    let trials: Vec<&Trial> = arm_trials(record, arm).collect();
    let of = trials.len();
    let found = trials.iter().map(|trial| differences(trial, set));
    let found: Vec<Vec<String>> = found.filter(|all| !all.is_empty()).collect();
    let count = |set| trials.iter().filter(|it| was_read_back(it, set)).count();
    if of == 0 {
        return None;
    }
    // The first by the alphabet, so that it does not depend on the order of trials.
    if let Some(detail) = found.iter().flatten().min() {
        return Some(InForce::Not(NotApplied {
            trials: found.len(),
            of,
            detail: detail.clone(),
        }));
    }
    Some(match set.filter(|set| can_be_read_back(set)).map(count) {
        None => InForce::NotReadable,
        Some(0) => InForce::Unread { of },
        Some(read) => InForce::ReadBack { read, of },
    })
}

/// Returns true when a policy sets anything that can be seen from outside; a variable cannot.
fn can_be_read_back(set: &Realisation) -> bool {
    let of_program = set.prctl != ThpPrctl::Leave
        || set.preload.is_some()
        || set.library.is_some()
        || set.numa.is_some();
    !set.files.is_empty() || !set.limits.is_none() || of_program
}

/// Returns true when everything that a policy sets, and that can be read, was read back.
fn was_read_back(trial: &Trial, set: &Realisation) -> bool {
    let read = &trial.read_back;
    let mut files = set.files.iter();
    files.all(|file| read.files.contains_key(&file.path))
        && (set.prctl == ThpPrctl::Leave || read.thp_disable.is_some())
        && (set.preload.is_none() || read.allocator.is_some())
        && (set.limits.is_none() || read.cgroup.is_some())
        && (set.numa.is_none() || read.numa.is_some())
        && (set.library.is_none() || read.library.is_some())
}

fn differences(trial: &Trial, set: Option<&Realisation>) -> Vec<String> {
    let marked = trial.marks.iter().filter_map(|mark| match mark {
        Mark::NotApplied { detail } => Some(detail.clone()),
        _ => None,
    });
    let read_back = set.map(|set| files(trial, set).chain(switch(trial, set)));
    marked.chain(read_back.into_iter().flatten()).collect()
}

fn files<'t>(trial: &'t Trial, set: &'t Realisation) -> impl Iterator<Item = String> + 't {
    set.files.iter().filter_map(|file| {
        let found = trial.read_back.files.get(&file.path)?;
        let differs = *found != file.value;
        differs.then(|| format!("/{} was {found} instead of {}", file.path, file.value))
    })
}

fn switch(trial: &Trial, set: &Realisation) -> Option<String> {
    let found = trial.read_back.thp_disable?;
    let wanted = match set.prctl {
        ThpPrctl::Leave => return None,
        ThpPrctl::Clear => ThpDisable::Off,
        ThpPrctl::Disable => ThpDisable::Disabled,
        ThpPrctl::ExceptAdvised => ThpDisable::ExceptAdvised,
    };
    let [was, instead] = [found, wanted].map(word);
    (found != wanted).then(|| format!("PR_GET_THP_DISABLE was `{was}` instead of `{instead}`"))
}

/// Returns the word of the record.
fn word(switch: ThpDisable) -> &'static str {
    match switch {
        ThpDisable::Off => "off",
        ThpDisable::Disabled => "disabled",
        ThpDisable::ExceptAdvised => "except_advised",
    }
}
