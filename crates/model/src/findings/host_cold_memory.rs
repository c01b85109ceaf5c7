//! Claims that huge pages cost very different kernel time from trial to trial because the
//! hypervisor had backed the memory under some and not under others.
//!
//! Evidence: a virtual machine; under the policy, kernel time for each huge page in the slowest
//! quarter of the trials is many times that in the quickest quarter, while kernel time under
//! the baseline is steady, and nothing on the machine compacted or reclaimed memory.
//! Refuted when the same happens on bare metal, or when it stops with other programs' load.
//! A guest that reports free pages to its host (free page reporting, a balloon) gives memory
//! back in large blocks, so huge faults meet host-cold memory more often than small ones do.
//! Next: the same experiment with a hugetlb pool, whose pages the host has backed.

use super::ground::{Absent, Look, Said, told};
use super::medians::arm_trials;
use super::{Finding, Ground, Rule};
use crate::observation::Trial;
use crate::quantity::MIB;

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

impl Rule for HostColdMemory {
    fn id(&self) -> &'static str {
        "host-cold-memory"
    }

    fn explain(&self) -> &'static str {
        "Claims that huge pages cost very different kernel time from trial to trial because the \
         hypervisor had backed the memory under some trials and not under others. Evidence: a \
         virtual machine; kernel time for each huge page in the slowest quarter of the trials \
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
    if look.here("huge_anon_peak_bytes").unwrap_or(0.0) < LEAST_HUGE_BYTES {
        return Ok(Said::Nothing);
    }
    let baseline = quarters(look, look.ground.baseline(), |trial| {
        trial.value("system_seconds")
    });
    let Some(((steady_low, steady_high), (low, high))) =
        baseline.zip(quarters(look, look.policy, |trial| price(look, trial)))
    else {
        return Ok(Said::Nothing);
    };
    if low <= 0.0 || high / low < SPREAD || steady_high > STEADY * steady_low {
        return Ok(Said::Nothing);
    }
    look.evidence
        .figure("kernel_seconds_per_huge_page_quick", low);
    look.evidence
        .figure("kernel_seconds_per_huge_page_slow", high);
    let lead = format!(
        "{}: kernel time for each huge page was {} in the quickest quarter of the trials and {} \
         in the slowest",
        look.policy,
        told("system_seconds", low),
        told("system_seconds", high)
    );
    let stalls = look.here("compact_stall_total")? + look.here("allocstall_total")?;
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

/// Kernel time of a trial for each of its huge pages: an upper bound of what one cost.
#[expect(clippy::cast_precision_loss, reason = "page sizes are powers of two")]
fn price(look: &Look<'_, '_>, trial: &Trial) -> Option<f64> {
    let huge_pages = trial.value("huge_anon_peak_bytes")? / look.ground.host().pmd_bytes()? as f64;
    (huge_pages >= 1.0).then_some(trial.value("system_seconds")? / huge_pages)
}

/// The middle of the quickest and of the slowest quarter of a policy's successful trials.
fn quarters(
    look: &Look<'_, '_>,
    policy: &str,
    of: impl Fn(&Trial) -> Option<f64>,
) -> Option<(f64, f64)> {
    let trials = arm_trials(look.ground.record, policy).filter(|trial| trial.succeeded());
    let mut values: Vec<f64> = trials.filter_map(of).collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    (count >= LEAST_TRIALS).then(|| (values[count / 8], values[count - 1 - count / 8]))
}
