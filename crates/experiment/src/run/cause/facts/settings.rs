//! The settings of a policy: the applied ones, those taken by chance, and the pool that it creates.

use serde::Serialize;

use super::super::context::policy;
use super::super::paired::{baseline_runs, good_trials};
use crate::base::host::ThpDisable;
use crate::run::compare::Table;
use crate::run::compare::medians::{Medians, arm_trials};
use crate::run::metric::MetricId;
use crate::run::policy::realise::{Realisation, ThpPrctl};
use crate::run::policy::{Settings, advice_by_chance};
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Mark, Trial};

/// The settings of a policy as they were read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InForce {
    /// Everything was as set, in the trials with a read-back.
    ReadBack {
        /// Number of trials with a read-back.
        read: usize,
        /// All its trials.
        of: usize,
    },
    /// It was read back in no trial.
    Unread {
        /// All its trials.
        of: usize,
    },
    /// None of its settings can be read back.
    NotReadable,
    /// It was not applied in some trials.
    Not(NotApplied),
}

/// Trials in which a policy was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotApplied {
    /// How many.
    pub trials: usize,
    /// All its trials.
    pub of: usize,
    /// The first difference.
    pub detail: String,
}

/// Returns the trials in which a policy was not applied; `None` if there are none.
#[must_use]
pub fn not_applied(record: &Record, arm: &str) -> Option<NotApplied> {
    match in_force(record, arm)? {
        InForce::Not(found) => Some(found),
        _ => None,
    }
}

/// Returns `None` if the policy has no trial.
#[must_use]
pub fn in_force(record: &Record, arm: &str) -> Option<InForce> {
    let set = record.header.realisations.get(arm);
    let trials: Vec<&Trial> = arm_trials(record, arm).collect();
    let of = trials.len();
    if of == 0 {
        return None;
    }
    let differing = trials.iter().map(|trial| differences(trial, set));
    let differing: Vec<Vec<String>> = differing.filter(|all| !all.is_empty()).collect();
    // The alphabetically first one, so that it does not depend on the order of trials.
    if let Some(detail) = differing.iter().flatten().min().cloned() {
        let trials = differing.len();
        return Some(InForce::Not(NotApplied { trials, of, detail }));
    }
    let read_back = |trial: &&Trial| set.map(|set| read_back(trial, set)).unwrap_or_default();
    let seen: Vec<Vec<bool>> = trials.iter().map(read_back).collect();
    let is_whole = |seen: &&Vec<bool>| seen.iter().all(|is_read| *is_read);
    Some(match seen.iter().filter(is_whole).count() {
        _ if seen.iter().all(Vec::is_empty) => InForce::NotReadable,
        0 => InForce::Unread { of },
        read => InForce::ReadBack { read, of },
    })
}

/// Returns true or false for each setting visible from outside, if it was read back; a variable is not visible.
fn read_back(trial: &Trial, set: &Realisation) -> Vec<bool> {
    let read = &trial.read_back;
    let mut files = set.files.iter();
    let has_files = files.all(|file| read.files.contains_key(&file.path));
    let parts = [
        (!set.files.is_empty(), has_files),
        (set.prctl != ThpPrctl::Leave, read.thp_disable.is_some()),
        (set.preload.is_some(), read.allocator.is_some()),
        (!set.limits.is_none(), read.cgroup.is_some()),
        (set.numa.is_some(), read.numa.is_some()),
        (set.tmpfs.is_some(), read.tmpfs.is_some()),
        (set.file.is_some(), read.file_cache.is_some()),
        (set.library.is_some(), read.library.is_some()),
    ];
    let set = parts.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, is_read)| is_read).collect()
}

