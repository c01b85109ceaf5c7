//! The hugetlb pool of an arm.

use serde::Serialize;

use crate::run::compare::medians::Medians;
use crate::run::metric::MetricId;
use crate::run::policy::Settings;
use crate::run::record::Record;

/// A hugetlb pool, and the memory that the program took from it.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Pool {
    /// Memory of the pool, in bytes.
    pub bytes: u64,
    /// The most that the program used, in bytes; zero when nobody used it, `None` when it was not read.
    pub used_bytes: Option<f64>,
}

/// Returns `None` when the policy makes no pool.
#[must_use]
pub fn pool(record: &Record, arm: &str) -> Option<Pool> {
    let mut policies = record.header.plan.policies.iter();
    let policy = policies.find(|policy| policy.name == arm)?;
    let used = Medians::of(record).get(arm, MetricId::HugetlbPeakBytes);
    Some(Pool {
        bytes: pool_bytes(&policy.settings)?,
        used_bytes: used.ok(),
    })
}

/// Returns the memory of the pools that a policy makes, in bytes; `None` when it makes none.
pub(in super::super) fn pool_bytes(settings: &Settings) -> Option<u64> {
    let pools = settings.hugetlb.iter();
    let bytes = pools.map(|(kib, pages)| kib.saturating_mul(1024).saturating_mul(*pages));
    Some(bytes.fold(0, u64::saturating_add)).filter(|&bytes| bytes > 0)
}
