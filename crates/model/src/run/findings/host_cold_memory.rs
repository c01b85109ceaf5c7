//! Claims that huge pages cost very different kernel time from trial to trial because the
//! hypervisor had backed the memory under some and not under others.
//!
//! Evidence: a virtual machine; under the policy, where most memory is huge, kernel time in the
//! slowest quarter of the trials is many times that in the quickest quarter, while kernel time
//! under the baseline is steady, and nothing on the machine compacted or reclaimed memory.
//! Refuted when the same happens on bare metal, or when it stops with other programs' load.
//! A guest that reports free pages to its host (free page reporting, a balloon) gives memory
//! back in large blocks, so huge faults meet host-cold memory more often than small ones do.
//! Next: the same experiment with a hugetlb pool, whose pages the host has backed.

use super::ground::{Absent, Look, Said, told};
use super::{Finding, Ground, Rule};
use crate::base::units::MIB;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;

/// See the module.
#[derive(Debug)]
pub(super) struct HostColdMemory;

/// The slowest quarter takes this many times what the quickest takes.
const SPREAD: f64 = 4.0;
/// The baseline's kernel time may spread by at most this factor to be called steady.
const STEADY: f64 = 2.0;
/// Quarters of fewer trials say nothing.
const LEAST_TRIALS: usize = 8;
/// Fewer huge pages than these are not worth a price.
const LEAST_HUGE_BYTES: f64 = 32.0 * MIB as f64;
/// Where less of the memory is huge, kernel time is not that of huge pages.
const LEAST_SHARE: f64 = 0.5;

impl Rule for HostColdMemory {
    fn id(&self) -> &'static str {
        "host-cold-memory"
    }

    fn explain(&self) -> &'static str {
        "Claims that huge pages cost very different kernel time from trial to trial because the \
         hypervisor had backed the memory under some trials and not under others. Evidence: a \
         virtual machine; most memory is huge; kernel time in the slowest quarter of the trials \
         is at least four times that in the quickest, the baseline's kernel time is steady, and \
         nothing was compacted or reclaimed. Refuted when the same happens on bare metal, or \
         when it goes away with other programs' load. Next: the same experiment with memory that \
         is touched once and kept (a hugetlb pool, no free page reporting, no balloon), which \
         takes the host out of the question."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let Some(hypervisor) = look.ground.host().hypervisor.clone() else {
        return Ok(Said::Nothing);
    };
    // Without this reading the question does not arise; other rules say that it is missing.
    let huge_bytes = look.here(MetricId::HugeAnonPeakBytes).unwrap_or(0.0);
    if huge_bytes < LEAST_HUGE_BYTES
        || huge_bytes < LEAST_SHARE * look.here(MetricId::PeakRssBytes)?
    {
        return Ok(Said::Nothing);
    }
    let baseline = quarters(look, look.ground.baseline());
    let Some(((steady_low, steady_high), (low, high))) = baseline.zip(quarters(look, look.policy))
    else {
        return Ok(Said::Nothing);
    };
    if high < SPREAD * low || steady_high > STEADY * steady_low {
        return Ok(Said::Nothing);
    }
    look.evidence.figure("system_seconds_quick_quarter", low);
    look.evidence.figure("system_seconds_slow_quarter", high);
    let dearer = dearer(look, huge_bytes, high - low);
    let lead = format!(
        "{}: kernel time was {} in the quickest quarter of the trials and {} in the slowest, for \
         the same {} of huge pages{dearer}",
        look.policy,
        told(MetricId::SystemSeconds, low),
        told(MetricId::SystemSeconds, high),
        told(MetricId::HugeAnonPeakBytes, huge_bytes)
    );
    let stalls = look.here(MetricId::CompactStallTotal)? + look.here(MetricId::AllocstallTotal)?;
    Ok(if stalls > 0.0 {
        Said::CannotTell(format!(
            "{lead}; the machine also compacted or reclaimed memory"
        ))
    } else {
        Said::Shown(format!(
            "{lead}, with no compaction or reclaim: the pattern of memory that the hypervisor \
             ({hypervisor}) had to find first. Where memory is backed, expect the quick price"
        ))
    })
}

/// What a huge page cost more in the slow quarter.
#[expect(clippy::cast_precision_loss, reason = "page sizes are powers of two")]
fn dearer(look: &mut Look<'_, '_>, huge_bytes: f64, seconds: f64) -> String {
    let Some(page) = look.ground.host().pmd_bytes() else {
        return String::new();
    };
    let each = seconds * page as f64 / huge_bytes;
    look.evidence
        .figure("system_seconds_more_for_each_huge_page", each);
    format!(" ({} more for each)", told(MetricId::SystemSeconds, each))
}

/// Kernel time in the middle of the quickest and of the slowest quarter of a policy's
/// successful trials.
fn quarters(look: &Look<'_, '_>, policy: &str) -> Option<(f64, f64)> {
    let trials = arm_trials(look.ground.record, policy).filter(|trial| trial.succeeded());
    let mut values: Vec<f64> = trials
        .filter_map(|trial| trial.value(MetricId::SystemSeconds))
        .collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    (count >= LEAST_TRIALS).then(|| (values[count / 8], values[count - 1 - count / 8]))
}