fn differences(trial: &Trial, set: Option<&Realisation>) -> Vec<String> {
    let marked = trial.marks.iter().filter_map(|mark| match mark {
        Mark::NotApplied { detail } => Some(detail.clone()),
        _ => None,
    });
    let files = set.into_iter().flat_map(|set| &set.files);
    let files = files.filter_map(|file| {
        let found = trial.read_back.files.get(&file.path)?;
        let differs = *found != file.value;
        differs.then(|| format!("/{} was {found} instead of {}", file.path, file.value))
    });
    let switch = set.and_then(|set| switch(trial, set));
    marked.chain(files).chain(switch).collect()
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

/// Returns the record's word for the switch.
fn word(switch: ThpDisable) -> &'static str {
    match switch {
        ThpDisable::Off => "off",
        ThpDisable::Disabled => "disabled",
        ThpDisable::ExceptAdvised => "except_advised",
    }
}

/// Trials of an arm in which its setting took effect, for a C library that takes it only in some starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Trials with more huge memory than any of the baseline.
    pub taken: usize,
    /// All its trials with a reading.
    pub of: usize,
    /// The judged metric in the trials with the setting, as a ratio to the baseline; `None` with fewer than six, and if
    /// all took it.
    pub ratio: Option<f64>,
}

/// Returns `None` if the C library always takes the setting, and if no trial took it.
#[must_use]
pub fn taken_by_chance(record: &Record, table: &Table, arm: &str) -> Option<Taken> {
    advice_by_chance(policy(record, arm)?, &record.header.host)?;
    let baseline = table.verdict.baseline.as_str();
    let bytes = |trial: &Trial| trial.value(MetricId::HugeAnonPeakBytes);
    let usual = good_trials(record, baseline).filter_map(bytes);
    let usual = usual.fold(0.0, f64::max);
    let own: Vec<&Trial> = good_trials(record, arm).collect();
    let of = own.iter().filter(|trial| bytes(trial).is_some()).count();
    let is_more = |trial: &&Trial| bytes(trial).is_some_and(|bytes| bytes > usual);
    let with_it: Vec<&Trial> = own.into_iter().filter(is_more).collect();
    let taken = with_it.len();
    let ratio = ratio(record, table, &with_it).filter(|_| taken < of);
    (taken > 0 && arm != baseline).then_some(Taken { taken, of, ratio })
}

/// Returns the median ratio of these trials to the baseline of their rounds; fewer than six have no typical value.
///
/// The setting depends on the stack content at the start, which does not change the speed: the selection is unbiased.
fn ratio(record: &Record, table: &Table, trials: &[&Trial]) -> Option<f64> {
    let metric = table.verdict.metric.as_str();
    let baseline = |round: u32| {
        let runs = baseline_runs(record, &table.verdict.baseline, round);
        let values: Vec<f64> = runs.filter_map(|trial| trial.value(metric)).collect();
        median(&values).filter(|value| *value > 0.0)
    };
    let ratio = |trial: &&Trial| Some(trial.value(metric)? / baseline(trial.round)?);
    let ratios: Vec<f64> = trials.iter().filter_map(ratio).collect();
    median(&ratios).filter(|_| ratios.len() >= 6)
}

/// A hugetlb pool, and the memory that the program took from it.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Pool {
    /// Memory of the pool, in bytes.
    pub bytes: u64,
    /// The most that the program used, in bytes; zero if it was unused, `None` if it was not read.
    pub used_bytes: Option<f64>,
}

/// Returns `None` if the policy creates no pool.
#[must_use]
pub fn pool(record: &Record, arm: &str) -> Option<Pool> {
    let used = Medians::of(record).get(arm, MetricId::HugetlbPeakBytes);
    Some(Pool {
        bytes: pool_bytes(&policy(record, arm)?.settings)?,
        used_bytes: used.ok(),
    })
}

/// Returns the memory of the pools that a policy creates, in bytes; `None` if it creates none.
pub(in crate::run) fn pool_bytes(settings: &Settings) -> Option<u64> {
    let pools = settings.hugetlb.iter();
    let bytes = pools.map(|(kib, pages)| kib.saturating_mul(1024).saturating_mul(*pages));
    Some(bytes.fold(0, u64::saturating_add)).filter(|&bytes| bytes > 0)
}
