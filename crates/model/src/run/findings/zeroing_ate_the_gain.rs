//! Claims that clearing huge pages cost as much kernel time as the faults that they saved.

use super::context::{Claim, Context, MissingInput, PolicyView, label, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

/// The rule of this module.
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

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let halved = view.change(MetricId::MinorFaultsTotal) == Some(Change::Lower);
    let gained = view.change(MetricId::WallSeconds) == Some(Change::Lower);
    let (faults_before, faults) = match view.both(MetricId::MinorFaultsTotal) {
        Ok(values) if halved => values,
        _ => return Ok(Claim::Nothing),
    };
    if faults * 2.0 > faults_before {
        return Ok(Claim::Nothing);
    }
    let (before, after) = view.means(MetricId::SystemSeconds)?;
    let policy = view.policy;
    let lead = format!(
        "{} faults became {}, kernel time went from {} to {}",
        told(MetricId::MinorFaultsTotal, faults_before),
        told(MetricId::MinorFaultsTotal, faults),
        told(MetricId::SystemSeconds, before),
        told(MetricId::SystemSeconds, after)
    );
    match view.change(MetricId::SystemSeconds) {
        Some(change @ (Change::NoDifference | Change::Higher)) => {
            let (much, cost) = match change {
                Change::Higher => ("more than", cost(view, after - before)),
                _ => ("as much as", String::new()),
            };
            Ok(Claim::Shown(format!(
                "{policy}: making huge pages cost {much} the saved faults. {lead}{cost}{}",
                others(view)
            )))
        }
        Some(Change::Lower) if gained => Ok(Claim::Nothing),
        Some(Change::Lower) => Ok(Claim::NotShown(format!(
            "{policy}: the saved faults are too small a part of the time. {lead}"
        ))),
        _ => Ok(Claim::CannotTell(format!(
            "{policy}: too few rounds to say whether kernel time changed. {lead}"
        ))),
    }
}

/// How much more kernel time there is for each huge fault. Its cost is that and the part of the
/// faults that it saved; other programs' huge faults are counted too.
fn cost(view: &mut PolicyView<'_, '_>, growth: f64) -> String {
    match view.here(MetricId::ThpFaultAllocTotal) {
        Ok(huge) if huge > 0.0 && growth > 0.0 => {
            let cost = growth / huge;
            view.evidence
                .figure("kernel_growth_per_huge_fault_seconds", cost);
            format!(
                "; {} more kernel time per huge fault ({} machine-wide)",
                told(MetricId::SystemSeconds, cost),
                told(MetricId::ThpFaultAllocTotal, huge)
            )
        }
        _ => String::new(),
    }
}

/// What clearing took, and compaction and reclaim for the program's own allocations, where that
/// was timed.
fn timed(view: &mut PolicyView<'_, '_>) -> String {
    let mut text = match view.here(MetricId::ZeroingSeconds) {
        Ok(seconds) => format!("; zeroing took {}", told(MetricId::ZeroingSeconds, seconds)),
        Err(_) => "; zeroing is the usual cost".to_owned(),
    };
    for metric in [
        MetricId::DirectCompactionSeconds,
        MetricId::DirectReclaimSeconds,
    ] {
        if let Ok(seconds) = view.here(metric)
            && seconds > 0.0
        {
            text.push_str(&format!(", {} {}", told(metric, seconds), label(metric)));
        }
    }
    text
}

/// What the cost may be: clearing, and what stands beside it here.
fn others(view: &mut PolicyView<'_, '_>) -> String {
    let mut text = timed(view);
    for (metric, what) in [
        (MetricId::CompactStallTotal, "compaction"),
        (MetricId::AllocstallTotal, "reclaim"),
    ] {
        if let Ok(stalls) = view.here(metric)
            && stalls > 0.0
        {
            text.push_str(&format!(
                "; {} {what} stalls machine-wide may be part of it",
                told(metric, stalls)
            ));
        }
    }
    if let Some(name) = &view.context.host().hypervisor {
        text.push_str(&format!(
            "; in a virtual machine ({name}) it may be the host backing memory at first touch"
        ));
    }
    text
}
