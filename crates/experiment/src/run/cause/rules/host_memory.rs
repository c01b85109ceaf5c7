//! The first touch of memory is dear because the hypervisor had taken it back.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::facts::{Rested, Uneven, first_touch, huge_bytes, rested, uneven_of};
use super::super::{Kind, Outcome};
use crate::run::plan::HostMemory;

/// Memory of a virtual machine that the hypervisor had taken back.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct HostColdMemory {
    /// The hypervisor.
    pub hypervisor: Option<String>,
    /// Bytes in huge pages in a typical run.
    pub huge_bytes: f64,
    /// Returns true when memory was warmed before each trial.
    pub is_warmed: bool,
    /// Kernel time that differs from trial to trial.
    pub uneven: Option<Uneven>,
    /// Runs after idle beside the baseline's, which are in no other comparison.
    pub rested: Option<Rested>,
    /// A first touch of a huge page that the host has to back, in seconds.
    pub cold_touch_seconds: Option<f64>,
    /// A touch of a huge page that the host still backs, in seconds.
    pub warm_touch_seconds: Option<f64>,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let (record, baseline) = (view.context.record, view.context.baseline());
    let medians = &view.context.medians;
    let Some(huge_bytes) = huge_bytes(record, medians, view.arm) else {
        return Ok(None);
    };
    let uneven = uneven_of(record, medians, [baseline, view.arm], huge_bytes)?;
    let rested = rested(record, baseline, view.arm);
    let price = first_touch(record).filter(|_| rested.is_some());
    // The price of a start decides what to set; that trials differ is the same memory of the host.
    let outcome = match (&rested, uneven) {
        (Some(_), _) => Outcome::Shown,
        (None, Some(uneven)) => uneven.outcome,
        (None, None) => return Ok(None),
    };
    let found = HostColdMemory {
        hypervisor: view.context.host().hypervisor.clone(),
        huge_bytes,
        is_warmed: record.header.plan.host_memory == HostMemory::Warm,
        uneven,
        rested,
        cold_touch_seconds: price.map(|price| price.cold_seconds),
        warm_touch_seconds: price.map(|price| price.warm_seconds),
    };
    Ok(Some((outcome, Kind::HostColdMemory(found))))
}
