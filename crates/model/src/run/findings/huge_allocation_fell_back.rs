//! Claims that the kernel wanted to give huge pages in faults and could not.
//!
//! Evidence: refused huge faults as a share of all huge faults; those that a memory cgroup
//! refused apart; free huge blocks before the trial. The counters speak of the whole machine.
//! Refuted when other programs fault huge pages at the same time. A mapping that is unfit is not
//! counted. Next: the defrag setting, /proc/buddyinfo, memory.max.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// See the module.
#[derive(Debug)]
pub(super) struct HugeAllocationFellBack;

/// A smaller share of refusals changes no verdict.
const NOTABLE: f64 = 0.01;

impl Rule for HugeAllocationFellBack {
    fn id(&self) -> &'static str {
        "huge-allocation-fell-back"
    }

    fn explain(&self) -> &'static str {
        "Claims that huge pages were wanted in faults and could not be had. Evidence: the share of \
         huge faults that was refused, the part that a memory cgroup refused, and the free huge \
         blocks before the trial. Mappings that are unfit are not counted by the kernel. Refuted \
         when other programs fault huge pages at the same time: the counters are the machine's. \
         Next: free memory in huge blocks (/proc/buddyinfo), the defrag setting, the cgroup's \
         memory.max."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    // Where the program may have none, all of them are other programs'.
    if look.ground.mode(look.policy) == "never" {
        return Ok(Said::Nothing);
    }
    let (made, refused) = match (
        look.here(MetricId::ThpFaultAllocTotal),
        look.here(MetricId::ThpFaultFallbackTotal),
    ) {
        (Ok(made), Ok(refused)) if made + refused > 0.0 => (made, refused),
        _ => return Ok(Said::Nothing),
    };
    let share = refused / (made + refused);
    look.evidence.figure("refused_share", share);
    let lead = format!(
        "{}: {} of {} huge faults on the machine were refused ({} %)",
        look.policy,
        told(MetricId::ThpFaultFallbackTotal, refused),
        told(MetricId::ThpFaultFallbackTotal, made + refused),
        percent(share)
    );
    if share < NOTABLE {
        return Ok(Said::NotShown(lead));
    }
    let cgroup = cgroup_part(look);
    let free = free_before(look);
    Ok(Said::Shown(format!("{lead}{cgroup}{free}")))
}

fn cgroup_part(look: &mut Look<'_, '_>) -> String {
    match look.here(MetricId::ThpFaultFallbackChargeTotal) {
        Ok(charge) if charge > 0.0 => format!(
            ", {} of them by the limit of a memory cgroup",
            told(MetricId::ThpFaultFallbackChargeTotal, charge)
        ),
        _ => String::new(),
    }
}

fn free_before(look: &mut Look<'_, '_>) -> String {
    match look.here(MetricId::FreeHugePagesBeforeTotal) {
        Ok(free) => format!(
            "; {} huge pages were free before",
            told(MetricId::FreeHugePagesBeforeTotal, free)
        ),
        Err(_) => String::new(),
    }
}
