//! Claims that clearing huge pages cost as much kernel time as the faults that they saved.
//!
//! Evidence: at most half of the faults remain, and kernel time did not fall, each by its own
//! interval. The growth of kernel time over
//! huge faults says what one cost at least, where it grew.
//! Refuted when kernel time fell (the faults saved were too small a part of the whole), or when
//! compaction or reclaim stalls account for it; where clearing and stalls were timed, they are told. In a virtual machine, the first touch of memory
//! that the host has not backed costs milliseconds and looks the same.
//! Next: the latency of huge faults (software events of perf); two humps point to the host.

use super::ground::{Absent, Ground, Look, Said, label, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// See the module.
#[derive(Debug)]
pub(super) struct ZeroingAteTheGain;

impl Rule for ZeroingAteTheGain {
    fn id(&self) -> &'static str {
        "zeroing-ate-the-gain"
    }

    fn explain(&self) -> &'static str {
        "Claims that making huge pages, above all clearing them, cost as much kernel time as the \
         faults that they saved. Evidence: at most half of the faults remain, yet kernel time did \
         not fall; its growth over huge faults says what one cost at least. Refuted when \
         kernel time fell, or when compaction or reclaim stalls account for it. In a virtual \
         machine the first touch of memory that the host has not backed looks the same. Next: \
         trace the latency of huge faults with perf; two humps point to the host."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let halved = look.change_by_itself(MetricId::MinorFaultsTotal) == Some(Change::Lower);
    let gained = look.change(MetricId::WallSeconds) == Some(Change::Lower);
    let (faults_before, faults) = match look.both(MetricId::MinorFaultsTotal) {
        Ok(values) if halved => values,
        _ => return Ok(Said::Nothing),
    };
    if faults * 2.0 > faults_before {
        return Ok(Said::Nothing);
    }
    let (before, after) = look.both(MetricId::SystemSeconds)?;
    let lead = format!(
        "{}: {} faults became {}, and kernel time went from {} to {}",
        look.policy,
        told(MetricId::MinorFaultsTotal, faults_before),
        told(MetricId::MinorFaultsTotal, faults),
        told(MetricId::SystemSeconds, before),
        told(MetricId::SystemSeconds, after)
    );
    match look.change_by_itself(MetricId::SystemSeconds) {
        Some(change @ (Change::NoDifference | Change::Higher)) => {
            let (much, cost) = match change {
                Change::Higher => ("more than", cost(look, after - before)),
                _ => ("as much as", String::new()),
            };
            Ok(Said::Shown(format!(
                "{lead}: to make its huge pages cost {much} the faults saved{cost}{}",
                others(look)
            )))
        }
        Some(Change::Lower) if gained => Ok(Said::Nothing),
        Some(Change::Lower) => Ok(Said::NotShown(format!(
            "{lead}: the faults saved were too small a part of the time to show in it"
        ))),
        _ => Ok(Said::CannotTell(format!(
            "{lead}; whether kernel time changed cannot be told yet"
        ))),
    }
}

/// How much more kernel time there is for each huge fault. Its cost is that and the part of the
/// faults that it saved; other programs' huge faults are counted too.
fn cost(look: &mut Look<'_, '_>, growth: f64) -> String {
    match look.here(MetricId::ThpFaultAllocTotal) {
        Ok(huge) if huge > 0.0 && growth > 0.0 => {
            let cost = growth / huge;
            look.evidence
                .figure("kernel_growth_per_huge_fault_seconds", cost);
            format!(
                "; that is {} more kernel time for each of the machine's {} huge faults",
                told(MetricId::SystemSeconds, cost),
                told(MetricId::ThpFaultAllocTotal, huge)
            )
        }
        _ => String::new(),
    }
}

/// What clearing took, and compaction and reclaim for the program's own allocations, where that
/// was timed.
fn timed(look: &mut Look<'_, '_>) -> String {
    let mut text = match look.here(MetricId::ZeroingSeconds) {
        Ok(seconds) => format!(
            "; clearing them took {}",
            told(MetricId::ZeroingSeconds, seconds)
        ),
        Err(_) => "; clearing them is the usual cost".to_owned(),
    };
    for metric in [
        MetricId::DirectCompactionSeconds,
        MetricId::DirectReclaimSeconds,
    ] {
        if let Ok(seconds) = look.here(metric)
            && seconds > 0.0
        {
            text.push_str(&format!(", {} {}", told(metric, seconds), label(metric)));
        }
    }
    text
}

/// What the cost may be: clearing, and what stands beside it here.
fn others(look: &mut Look<'_, '_>) -> String {
    let mut text = timed(look);
    for (metric, what) in [
        (MetricId::CompactStallTotal, "compaction"),
        (MetricId::AllocstallTotal, "reclaim"),
    ] {
        if let Ok(stalls) = look.here(metric)
            && stalls > 0.0
        {
            text.push_str(&format!(
                "; {} {what} stalls on the machine may be part of it",
                told(metric, stalls)
            ));
        }
    }
    if let Some(name) = &look.ground.host().hypervisor {
        text.push_str(&format!(
            "; in a virtual machine (here: {name}) it may be the host, which has to find memory at \
             the first touch"
        ));
    }
    text
}
