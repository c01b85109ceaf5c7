//! Loads that limit the throughput instead of the service.

use crate::run::compare::medians::Medians;
use crate::run::metric::MetricId;
use crate::run::record::Record;

/// The share of its CPUs above which a program counts as CPU-bound.
///
/// The CPU clock ticks a hundred times a second, and there are always short waits.
const FULL: f64 = 0.9;

/// A load that limited the throughput under an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadLimit {
    /// The arm.
    pub arm: String,
    /// The bottleneck.
    pub limit: Limit,
    /// CPUs that the load used.
    pub load_cpus: f64,
    /// CPUs that the load was bound to, if it was.
    pub bound_cpus: Option<usize>,
    /// True if service and load have separate CPUs.
    pub parted: bool,
}

/// The bottleneck of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The load used all CPUs that it was bound to.
    Load,
    /// Load and service shared all CPUs of the machine.
    Shared,
}

/// Returns the limit under the first arm of a service with one.
#[must_use]
pub fn load_limit(record: &Record) -> Option<LoadLimit> {
    let service = record.header.plan.service.as_ref()?;
    let medians = Medians::of(record);
    let bound_cpus = service.load_cpus.as_ref().map(Vec::len);
    let parted = bound_cpus.is_some() && service.service_cpus.is_some();
    let machine_cpus = f64::from(record.header.host.cpus);
    let limit = |arm: &str| {
        let load_cpus = medians.get(arm, MetricId::LoadUseRatio).ok()?;
        let service_cpus = medians.get(arm, MetricId::ServiceUseRatio).ok()?;
        let is_bound = bound_cpus.is_some_and(|bound| load_cpus >= FULL * bound as f64);
        let is_full = load_cpus + service_cpus >= FULL * machine_cpus;
        let limit = match (is_bound, !parted && is_full) {
            (true, _) => Limit::Load,
            (false, true) => Limit::Shared,
            (false, false) => return None,
        };
        Some(LoadLimit {
            arm: arm.to_owned(),
            limit,
            load_cpus,
            bound_cpus,
            parted,
        })
    };
    let mut arms = record.header.plan.policies.iter();
    arms.find_map(|arm| limit(&arm.name))
}
