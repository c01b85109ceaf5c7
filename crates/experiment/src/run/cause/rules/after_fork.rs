//! Memory that processes share after a fork was copied under writes, which split its huge pages.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome, Pair};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// Memory that processes share after a fork.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct CopyOnWriteAfterFork {
    /// Anonymous memory that several processes shared at the peak, in bytes.
    pub shared_bytes: f64,
    /// Bytes of it that writes copied at least.
    pub copied_bytes: Option<f64>,
    /// The same under the baseline.
    pub baseline_copied_bytes: Option<f64>,
    /// Seconds in the faults that copied it.
    pub copy_seconds: Option<Pair>,
    /// Huge mappings that were split, machine-wide.
    pub splits: Pair,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let huge_page = view.context.host().pmd_bytes().unwrap_or(u64::MAX) as f64;
    // Without shared memory, seen or readable, there is no question.
    let shared_bytes = view.here(MetricId::ForkSharedPeakBytes).unwrap_or(0.0);
    if shared_bytes < huge_page || view.here(MetricId::HugeAnonPeakBytes)? < huge_page {
        return Ok(None);
    }
    let copied_bytes = view.here(MetricId::ForkCopiedBytes).ok();
    let found = CopyOnWriteAfterFork {
        shared_bytes,
        copied_bytes,
        baseline_copied_bytes: view
            .there(MetricId::ForkCopiedBytes)
            .ok()
            .filter(|_| copied_bytes.is_some()),
        copy_seconds: view.both(MetricId::CopyOnWriteSeconds).ok(),
        splits: view.both(MetricId::ThpSplitPmdTotal)?,
    };
    let outcome = match view.change(MetricId::ThpSplitPmdTotal) {
        Some(Change::Higher) => Outcome::Shown,
        Some(Change::CannotTell) | None => Outcome::CannotTell,
        Some(Change::NoDifference | Change::Lower) => Outcome::NotShown,
    };
    Ok(Some((outcome, Kind::CopyOnWriteAfterFork(found))))
}
