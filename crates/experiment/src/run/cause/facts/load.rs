//! Loads that set the pace instead of the service.

use serde::Serialize;

use super::super::Outcome;
use crate::run::compare::medians::Medians;
use crate::run::metric::MetricId;
use crate::run::record::Record;

/// The share of its CPUs from which a program is taken to want more.
///
/// The clock of CPU time ticks a hundred times a second, and there are always short waits.
const FULL: f64 = 0.9;

/// CPUs that a load and its service used under one arm.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LoadLimit {
    /// The arm.
    pub arm: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The possible bottleneck.
    pub limit: Option<Limit>,
    /// CPUs that the load used.
    pub load_cpus: f64,
    /// CPUs that the service used.
    pub service_cpus: f64,
    /// CPUs that the load was bound to, when it was.
    pub bound_cpus: Option<usize>,
    /// CPUs of the machine.
    pub machine_cpus: u32,
    /// Returns true when load and service have CPUs of their own.
    pub parted: bool,
}

/// The bottleneck of a load.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The load used all CPUs that it was bound to.
    Load,
    /// Load and service shared all CPUs of the machine.
    Shared,
    /// The load used as much as one thread can.
    OneThread,
}

/// Returns the gravest limit that was not refuted; the baseline's first of equal ones.
#[must_use]
pub fn load_limit(record: &Record) -> Option<LoadLimit> {
    let limits = load_limits(record).into_iter();
    limits
        .filter(|it| it.limit.is_some())
        .min_by_key(|it| it.outcome)
}

/// Returns one for each arm of a service whose CPU time was read.
#[must_use]
pub fn load_limits(record: &Record) -> Vec<LoadLimit> {
    let Some(service) = &record.header.plan.service else {
        return Vec::new();
    };
    let medians = Medians::of(record);
    let bound_cpus = service.load_cpus.as_ref().map(Vec::len);
    let parted = bound_cpus.is_some() && service.service_cpus.is_some();
    let machine_cpus = record.header.host.cpus;
    let arms = record.header.plan.policies.iter();
    let of = |arm: &str| {
        let load_cpus = medians.get(arm, MetricId::LoadUseRatio).ok()?;
        let service_cpus = medians.get(arm, MetricId::ServiceUseRatio).ok()?;
        let is_bound = bound_cpus.is_some_and(|bound| load_cpus >= FULL * bound as f64);
        let is_full = load_cpus + service_cpus >= FULL * f64::from(machine_cpus);
        let (outcome, limit) = match () {
            () if is_bound => (Outcome::Shown, Some(Limit::Load)),
            () if !parted && is_full => (Outcome::Shown, Some(Limit::Shared)),
            () if load_cpus >= FULL => (Outcome::CannotTell, Some(Limit::OneThread)),
            () => (Outcome::NotShown, None),
        };
        Some(LoadLimit {
            arm: arm.to_owned(),
            outcome,
            limit,
            load_cpus,
            service_cpus,
            bound_cpus,
            machine_cpus,
            parted,
        })
    };
    arms.filter_map(|arm| of(&arm.name)).collect()
}
