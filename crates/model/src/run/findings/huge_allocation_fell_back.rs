//! Claims that the kernel wanted to give huge pages in faults and could not.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct HugeAllocationFellBack;

/// A smaller share of refusals changes no verdict.
const NOTABLE: f64 = 0.01;

impl Rule for HugeAllocationFellBack {
    fn id(&self) -> &'static str {
        "huge-allocation-fell-back"
    }

    fn explain(&self) -> &'static str {
        "Claims that the kernel tried to allocate huge pages at faults and failed. Evidence: the share \
         of huge faults that fell back, the part that a memory cgroup refused, and the free huge \
         blocks before the trial. The kernel does not count ineligible mappings. Refuted \
         when other programs fault huge pages at the same time: the counters are the machine's. \
         Next: free memory in huge blocks (/proc/buddyinfo), the defrag setting, the cgroup's \
         memory.max."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    // Where the program may have none, all of them are other programs'.
    if view.context.mode(view.policy) == "never" {
        return Ok(Claim::Nothing);
    }
    let (made, refused) = match (
        view.here(MetricId::ThpFaultAllocTotal),
        view.here(MetricId::ThpFaultFallbackTotal),
    ) {
        (Ok(made), Ok(refused)) if made + refused > 0.0 => (made, refused),
        _ => return Ok(Claim::Nothing),
    };
    let share = refused / (made + refused);
    view.evidence.figure("refused_share", share);
    let lead = format!(
        "{}: {} % of huge faults fell back to small pages. {} of {} huge faults machine-wide",
        view.policy,
        percent(share),
        told(MetricId::ThpFaultFallbackTotal, refused),
        told(MetricId::ThpFaultFallbackTotal, made + refused),
    );
    if share < NOTABLE {
        return Ok(Claim::NotShown(lead));
    }
    let cgroup = cgroup_part(view);
    let free = free_before(view);
    Ok(Claim::Shown(format!("{lead}{cgroup}{free}")))
}

fn cgroup_part(view: &mut PolicyView<'_, '_>) -> String {
    match view.here(MetricId::ThpFaultFallbackChargeTotal) {
        Ok(charge) if charge > 0.0 => format!(
            ", {} of them at a memory cgroup's limit",
            told(MetricId::ThpFaultFallbackChargeTotal, charge)
        ),
        _ => String::new(),
    }
}

fn free_before(view: &mut PolicyView<'_, '_>) -> String {
    match view.here(MetricId::FreeHugePagesBeforeTotal) {
        Ok(free) => format!(
            "; {} huge pages were free before the trial",
            told(MetricId::FreeHugePagesBeforeTotal, free)
        ),
        Err(_) => String::new(),
    }
}
